import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namespaceOf } from '../../../src/lake/settings.js';
import { obstacle, TestLake } from '../support/lake.js';
import { organization, Worker } from '../support/worker.js';
import { type Engine, type EngineName, isInstalled, startEngine } from './engines.js';

// Spark and Trino read what a worker published: 1.3 GB to install, and minutes to run. By hand:
//   npm run test:lake-engines

/** Rows of tables and views, the length of all texts of one column, and the sum of another. */
const measured: Readonly<Record<string, readonly [text: string, number: string]>> = {
  topics: ['title', 'message_count'],
  messages: ['content', '1'],
  people: ['display_name', '1'],
  history: ['changes', '1'],
  backlog: ['title', 'vip_people'],
  awaiting_reply: ['last_name', 'messages'],
  company_health: ['trend', 'messages_last_28_days'],
  topic_states: ['based_on', 'priority_rank'],
  recent_changes: ['change', '1'],
};

function question(prefix: string): string {
  const parts = Object.entries(measured).map(
    ([table, [text, number]]) =>
      `SELECT '${table}' AS name, count(*) AS counted, sum(length(CAST(${text} AS VARCHAR(100000)))) AS characters,
              CAST(sum(${number}) AS BIGINT) AS total FROM ${prefix}.${table}`,
  );
  return `${parts.join(' UNION ALL ')} ORDER BY 1`;
}

/** How the tables are maintained (docs/lake.md), and which statements Nessie refuses. */
const maintenance: Readonly<Record<EngineName, (table: string) => Maintenance>> = {
  // Spark cannot write to the object store of the tests, which keeps the frames of chunked uploads as content.
  Spark: (table) => ({
    works: [],
    refused: [
      `CALL lake.system.expire_snapshots('${table}')`,
      `CALL lake.system.remove_orphan_files('${table}')`,
    ],
  }),
  Trino: (table) => ({
    works: [
      `ALTER TABLE lake.${table} EXECUTE optimize`,
      `ALTER TABLE lake.${table} EXECUTE remove_orphan_files(retention_threshold => '7d')`,
    ],
    refused: [`ALTER TABLE lake.${table} EXECUTE expire_snapshots(retention_threshold => '7d')`],
  }),
};

interface Maintenance {
  readonly works: readonly string[];
  readonly refused: readonly string[];
}

describe.each<EngineName>(['Spark', 'Trino'])('%s', (name) => {
  const skipped = obstacle() !== null || !isInstalled(name);
  let engine: Engine;
  let lake: TestLake;
  let worker: Worker;

  beforeAll(async () => {
    if (skipped) return;
    lake = await TestLake.make();
    worker = new Worker(await organization(5), lake);
    engine = await startEngine(name, lake.catalog.address);
  });
  afterAll(() => engine?.stop());

  it.skipIf(skipped)(
    'returns the counts and sums of the tables and views of the published file',
    async () => {
      for (const day of ['yesterday', 'today'] as const) {
        worker.show(day);
        await worker.publish();
        const expected = await lake.attached(join(worker.dataDir, 'signals.duckdb'), (rows) =>
          rows(question('local.main')),
        );
        const found = await engine.ask(question(`lake.${namespaceOf(worker.organization.id)}`));
        expect(found).toEqual(expected.map((row) => Object.values(row)));
        expect(found.filter(([, counted]) => counted === 0)).toEqual([]);
      }
    },
  );

  it.skipIf(skipped)('maintains tables that stay equal and can be published again', async () => {
    const { id } = worker.organization;
    for (const table of ['messages', 'topics', 'backlog']) {
      const { works, refused } = maintenance[name](`${namespaceOf(id)}.${table}`);
      for (const statement of works) await engine.ask(statement);
      for (const statement of refused)
        await expect(engine.ask(statement), statement).rejects.toThrow('GC is disabled');
    }
    expect(await lake.differences(worker.dataDir, id)).toEqual([]);
    worker.show('yesterday');
    await worker.publish();
    expect(await lake.differences(worker.dataDir, id)).toEqual([]);
  });
});
