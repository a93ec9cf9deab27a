import { describe, expect, it } from 'vitest';
import { identifier, literal } from '../../src/warehouse/sql.js';
import { busiestPerson, stringsOfPerson } from '../support/personal-strings.js';
import { Pulling, startTown } from '../support/pulling.js';
import { kinds, obstacle, type Rows, TestLake } from './support/lake.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/forget.js'));

/** The strings that some column of some table of a namespace has. */
async function found(
  rows: Rows,
  namespace: string,
  names: readonly string[],
  strings: readonly string[],
): Promise<string[]> {
  expect(names.length).toBeGreaterThan(20);
  const list = `unnest([${strings.map(literal).join(', ')}])`;
  const all = names.map(
    (
      name,
    ) => `SELECT text FROM (SELECT ${list} AS text), lake.${identifier(namespace)}.${identifier(name)} AS row
      WHERE contains(to_json(row)::VARCHAR, text)`,
  );
  return (await rows<{ text: string }>(`SELECT DISTINCT text FROM (${all.join(' UNION ALL ')})`)).map(
    ({ text }) => text,
  );
}

describe.each(kinds)('a person who is forgotten', (kind) => {
  it.skipIf(obstacle(kind))(`leaves a lake in the format ${kind}, and every count stays`, async () => {
    const sandbox = await startTown({ sizes: { seed: 5 } });
    try {
      const lake = await TestLake.make(kind);
      const pulling = Pulling.into(sandbox, lake.settings());
      Object.assign(pulling.env, lake.env);
      const synced = await pulling.run(['sync', '--lake', '--json']);
      expect(synced.code).toBe(0);
      const tables = (JSON.parse(synced.stdout) as { lake: { report: { created: string[] } } }).lake.report
        .created;
      const namespace = lake.namespace(sandbox.world.organization.id);
      const person = busiestPerson(sandbox.world);
      // As they stand in JSON.
      const strings = stringsOfPerson(sandbox.world, person).filter(
        (one) => JSON.stringify(one) === `"${one}"`,
      );
      const counts = (rows: Rows) =>
        rows(`SELECT (SELECT count(*) FROM lake.${identifier(namespace)}.messages) AS messages,
                     (SELECT count(*) FROM lake.${identifier(namespace)}.people) AS people`);
      const before = await lake.reading(null, async (rows) => {
        expect((await found(rows, namespace, tables, strings)).length).toBeGreaterThan(10);
        return counts(rows);
      });
      const { code, stdout, stderr } = await pulling.run(['forget', 'person', person, '--yes']);
      expect(`${code} ${stdout}${stderr}`).toMatch(/^0 /);
      await lake.reading(null, async (rows) => {
        expect(await found(rows, namespace, tables, strings)).toEqual([]);
        expect(await counts(rows)).toEqual(before);
        if (kind === 'ducklake')
          expect(await rows("SELECT count(*) AS snapshots FROM ducklake_snapshots('lake')")).toEqual([
            { snapshots: 1 },
          ]);
      });
      // Where earlier snapshots cannot be removed by this program, it says who can.
      if (kind === 'iceberg') expect(stdout).toContain('expire their snapshots');
    } finally {
      await sandbox.stop();
    }
  });

  it.skipIf(obstacle(kind))(
    `leaves a lake in the format ${kind} with the next sync, if it was away`,
    async () => {
      const sandbox = await startTown({ sizes: { seed: 5 } });
      try {
        const lake = await TestLake.make(kind);
        const pulling = Pulling.into(sandbox, lake.settings());
        Object.assign(pulling.env, lake.env);
        expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
        pulling.set(lake.settings({ through: 9 }));
        const away = await pulling.run(['forget', 'person', busiestPerson(sandbox.world), '--yes']);
        expect([away.code, away.stdout]).toEqual([
          3,
          expect.stringContaining('next publication to the lake'),
        ]);
        pulling.set(lake.settings());
        expect((await pulling.run(['sync', '--lake'])).code).toBe(0);
        expect((await pulling.run(['rebuild'])).code).toBe(0);
        expect(await pulling.rows("SELECT id FROM ops.audit WHERE list_contains(pending, 'lake')")).toEqual(
          [],
        );
        if (kind === 'ducklake')
          await lake.reading(null, async (rows) => {
            expect(await rows("SELECT count(*) AS snapshots FROM ducklake_snapshots('lake')")).toEqual([
              { snapshots: 1 },
            ]);
          });
      } finally {
        await sandbox.stop();
      }
    },
  );
});
