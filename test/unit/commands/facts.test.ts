import { closeSync, openSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { factsReader, LiveSpending, readFacts } from '../../../src/commands/facts.js';
import { statusOf } from '../../../src/commands/status.js';
import { scheduleMemory } from '../../../src/serve/schedule/record.js';
import { fileStore } from '../../../src/serve/store.js';
import { open, ready } from '../../support/open-warehouse.js';
import { testFolder } from '../../support/test-folders.js';
import { setupOf } from './support.js';

/** In the middle of a slice of ten minutes. */
const now = Math.floor(Date.now() / 600_000) * 600_000 + 330_000;
const noObjectives = { companies: 0, channels: 0, stories: 0, automation_templates: 0 };
const ago = (minutes: number) => `epoch_ms(${now - minutes * 60_000})::TIMESTAMP AT TIME ZONE 'UTC'`;

/** A published file that says of itself what a sync leaves behind, `firstPull` as the requests that the syncs left of the first pull. */
async function published(firstPull: readonly (number | null)[] = [12, 0, null]): Promise<string> {
  const dir = await ready();
  const warehouse = await open(dir);
  await warehouse.run(`
    INSERT INTO ops.scans BY NAME SELECT * FROM (VALUES
      ('topics', true, ${ago(120)}), ('topics', false, ${ago(5)}), ('people', true, ${ago(30)})
    ) t(endpoint, verified, ended_at);
    INSERT INTO ops.requests BY NAME SELECT * FROM (VALUES
      (${ago(25)}, 200), (${ago(25)}, 429), (${ago(3)}, 200), (${ago(700)}, 200)) t("at", status);
    INSERT INTO ops.changes BY NAME SELECT * FROM (VALUES
      ('c1', 1, 'queued', '{}', '{}', 't1', 'topic'), ('c2', 1, 'applied', '{}', '{}', 't2', 'topic'),
      ('c3', 1, 'queued', '{}', '{}', 't3', 'topic')) t(id, revision, status, wanted, base, topic_id, entity_type);
    INSERT INTO ops.runs BY NAME SELECT * FROM (VALUES ${firstPull
      .map((left, at) => `('${at}', 'sync', '{"left": {"due": 4}}'::JSON, ${left}::BIGINT)`)
      .join(', ')}) t(run_id, command, summary, first_pull_left)`);
  await warehouse.publish();
  await warehouse.close();
  return dir;
}

let dir: string;
beforeAll(async () => {
  dir = await published();
});

test('a list is as fresh as its last verified scan', async () => {
  const setup = setupOf(dir, { serve: { freshness: { topics: 1, stories: 24, people: 0 } } }, now);
  const { freshness, queue } = await readFacts(setup);
  const found = Object.fromEntries(freshness.map(({ resource, ...one }) => [resource, one]));
  expect(found.topics).toEqual({ at: new Date(now - 7_200_000).toISOString(), objectiveMinutes: 60 });
  expect(found.people).toMatchObject({ objectiveMinutes: null });
  expect(found.stories).toEqual({ at: null, objectiveMinutes: 1440 });
  expect(found.companies).toMatchObject({ objectiveMinutes: 26 * 60 });
  expect(queue).toEqual({ queued: 2, applied: 1 });
});

test('status tells of missed objectives by its exit code, and of jobs where serve has run', async () => {
  const of = (serve: object) => statusOf(setupOf(dir, { serve }, now));
  expect(await of({ freshness: noObjectives })).toMatchObject({ exitCode: 0, schedule: { jobs: [] } });
  expect(await of({ freshness: { ...noObjectives, topics: 1 } })).toMatchObject({ exitCode: 3 });
  // Without a setting, what is older than a night and two hours is stale.
  const later = setupOf(dir, { serve: { freshness: noObjectives } }, now + 26 * 3_600_000);
  expect(await statusOf(later)).toMatchObject({ exitCode: 3 });

  const store = fileStore(join(dir, 'schedule.json'), scheduleMemory, setupOf(dir).log);
  await store.save({
    jobs: { hourly: { handledDue: new Date(now - 7_200_000).toISOString(), lastSuccessAt: null } },
    history: [],
  });
  const { schedule } = await of({ jobs: [{ name: 'hourly', run: 'push', cron: '0 * * * *' }] });
  const hour = Math.floor(now / 3_600_000) * 3_600_000;
  expect(schedule.jobs).toEqual([
    {
      unavailableSince: null,
      name: 'hourly',
      run: 'push',
      cron: '0 * * * *',
      timezone: 'UTC',
      last: null,
      lastSuccessAt: null,
      nextAt: new Date(hour + 3_600_000).toISOString(),
      overdueSince: new Date(hour).toISOString(),
    },
  ]);
});

test('status is not well until the first pull was complete once, and says what it still takes', async () => {
  const of = async (left: readonly (number | null)[]) => {
    const found = await statusOf(setupOf(await published(left), { serve: { freshness: noObjectives } }, now));
    return { exitCode: found.exitCode, requests: found.contents?.left?.first_requests };
  };
  expect(await of([30, 12])).toEqual({ exitCode: 3, requests: 12 });
  expect(await of([30, null])).toEqual({ exitCode: 3, requests: 30 });
  expect(await of([12, 0, null])).toEqual({ exitCode: 0, requests: 0 });
});

test('status is not well where nothing was ever published, unless a run is at work', async () => {
  const folder = testFolder();
  try {
    const exitCode = async () => (await statusOf(setupOf(folder))).exitCode;
    expect(await exitCode()).toBe(3);
    const holder = { pid: process.pid, host: hostname(), command: 'sync', since: new Date().toISOString() };
    writeFileSync(join(folder, 'worker.pid'), JSON.stringify(holder));
    expect(await exitCode()).toBe(0);
  } finally {
  }
});

/** Last: it breaks the file. */
test('the files are read again when they have changed, and only then', async () => {
  const read = factsReader(setupOf(dir, {}, now), new LiveSpending());
  const signals = join(dir, 'signals.duckdb');
  // A moment that a file can be given again.
  const moment = new Date(Math.floor(now / 1000) * 1000);
  utimesSync(signals, moment, moment);
  expect((await read()).queue).toEqual({ queued: 2, applied: 1 });
  // As long as it looks the same, nobody finds out that it is broken now.
  const file = openSync(signals, 'r+');
  writeSync(file, Buffer.alloc(16_384));
  closeSync(file);
  utimesSync(signals, moment, moment);
  expect((await read()).queue).toEqual({ queued: 2, applied: 1 });
  utimesSync(signals, new Date(), new Date());
  await expect(read()).rejects.toBeInstanceOf(StorageError);
  const warehouse = await open(dir);
  await warehouse.run(
    "INSERT INTO ops.changes BY NAME SELECT 'c4' AS id, 1 AS revision, 'failed' AS status, '{}' AS wanted, '{}' AS base",
  );
  await warehouse.publish();
  await warehouse.close();
  expect((await read()).queue).toMatchObject({ failed: 1 });
});
