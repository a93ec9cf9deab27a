import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kindsOfColumns } from '../../scripts/columns.mjs';
import { readSchema } from '../../scripts/read-schema.mjs';
import { Api } from '../../src/api/client.js';
import { systemClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import { settings } from '../../src/config/schema.js';
import { endpoints, readEndpoints } from '../../src/contract/endpoints.js';
import { kinds } from '../../src/contract/privacy.js';
import { documentFields, entries, resourcesOf } from '../../src/contract/resources.js';
import { tableEntries, tablesOf } from '../../src/contract/tables.js';
import { readModels } from '../../src/load/models.js';
import { openWarehouse } from '../../src/load/open.js';
import { schemaOf } from '../../src/load/views.js';
import type { Warehouse } from '../../src/load/warehouse.js';
import { whoAmI } from '../../src/run/identity.js';
import { sqlDir } from '../../src/store/sql.js';
import type { SyncParts } from '../../src/sync/context.js';
import { runPlan } from '../../src/sync/plan.js';
import type { PlanLine, SyncReport } from '../../src/sync/report.js';
import { runSync } from '../../src/sync/run.js';
import { mutantOf } from '../support/api-mutants.js';
import { townOfFile } from '../support/pulling.js';
import type { RawServer } from '../support/raw-server.js';
import { testFolder } from '../support/test-folders.js';
import { votes, voteTables } from './votes/topic-votes.js';

/**
 * A child resource that the program does not know, GET /topics/{topicId}/votes, is added without a line in src: by one file
 * (votes/), and a server that answers it. Everything else follows from the entry and its table.
 */
const table = resourcesOf({ ...entries, ...votes });
const models = readModels(sqlDir, tablesOf({ ...tableEntries, ...voteTables }));
const quiet = { phase() {}, progress() {}, phaseEnd() {}, note() {} };

const { sandbox } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 12, people: 8, companies: 3, messages: 60, stories: 2 },
});
let server: RawServer;
let api: Api;
let warehouse: Warehouse;
/** The topics about which somebody changed a vote. */
const changed = new Set<string>();

beforeAll(async () => {
  // Everything else is answered by the sandbox.
  server = await mutantOf(sandbox, {
    before({ path }) {
      const [, topicId] = /^\/topics\/([^/]+)\/votes$/.exec(path) ?? [];
      return topicId === undefined ? undefined : { status: 200, headers: {}, body: votesOf(topicId) };
    },
  });
  const { api: client, rateLimit } = settings.parse({});
  api = new Api({
    paging: client.paging,
    concurrency: 4,
    baseUrl: server.baseUrl,
    apiKey: sandbox.apiKey,
    budget: { ...rateLimit, requests: 1_000_000 },
    log: silentLog,
    contract: { ...endpoints, ...readEndpoints(table.endpoints) },
  });
  warehouse = await openWarehouse({
    dataDir: join(testFolder(), 'data'),
    models,
    resources: table,
    memoryLimit: '256MB',
    threads: 1,
  });
});
afterAll(async () => {
  await api.close();
  await warehouse.close();
  await server.close();
});

/** Two votes for each topic, the second of which may change. */
function votesOf(topicId: string): unknown {
  const value = changed.has(topicId) ? -1 : 1;
  return {
    votes: [
      { id: `${topicId}-1`, personId: 'p1', value: 1, castAt: '2026-01-02T03:04:05Z' },
      { id: `${topicId}-2`, personId: 'p2', value, castAt: '2026-01-02T03:04:06.5Z' },
    ],
  };
}

async function parts(): Promise<SyncParts> {
  return {
    config: settings.parse({}),
    api,
    warehouse,
    resources: table,
    identity: await whoAmI(api),
    log: silentLog,
    clock: systemClock,
    programVersion: 'test',
  };
}

const sync = async (): Promise<SyncReport> => runSync(await parts(), {}, quiet);
const dueVotes = async (): Promise<PlanLine | undefined> => {
  const { lines } = await runPlan(await parts(), {}, quiet);
  return lines.find(({ endpoint }) => (endpoint as string) === 'topic_votes');
};
const stored = () =>
  warehouse.all<Record<string, unknown>>('SELECT * FROM topic_votes ORDER BY topic_id, id');
const liveTopics = async () =>
  (await warehouse.all<{ id: string }>('SELECT id FROM topics WHERE deleted_at IS NULL ORDER BY id')).map(
    ({ id }) => id,
  );
const votesAsked = () =>
  server.requests.flatMap(({ url }) => /\/topics\/([^/]+)\/votes$/.exec(url.pathname)?.[1] ?? []);

it('is planned, for every topic', async () => {
  const line = await dueVotes();
  const topics = (await liveTopics()).length;
  expect(topics).toBeGreaterThan(5);
  expect(line).toMatchObject({ never: topics, changed: 0, sweep: 0, due: topics, requests: topics });
  expect(votesAsked()).toEqual([]);
});

it('is fetched, and becomes rows with the types of the table', async () => {
  const report = await sync();
  expect(report).toMatchObject({ outcome: 'done', failures: [], drift: [] });
  const topics = await liveTopics();
  expect(report.rows.topic_votes).toEqual({ new: topics.length * 2, changed: 0, removed: 0 });
  expect(await stored()).toEqual(
    topics.flatMap((topic_id) =>
      [1, 2].map((nth) => ({
        topic_id,
        id: `${topic_id}-${nth}`,
        person_id: `p${nth}`,
        value: 1,
        cast_at: new Date(nth === 1 ? '2026-01-02T03:04:05Z' : '2026-01-02T03:04:06.5Z'),
        synced_at: expect.any(Date),
        run_id: report.runId,
      })),
    ),
  );
  expect(await dueVotes()).toBeUndefined();
});

it('says of each column what it says about people, without a list of columns', async () => {
  const declared = parse(readFileSync(join(sqlDir, 'privacy.yaml'), 'utf8'));
  const viewsDir = join(sqlDir, 'views');
  const documents = documentFields(table);
  const found = kindsOfColumns(await readSchema(schemaOf({ models, viewsDir, analysis: undefined })), {
    ...declared,
    kinds,
    documents,
    models,
  });
  expect(found.tables.topic_votes).toEqual({
    topic_id: 'topic_id',
    id: 'record_id',
    person_id: 'person_id',
    value: 'none',
    cast_at: 'time',
    synced_at: 'time',
    run_id: 'none',
  });
});
