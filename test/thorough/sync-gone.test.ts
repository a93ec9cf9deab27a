import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChangeKind } from '../../src/sandbox/colleague.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { changeable } from '../support/pushing.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
beforeAll(async () => {
  sandbox = await startTown({ sizes: town });
  pulling = Pulling.into(folders, sandbox);
  expect(await pulling.sync()).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const change = (kind: ChangeKind, given: object) => sandbox.change({ kind, ...given });

/** Living topics with conversations, the busiest first. */
function busyTopics(): StoredTopic[] {
  return changeable(sandbox).sort((a, b) => b.groupIds.length - a.groupIds.length);
}

interface End {
  readonly deleted: boolean;
  readonly deleted_reason: string | null;
  readonly merged_into_id: string | null;
  readonly detail_unavailable_reason: string | null;
}

async function endOf(table: string, id: string): Promise<End | undefined> {
  const [row] = await read(pulling.dataDir, (reader) =>
    reader.rows<End>(
      `SELECT deleted_at IS NOT NULL AS deleted, deleted_reason, merged_into_id, detail_unavailable_reason
       FROM ${table} WHERE id = '${id}'`,
    ),
  );
  return row;
}

const there = { deleted: false, deleted_reason: null, merged_into_id: null, detail_unavailable_reason: null };
const deleted = { ...there, deleted: true, deleted_reason: 'not_found' };
const mergedInto = (id: string) => ({ ...deleted, deleted_reason: 'merged', merged_into_id: id });

const gone = { topic: '', person: '', company: '', archived: '' };

it('what is deleted, merged, superseded, archived or migrated is marked as what it is', async () => {
  const [a, b, c, d, e, f, g] = busyTopics().map(({ id }) => id) as [string, ...string[]];
  const people = [...sandbox.world.people.values()].filter(({ isStaff, isBot }) => !isStaff && !isBot);
  const [p, q, r] = people.filter(({ authorIds }) => authorIds.length > 0).map(({ id }) => id) as [
    string,
    ...string[],
  ];
  const [x, y, z] = [...sandbox.world.companies.values()].flatMap((one) =>
    one.isOrgCompany ? [] : one.id,
  ) as [string, ...string[]];
  change('deleteTopic', { topicId: a });
  change('mergeTopics', { sourceIds: [b], targetId: c });
  change('supersedeTopic', { topicId: d, successorId: e });
  change('archiveTopic', { topicId: f, reason: 'enough' });
  change('migrateTopic', { topicId: g });
  change('deletePerson', { personId: p });
  change('mergePeople', { sourceIds: [q], targetId: r });
  change('deleteCompany', { companyId: x });
  change('mergeCompanies', { sourceIds: [y], targetId: z });
  Object.assign(gone, { topic: a, person: p, company: x, archived: f });

  const { code, report } = await pulling.sync();
  expect(code).toBe(0);
  expect(report.scans.map(({ endpoint, missing, tombstoned }) => [endpoint, missing, tombstoned])).toEqual([
    ['topics', 3, 2],
    ['companies', 2, 2],
    ['people', 2, 2],
    ['channels', 0, 0],
    ['stories', 0, 0],
    ['automation_templates', 0, 0],
  ]);
  expect(await pulling.differences({ lagging: false })).toEqual([]);
  expect(await endOf('topics', a)).toEqual(deleted);
  expect(await endOf('topics', b as string)).toEqual(mergedInto(c as string));
  expect(await endOf('topics', d as string)).toEqual(there);
  expect(await endOf('topics', f as string)).toEqual(there);
  expect(await endOf('topics', g as string)).toEqual({
    ...there,
    detail_unavailable_reason: 'archived_in_v1_to_v2_migration',
  });
  expect(await endOf('people', p)).toEqual(deleted);
  expect(await endOf('people', q as string)).toEqual(mergedInto(r as string));
  expect(await endOf('companies', x)).toEqual(deleted);
  expect(await endOf('companies', y as string)).toEqual(mergedInto(z as string));

  const left = await read(pulling.dataDir, (reader) =>
    reader.rows<{ histories: number; links: number }>(
      `SELECT (SELECT count(*) FROM history WHERE entity_id IN ('${a}', '${p}', '${x}')) AS histories,
         (SELECT count(*) FROM topic_people WHERE topic_id IN ('${a}', '${b}'))
         + (SELECT count(*) FROM topic_groups WHERE topic_id = '${b}')
         + (SELECT count(*) FROM person_identities WHERE person_id IN ('${p}', '${q}'))
         + (SELECT count(*) FROM group_companies WHERE company_id IN ('${x}', '${y}')) AS links`,
    ),
  );
  expect(left).toEqual([{ histories: expect.any(Number), links: 0 }]);
  expect(left[0]?.histories).toBeGreaterThan(2);
});

it('what is gone and stays gone costs nothing', async () => {
  const { code, report, seen } = await pulling.sync();
  // What is listed no more may be asked about once more: it is there.
  const { topic = 0, ...lists } = seen;
  // A list without a total is asked once more: only an answer without news ends it.
  const twice = { channels: 2, stories: 2, automation_templates: 2 };
  expect([code, report.rows, lists]).toEqual([
    0,
    {},
    { whoami: 1, topics: 1, companies: 1, people: 1, ...twice },
  ]);
  expect(topic).toBeLessThanOrEqual(1);
});

it('a merge whose survivor is gone too is explained, even when the run that saw it was cut short', async () => {
  const [a, b] = busyTopics()
    .slice(-2)
    .map(({ id }) => id) as [string, string];
  change('mergeTopics', { sourceIds: [a], targetId: b });
  change('deleteTopic', { topicId: b });
  const cut = await pulling.sync(['--only', 'topics', '--max-requests', '5']);
  expect([cut.code, cut.report.outcome, cut.report.scans[0]?.tombstoned]).toEqual([0, 'stopped', 2]);
  expect(await endOf('topics', a)).toEqual(deleted);
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  expect(await endOf('topics', a)).toEqual(mergedInto(b));
  expect(await endOf('topics', b)).toEqual(deleted);
});

it('what comes back loses its tombstone, and gets its children again', async () => {
  change('restoreTopic', { topicId: gone.topic });
  change('restorePerson', { personId: gone.person });
  change('restoreCompany', { companyId: gone.company });
  change('unarchiveTopic', { topicId: gone.archived });
  const { code, report } = await pulling.sync();
  expect(code).toBe(0);
  expect(report.scans.slice(0, 3).map(({ restored }) => restored)).toEqual([1, 1, 1]);
  expect(await pulling.differences({ lagging: false })).toEqual([]);
  for (const [table, id] of [
    ['topics', gone.topic],
    ['people', gone.person],
    ['companies', gone.company],
  ] as const) {
    expect(await endOf(table, id)).toEqual(there);
  }
});

it('more at once than the fuse allows are held back, until they are let through', async () => {
  for (const id of [...sandbox.world.people.keys()].slice(0, 25)) change('deletePerson', { personId: id });
  const held = await pulling.sync();
  expect(held.code).toBe(3);
  expect(held.report.scans[2]).toMatchObject({ endpoint: 'people', fused: true, missing: 25, tombstoned: 0 });
  const count = () =>
    read(pulling.dataDir, (reader) =>
      reader.rows<{ n: number }>("SELECT count(*) AS n FROM people WHERE deleted_reason = 'not_found'"),
    );
  expect(await count()).toEqual([{ n: 0 }]);

  const through = await pulling.sync(['--accept-deletes']);
  expect(through.code).toBe(0);
  expect(through.report.scans[2]).toMatchObject({ fused: false, tombstoned: 25 });
  expect(await count()).toEqual([{ n: 25 }]);
  expect(await pulling.differences({ lagging: false })).toEqual([]);
});

it('after a sweep nothing lags', async () => {
  await pulling.age();
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  expect(await pulling.differences()).toEqual([]);
});
