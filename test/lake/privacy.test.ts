import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { namesOfAll } from '../../src/lake/contents.js';
import { namespaceOf } from '../../src/lake/settings.js';
import { identifier, literal } from '../../src/warehouse/sql.js';
import { busiestPerson, stringsOfPerson } from '../support/personal-strings.js';
import { Pulling, startTown } from '../support/pulling.js';
import { obstacle, type Rows, TestLake } from './support/lake.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/forget.js'));

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

it.skipIf(obstacle())(
  'a person who is forgotten leaves tables and views, and every count stays',
  async () => {
    const sandbox = await startTown({ sizes: { seed: 5 } });
    try {
      const lake = await TestLake.make();
      const pulling = Pulling.into(sandbox, lake.settings());
      Object.assign(pulling.env, lake.env);
      expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
      const { id } = sandbox.world.organization;
      const inLake = (name: string) => `lake.${identifier(namespaceOf(id))}.${identifier(name)}`;
      const { tables, views } = namesOfAll();
      const person = busiestPerson(sandbox.world);
      // As they stand in JSON.
      const strings = stringsOfPerson(sandbox.world, person).filter(
        (one) => JSON.stringify(one) === `"${one}"`,
      );
      const counts = (rows: Rows) =>
        rows(`SELECT (SELECT count(*) FROM ${inLake('messages')}) AS messages,
                   (SELECT count(*) FROM ${inLake('people')}) AS people`);
      const before = await lake.attached(null, async (rows) => {
        expect((await found(rows, tables.map(inLake), strings)).length).toBeGreaterThan(10);
        expect((await found(rows, views.map(inLake), strings)).length).toBeGreaterThan(0);
        return counts(rows);
      });
      const { code, stdout, stderr } = await pulling.run(['forget', 'person', person, '--yes']);
      expect(`${code} ${stdout}${stderr}`).toMatch(/^0 /);
      await lake.attached(null, async (rows) => {
        expect(await found(rows, [...tables, ...views].map(inLake), strings)).toEqual([]);
        expect(await counts(rows)).toEqual(before);
      });
      // This program cannot remove earlier snapshots, and says who can.
      expect(stdout).toContain('expire their snapshots');
    } finally {
      await sandbox.stop();
    }
  },
);

it.skipIf(obstacle())(
  'a person who is forgotten leaves a lake that was away with the next sync',
  async () => {
    const sandbox = await startTown({ sizes: { seed: 5 } });
    try {
      const lake = await TestLake.make();
      const pulling = Pulling.into(sandbox, lake.settings());
      Object.assign(pulling.env, lake.env);
      expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
      pulling.set(lake.settings({ catalog: 'http://127.0.0.1:9/iceberg' }));
      const away = await pulling.run(['forget', 'person', busiestPerson(sandbox.world), '--yes']);
      expect([away.code, away.stdout]).toEqual([3, expect.stringContaining('next publication to the lake')]);
      pulling.set(lake.settings());
      expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
      expect((await pulling.run(['rebuild'])).code).toBe(0);
      expect(await pulling.rows("SELECT id FROM ops.audit WHERE list_contains(pending, 'lake')")).toEqual([]);
      expect(await lake.differences(pulling.dataDir, sandbox.world.organization.id)).toEqual([]);
    } finally {
      await sandbox.stop();
    }
  },
);

it.skipIf(obstacle())('a lake has what a file of its profile has, also when it had more before', async () => {
  const sandbox = await startTown({ sizes: { seed: 5 } });
  try {
    const lake = await TestLake.make();
    const analysis = {
      serviceLevels: [{ name: 'all', firstReplyHours: 1, nextReplyHours: 1 }],
      teams: { support: [...sandbox.world.people.keys()].slice(0, 9) },
    };
    const also = (['analysts', 'strict'] as const).map((profile) => ({ file: `${profile}.duckdb`, profile }));
    const settings = (profile: string) => ({
      ...lake.settings({ profile }),
      analysis,
      publish: { profile: 'none', also },
    });
    const pulling = Pulling.into(sandbox, settings('none'));
    Object.assign(pulling.env, lake.env);
    const [company] = sandbox.world.companies.keys();
    const folder = join(pulling.dataDir, 'attributes');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'companies.csv'), `company_id,revenue,manager\n${company},250000,Someone\n`);
    expect((await pulling.run(['sync'])).code).toBe(0);
    const { id } = sandbox.world.organization;
    for (const [profile, file] of [
      ['none', 'signals.duckdb'],
      ['analysts', 'analysts.duckdb'],
      ['strict', 'strict.duckdb'],
    ] as const) {
      pulling.set(settings(profile));
      const { code, stderr } = await pulling.run(['lake', 'publish', '--json']);
      expect([code, stderr]).toEqual([0, '']);
      expect(await lake.differences(pulling.dataDir, id, file), profile).toEqual([]);
    }
    // Nothing of what a masked file leaves out stays from an earlier profile.
    const addresses = [...sandbox.world.people.values()].flatMap(({ primaryEmail }) => primaryEmail ?? []);
    expect(addresses.length).toBeGreaterThan(10);
    const { tables, views } = namesOfAll();
    await lake.attached(null, async (rows) => {
      const all = [...tables, ...views].map(
        (name) => `lake.${identifier(namespaceOf(id))}.${identifier(name)}`,
      );
      expect(await found(rows, all, addresses)).toEqual([]);
    });
  } finally {
    await sandbox.stop();
  }
});
