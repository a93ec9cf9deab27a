import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { quietDay } from '../../src/sandbox/world/advance.js';
import { listItems } from '../support/list-items.js';
import { differences, expectedTables } from '../support/oracle.js';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { changeable } from '../support/pushing.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

/**
 * What a run costs that finds nothing new: whoami, each list in one page, the bucket of archived stories, and a second
 * answer for lists without a total.
 */
const listsOnly = {
  whoami: 1,
  topics: 1,
  companies: 1,
  people: 1,
  channels: 2,
  stories: 2,
  automation_templates: 2,
};

describe('pull after pull', () => {
  const rate = { requests: 60, windowMs: 300 };
  let sandbox: Sandbox;
  let pulling: Pulling;
  beforeAll(async () => {
    sandbox = await startTown({ sizes: town, rate });
    pulling = Pulling.into(folders, sandbox);
    pulling.env.SIGNALHOUSE_RATE_LIMIT_REQUESTS = String(rate.requests);
    pulling.env.SIGNALHOUSE_RATE_LIMIT_WINDOW_MS = String(rate.windowMs);
  });
  afterAll(() => sandbox.stop());

  it('the first one gives exactly what the API says, table by table', async () => {
    const plan = await pulling.plan();
    const { code, stderr, report, requests } = await pulling.sync();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(report).toMatchObject({ outcome: 'done', stoppedBy: null, failures: [], drift: [] });
    expect(report.left).toEqual({ due: 0, requests: 0, minutes: 0, runs: null });
    expect(report.requests.total).toBe(requests);
    expect(Math.abs(plan.requests.total - requests) / requests).toBeLessThanOrEqual(0.05);
    expect(await pulling.differences()).toEqual([]);
  });

  it('it read all lists before it asked for the first child, and for each child once', async () => {
    const sent = await read(pulling.dataDir, (reader) =>
      reader.rows<{ endpoint: string; path: string; at: number }>(
        `SELECT endpoint, path, epoch_ms("at") AS at FROM ops.requests
          WHERE run_id = (SELECT max(run_id) FROM ops.runs WHERE command = 'sync')`,
      ),
    );
    const [ofLists, ofChildren] = [true, false].map((isOfList) =>
      sent.filter(({ endpoint }) => isOfList === endpoint in listsOnly),
    ) as [typeof sent, typeof sent];
    const times = (requests: typeof sent) => requests.map(({ at }) => Number(at));
    expect(Math.max(...times(ofLists))).toBeLessThanOrEqual(Math.min(...times(ofChildren)));
    expect(new Set(ofChildren.map(({ path }) => path)).size).toBe(ofChildren.length);
  });

  it('the comparison that says so misses no table and no column', async () => {
    const spoiled = folders.make();
    copyFileSync(join(pulling.dataDir, 'signals.duckdb'), join(spoiled, 'signals.duckdb'));
    const tables = await spoil(sandbox, join(spoiled, 'signals.duckdb'));
    expect(tables.length).toBe(25);
    const found = await differences(sandbox, spoiled, { most: Number.POSITIVE_INFINITY });
    for (const { table, columns } of tables) {
      const own = found.filter((line) => line.startsWith(`${table} `));
      expect([table, own.some((line) => line.endsWith('is missing'))]).toEqual([table, true]);
      const seen = columns.filter((column) => own.some((line) => line.includes(`: ${column} is `)));
      expect([table, seen]).toEqual([table, columns]);
    }
  });

  it('the next one costs its lists, and changes no row', async () => {
    const { code, report, seen } = await pulling.sync();
    expect(code).toBe(0);
    expect(seen).toEqual(listsOnly);
    expect(report.rows).toEqual({});
  });

  it('after a day, it costs its lists and the children of what changed, as planned', async () => {
    const before = listItems(sandbox);
    const counts = sandbox.advance(1, {
      ...quietDay,
      activeTopics: 0.1,
      newTopics: 0.04,
      priorityChanges: 0.1,
    });
    expect(counts).toMatchObject({ activeTopics: 3, newTopics: 1, priorityChanges: 2, stories: 1 });
    const moved = listItems(sandbox).movedSince(before);
    const plan = await pulling.plan();
    const { code, report, requests } = await pulling.sync();
    expect(code).toBe(0);
    expect(await pulling.differences({ lagging: false })).toEqual([]);

    expect(Math.abs(plan.requests.total - requests) / requests).toBeLessThanOrEqual(0.05);
    const asked = await read(pulling.dataDir, (reader) =>
      reader.rows<{ path: string }>(`SELECT path FROM ops.requests WHERE run_id = '${report.runId}'`),
    );
    const children = asked.flatMap(({ path }) => entityOf(path) ?? []);
    expect(children.length).toBeGreaterThan(20);
    expect(children.filter((id) => !moved.has(id))).toEqual([]);
  });

  it('after merges, moves and deletions, what is gone is told, and the night after costs its lists again', async () => {
    const { world } = sandbox;
    const people = [...world.people.values()].flatMap((one) =>
      one.isStaff || one.isBot || one.authorIds.length === 0 ? [] : one.id,
    );
    const companies = [...world.companies.values()].flatMap((one) => (one.isOrgCompany ? [] : one.id));
    const [a, b, c, d, e] = changeable(sandbox).map(({ id }) => id);
    const [p, q, r, s] = people;
    const [x, y, z] = companies;
    for (const change of [
      { kind: 'deleteTopic', topicId: a },
      { kind: 'mergeTopics', sourceIds: [b], targetId: c },
      { kind: 'supersedeTopic', topicId: d, successorId: e },
      { kind: 'deletePerson', personId: p },
      { kind: 'mergePeople', sourceIds: [q], targetId: r },
      { kind: 'employ', personId: s, companyId: z },
      { kind: 'mergeCompanies', sourceIds: [x], targetId: y },
    ] as const)
      sandbox.change(change);
    // Only the survivor's history tells of the merge.
    sandbox.addFaults([{ kind: 'status', status: 404, match: { path: `/people/${q}/history` } }]);
    const { code, report } = await pulling.sync();
    sandbox.clearFaults();
    expect([code, report.failures]).toEqual([0, []]);
    expect(
      report.scans.slice(0, 3).map(({ endpoint, missing, tombstoned }) => [endpoint, missing, tombstoned]),
    ).toEqual([
      ['topics', 3, 2],
      ['companies', 1, 1],
      ['people', 2, 2],
    ]);
    expect(await pulling.differences({ lagging: false })).toEqual([]);
    const [fate] = await read(pulling.dataDir, (reader) =>
      reader.rows(`SELECT deleted_reason, merged_into_id FROM people WHERE id = '${q}'`),
    );
    expect(fate).toEqual({ deleted_reason: 'merged', merged_into_id: r });

    const next = await pulling.sync();
    // What is listed no more may be asked about once more: it is there.
    const { topic = 0, ...seen } = next.seen;
    expect([seen, next.report.rows]).toEqual([listsOnly, {}]);
    expect(topic).toBeLessThanOrEqual(1);
  });

  it('the limit was never passed', () => {
    const { tooManyRequests, mostInAnyWindow } = sandbox.stats();
    expect(tooManyRequests).toBe(0);
    expect(mostInAnyWindow).toBeLessThanOrEqual(rate.requests);
    expect(mostInAnyWindow).toBeGreaterThan(rate.requests / 2);
  });
});

