import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { namesOfAll } from '../../src/lake/contents.js';
import { namespaceOf } from '../../src/lake/settings.js';
import type { World } from '../../src/sandbox/world/types.js';
import { identifier, literal } from '../../src/store/sql.js';
import { busiestPerson, stringsOfPerson } from '../support/personal-strings.js';
import { Pulling, startTown } from '../support/pulling.js';
import { obstacle, type Rows, TestLake } from './support/lake.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/forget.js'));

/** A town, a worker of it that publishes to a lake, and the names of its tables and views there. */
async function townWithLake() {
  const sandbox = await startTown({ sizes: { seed: 5 } });
  const { world } = sandbox;
  onTestFinished(() => sandbox.stop());
  const lake = await TestLake.make();
  const pulling = Pulling.into(sandbox, lake.settings());
  Object.assign(pulling.env, lake.env);
  const inLake = (name: string) =>
    `lake.${identifier(namespaceOf(world.organization.id))}.${identifier(name)}`;
  const { tables, views } = namesOfAll();
  return { world, lake, pulling, tables: tables.map(inLake), views: views.map(inLake) };
}

/** The strings of a person, as they stand in JSON. */
function stringsOf(world: World, person: string): string[] {
  return stringsOfPerson(world, person).filter((one) => JSON.stringify(one) === `"${one}"`);
}

/** The strings that some column of some of these tables has. */
async function found(rows: Rows, tables: readonly string[], strings: readonly string[]): Promise<string[]> {
  const list = `unnest([${strings.map(literal).join(', ')}])`;
  const all = tables.map(
    (table) =>
      `SELECT text FROM (SELECT ${list} AS text), ${table} AS row WHERE contains(to_json(row)::VARCHAR, text)`,
  );
  const texts = await rows<{ text: string }>(`SELECT DISTINCT text FROM (${all.join(' UNION ALL ')})`);
  return texts.map(({ text }) => text);
}

describe.skipIf(obstacle())('a person who is forgotten', () => {
  it('leaves tables and views, and every count stays', async () => {
    const { world, lake, pulling, tables, views } = await townWithLake();
    expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
    const person = busiestPerson(world);
    const strings = stringsOf(world, person);
    const counts = (rows: Rows) =>
      rows(
        tables
          .filter((table) => /"(messages|people|groups|topics)"$/.test(table))
          .map((table) => `SELECT count(*) AS n FROM ${table}`)
          .join(' UNION ALL '),
      );
    const before = await lake.attached(null, async (rows) => {
      expect((await found(rows, tables, strings)).length).toBeGreaterThan(10);
      expect((await found(rows, views, strings)).length).toBeGreaterThan(0);
      return counts(rows);
    });
    const { code, stdout, stderr } = await pulling.run(['forget', 'person', person, '--yes']);
    expect(`${code} ${stdout}${stderr}`).toMatch(/^0 /);
    await lake.attached(null, async (rows) => {
      expect(await found(rows, [...tables, ...views], strings)).toEqual([]);
      expect(await counts(rows)).toEqual(before);
    });
    // This program cannot remove earlier snapshots, and says who can.
    expect(stdout).toContain('expire their snapshots');
  });

  it('leaves a lake that was away with the next sync', async () => {
    const { world, lake, pulling, tables, views } = await townWithLake();
    expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
    pulling.set(lake.settings({ catalog: 'http://127.0.0.1:9/iceberg' }));
    const person = busiestPerson(world);
    const away = await pulling.run(['forget', 'person', person, '--yes']);
    expect([away.code, away.stdout]).toEqual([3, expect.stringContaining('next publication to the lake')]);
    pulling.set(lake.settings());
    expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
    await lake.attached(null, async (rows) => {
      expect(await found(rows, [...tables, ...views], stringsOf(world, person))).toEqual([]);
    });
    expect((await pulling.run(['rebuild'])).code).toBe(0);
    expect(await pulling.rows("SELECT id FROM ops.audit WHERE list_contains(pending, 'lake')")).toEqual([]);
  });
});

it.skipIf(obstacle())('a lake has what a file of its profile has, also when it had more before', async () => {
  const { world, lake, pulling, tables, views } = await townWithLake();
  const also = (['analysts', 'strict'] as const).map((profile) => ({ file: `${profile}.duckdb`, profile }));
  const settings = (profile: string) => ({
    ...lake.settings({ profile }),
    publish: { profile: 'none', also },
    analysis: {
      serviceLevels: [{ name: 'all', firstReplyHours: 1, nextReplyHours: 1 }],
      teams: { support: [...world.people.keys()].slice(0, 9) },
    },
  });
  pulling.set(settings('none'));
  const folder = join(pulling.dataDir, 'attributes');
  mkdirSync(folder, { recursive: true });
  const [company] = world.companies.keys();
  writeFileSync(join(folder, 'companies.csv'), `company_id,revenue,manager\n${company},250000,Someone\n`);
  expect((await pulling.run(['sync'])).code).toBe(0);
  const files = { none: 'signals.duckdb', analysts: 'analysts.duckdb', strict: 'strict.duckdb' };
  for (const [profile, file] of Object.entries(files)) {
    pulling.set(settings(profile));
    const { code, stderr } = await pulling.run(['lake', 'publish', '--json']);
    expect([code, stderr]).toEqual([0, '']);
    expect(await lake.differences(pulling.dataDir, world.organization.id, file), profile).toEqual([]);
  }
  // The strict lake has nothing of what the lake without a profile had.
  const addresses = [...world.people.values()].flatMap(({ primaryEmail }) => primaryEmail ?? []);
  expect(addresses.length).toBeGreaterThan(10);
  await lake.attached(null, async (rows) => {
    expect(await found(rows, [...tables, ...views], addresses)).toEqual([]);
  });
});
