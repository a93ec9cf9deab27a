import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { type Explanation, explainEntity } from '../../src/app/explain.js';
import { readingLimitsOf } from '../../src/app/setup.js';
import { silentLog } from '../../src/base/log.js';
import { loadConfig } from '../../src/config/load.js';
import { openPublished } from '../../src/warehouse/read/query.js';
import { Gateway } from '../support/gateway.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

/** What happens between a complete pull and a run that its cap ends after the lists. */
interface Case {
  readonly days: number;
  readonly seed: number;
  readonly personGroups: 'without_company' | 'all' | 'never';
}

const kinds = { topic: 'topics', company: 'companies', person: 'people' } as const;

/** Makes some children older, some changed, and some never fetched. */
async function disturb(dataDir: string, seed: number): Promise<void> {
  const instance = await DuckDBInstance.create(join(dataDir, 'worker.duckdb'));
  const connection = await instance.connect();
  const part = (of: number) => `hash(endpoint || entity_id || ${seed} || ${of}) % ${of} = 0`;
  await connection.run(`UPDATE ops.coverage
    SET fetched_at = fetched_at - to_days((hash(entity_id || endpoint || ${seed}) % 70)::INTEGER) WHERE ${part(3)}`);
  await connection.run(
    `UPDATE ops.coverage SET fingerprint = 'another' WHERE fingerprint IS NOT NULL AND ${part(7)}`,
  );
  await connection.run(`UPDATE ops.coverage SET fingerprint = NULL, counters = NULL, status = NULL, error = 'reset',
    attempts = 1 WHERE fingerprint IS NOT NULL AND ${part(11)}`);
  await connection.run(`DELETE FROM ops.coverage WHERE fingerprint IS NOT NULL AND ${part(13)}`);
  connection.closeSync();
  instance.closeSync();
}

/** What explain says of every topic, company and person. */
async function explainAll(pulling: Pulling): Promise<Explanation[]> {
  const config = loadConfig({ env: pulling.env });
  const snapshot = await openPublished(config.dataDir, readingLimitsOf(config));
  const all: Explanation[] = [];
  for (const [kind, table] of Object.entries(kinds)) {
    for (const { id } of await snapshot.all<{ id: string }>(`SELECT id FROM ${table}`))
      all.push(await explainEntity({ config, log: silentLog }, snapshot, kind as keyof typeof kinds, id));
  }
  snapshot.close();
  return all;
}

/** The path of a request as explain names it: pages and what only asks for more are left out. */
function nameOf(path: string): string {
  const [own = '', query = ''] = path.split('?');
  const named = query.split('&').filter((one) => /^(companyId|personId)=/.test(one));
  return `GET ${own}${named.length > 0 ? `?${named[0]}` : ''}`;
}

describe('explain and the next sync', () => {
  it('what explain says is due is what the next sync requests', async () => {
    const one = fc.record({
      days: fc.constantFrom(0, 0, 1, 4),
      seed: fc.nat(1_000_000),
      personGroups: fc.constantFrom('without_company', 'all', 'never') as fc.Arbitrary<Case['personGroups']>,
    });
    await fc.assert(
      fc.asyncProperty(one, async ({ days, seed, personGroups }) => {
        const sandbox = await startTown();
        const gateway = await Gateway.start(sandbox);
        try {
          const pulling = await Pulling.filled(folders, sandbox);
          pulling.set({ sync: { personGroups } });
          await disturb(pulling.dataDir, seed);
          if (days > 0) sandbox.advance(days);
          const { spent } = await pulling.plan();
          const capped = await pulling.sync(['--max-requests', String(spent + 25)]);
          expect(capped.report.stoppedBy).toMatch(/max-requests/);

          const from = Date.now();
          const explained = await explainAll(pulling);
          const { code } = await pulling.sync([], { SIGNALHOUSE_BASE_URL: gateway.baseUrl });
          expect(code).toBe(0);
          const until = Date.now();
          const requested = new Set(
            gateway.answered.flatMap(({ method, path }) => (method === 'GET' ? nameOf(path) : [])),
          );
          const children = explained.flatMap((entity) => entity.children);
          // What its sweep makes due between the two is right either way.
          const settled = children.filter(({ sweepAt }) => {
            const at = Date.parse(sweepAt ?? '');
            return !(at >= from && at <= until);
          });
          const due = settled.filter(({ isDue }) => isDue);
          expect(due.length).toBeGreaterThan(10);
          expect(due.flatMap(({ request }) => (requested.has(request) ? [] : request))).toEqual([]);
          // A detail may say that a person has no company; what is gone is asked for by its id, and its survivor is searched
          // in histories.
          const isElse = (child: (typeof settled)[number]) =>
            days > 0 &&
            (child.why === 'unlisted' ||
              /_history$/.test(child.resource) ||
              (child.resource === 'person_groups' && /company/.test(child.why)));
          const others = settled.filter((child) => !child.isDue && !isElse(child));
          expect(
            others.flatMap(({ request, why }) => (requested.has(request) ? [[request, why]] : [])),
          ).toEqual([]);
        } finally {
          await gateway.stop();
          await sandbox.stop();
        }
      }),
      { numRuns: 3 },
    );
  });
});