/** Takes a row out of every table, and makes every column that is no key of another row null or something else. */
async function spoil(sandbox: Sandbox, path: string): Promise<{ table: string; columns: string[] }[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const rows = async (sql: string) => (await connection.run(sql)).getRowObjectsJson();
  const spoiled: { table: string; columns: string[] }[] = [];
  for (const { key, table } of expectedTables(sandbox)) {
    const columns = (
      await rows(
        `SELECT column_name AS name FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '${table}'`,
      )
    ).flatMap(({ name }) => {
      const isOurs = name === 'synced_at' || name === 'run_id';
      return isOurs || key.includes(String(name)) ? [] : String(name);
    });
    const changed: string[] = [];
    for (const column of columns) {
      const [holding] = await rows(`SELECT count(*) > 1 AS some FROM ${table} WHERE ${column} IS NOT NULL`);
      if (holding?.some !== true) continue;
      await connection.run(`UPDATE ${table} SET ${column} = NULL`);
      changed.push(column);
    }
    await connection.run(`DELETE FROM ${table} WHERE rowid = (SELECT min(rowid) FROM ${table})`);
    spoiled.push({ table, columns: changed });
  }
  connection.closeSync();
  instance.closeSync();
  return spoiled;
}

/** Whose child a path asks for; undefined for a list. */
function entityOf(path: string): string | undefined {
  const [, entity] =
    path.match(/^\/(?:topics|companies|people|channels|stories|automation-templates)\/([^/?]+)/) ?? [];
  return entity ?? path.match(/(?:companyId|personId)=([^&]+)/)?.[1];
}
