import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import type { Change } from '../../src/sandbox/colleague.js';
import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { quietDay } from '../../src/sandbox/world/advance.js';
import type { World } from '../../src/sandbox/world/types.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

const clockAhead = new URL('../support/clock-ahead.mjs', import.meta.url).href;

/** More of them find more: CONVERGENCE_RUNS=50 is for a night. The seed of a failure is in its message. */
const runs = Number(process.env.CONVERGENCE_RUNS ?? 1);
const seed = process.env.CONVERGENCE_SEED === undefined ? 7 : Number(process.env.CONVERGENCE_SEED);

const sizes = { topics: 14, people: 18, companies: 5, messages: 130, stories: 3, templates: 2, channels: 3 };

/** A run of the program, as it may go. */
type Pull =
  | { pull: 'whole' }
  | { pull: 'capped'; requests: number }
  | { pull: 'killed'; requests: number }
  | { pull: 'ahead'; hours: number };
type Event =
  | Pull
  | { days: number }
  | { faults: readonly FaultRuleInput[] }
  | { change: Kind; of: number; with: number };

const kinds = [
  ...[
    'deleteTopic',
    'restoreTopic',
    'mergeTopics',
    'supersedeTopic',
    'archiveTopic',
    'patchTopic',
    'migrateTopic',
  ],
  ...['deletePerson', 'restorePerson', 'mergePeople', 'employ', 'patchPerson', 'linkIdentity'],
  ...['deleteCompany', 'restoreCompany', 'mergeCompanies', 'patchCompany', 'linkCompanyIdentity'],
  ...['addMessage', 'editMessage', 'removeMessage', 'react', 'assignGroup'],
] as const;
type Kind = (typeof kinds)[number];

const fault: fc.Arbitrary<FaultRuleInput> = fc.oneof(
  fc.record({
    kind: fc.constant('status' as const),
    status: fc.constantFrom(500, 503),
    probability: fc.constant(0.1),
  }),
  fc.record({ kind: fc.constant('reset' as const), probability: fc.constant(0.05) }),
  fc.record({
    kind: fc.constant('html' as const),
    status: fc.constantFrom(200, 502),
    probability: fc.constant(0.05),
  }),
  fc.record({
    kind: fc.constant('truncate' as const),
    bytes: fc.nat(200),
    clean: fc.boolean(),
    probability: fc.constant(0.05),
  }),
);

/** Answers that contradict what else is known: empty, the first page only, about something else, older, with a low total. */
const untrue: fc.Arbitrary<FaultRuleInput> = fc
  .constantFrom(
    { route: 'topic_groups', body: { data: [] } },
    { route: 'topic_people', body: { data: [] } },
    { route: 'company_identities', body: { identities: [] } },
    {
      ...{ route: 'topic_groups', delete: ['data.1'] },
      set: Object.entries({ limit: 1, page: 1, totalCount: 45 }).map(([path, value]) => ({ path, value })),
    },
    { route: 'topic', set: [{ path: 'id', value: '00000000-0000-4000-8000-000000000000' }] },
    { route: 'person', set: [{ path: 'id', value: '999999' }] },
    {
      route: 'topic',
      set: Object.entries({ title: 'old', updatedAt: '2020-01-01T00:00:00.000Z' }).map(([path, value]) => ({
        ...{ path, value },
      })),
    },
    ...['topics', 'people', 'companies', 'groups'].map((route) => ({
      ...{ route, set: [{ path: 'totalCount', value: 3 }] },
    })),
  )
  .map(({ route, ...edit }) => ({ kind: 'replace' as const, ...edit, match: { route }, probability: 0.2 }));

const pull: fc.Arbitrary<Pull> = fc.oneof(
  fc.constant({ pull: 'whole' as const }),
  fc.record({ pull: fc.constant('capped' as const), requests: fc.integer({ min: 1, max: 90 }) }),
  fc.record({ pull: fc.constant('killed' as const), requests: fc.integer({ min: 1, max: 130 }) }),
  fc.record({ pull: fc.constant('ahead' as const), hours: fc.integer({ min: 1, max: 2_000 }) }),
);
const change = fc.record({ change: fc.constantFrom(...kinds), of: fc.nat(), with: fc.nat() });
const event: fc.Arbitrary<Event> = fc.oneof(
  { arbitrary: change, weight: 5 },
  { arbitrary: pull, weight: 3 },
  { arbitrary: fc.record({ days: fc.integer({ min: 1, max: 9 }) }), weight: 1 },
  { arbitrary: fc.record({ faults: fc.array(fc.oneof(fault, untrue), { maxLength: 2 }) }), weight: 1 },
);

/** What was deleted, so that it can be brought back. */
interface Removed {
  readonly topics: string[];
  readonly people: string[];
  readonly companies: string[];
}

/** A change of that kind to something that is there; undefined when there is nothing to change so. */
function changeOf(world: World, removed: Removed, kind: Kind, of: number, other: number): Change | undefined {
  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  const topics = [...world.topics.keys()];
  const live = [...world.topics.values()].flatMap((one) =>
    one.graphStatus === 'active' && !one.migrated ? one.id : [],
  );
  const people = [...world.people.keys()];
  const companies = [...world.companies.values()].flatMap((one) => (one.isOrgCompany ? [] : one.id));
  const given: Record<Kind, Record<string, unknown>> = {
    deleteTopic: { topicId: pick(topics, of) },
    restoreTopic: { topicId: removed.topics.pop() },
    mergeTopics: { sourceIds: [pick(live, of)], targetId: pick(live, other) },
    supersedeTopic: { topicId: pick(live, of), successorId: pick(live, other) },
    archiveTopic: { topicId: pick(live, of) },
    patchTopic: {
      topicId: pick(live, of),
      fields: { title: `title ${other}`, priority: other % 2 ? 'high' : 'low' },
    },
    migrateTopic: { topicId: pick(live, of) },
    deletePerson: { personId: pick(people, of) },
    restorePerson: { personId: removed.people.pop() },
    mergePeople: { sourceIds: [pick(people, of)], targetId: pick(people, other) },
    employ: { personId: pick(people, of), companyId: other % 3 ? (pick(companies, other) ?? null) : null },
    patchPerson: {
      personId: pick(people, of),
      fields: { displayName: `name ${other}`, isVip: other % 2 === 0 },
    },
    linkIdentity: {
      personId: pick(people, of),
      platform: 'slack',
      platformId: pick([...world.authors.values()], other)?.sourceAuthorId,
    },
    deleteCompany: { companyId: pick(companies, of) },
    restoreCompany: { companyId: removed.companies.pop() },
    mergeCompanies: { sourceIds: [pick(companies, of)], targetId: pick(companies, other) },
    patchCompany: { companyId: pick(companies, of), fields: { name: `company ${other}` } },
    linkCompanyIdentity: { companyId: pick(companies, of), platform: 'crm', platformId: String(other % 5) },
    addMessage: {
      groupId: pick([...world.groups.keys()], of),
      authorId: pick([...world.authors.keys()], other),
      content: `said ${other}`,
    },
    editMessage: { messageId: pick([...world.messages.keys()], of), content: `edited ${other}` },
    removeMessage: { messageId: pick([...world.messages.keys()], of) },
    react: { messageId: pick([...world.messages.keys()], of), identifier: `r${other % 3}`, unicode: null },
    assignGroup: {
      groupId: pick([...world.groups.keys()], of),
      topicId: other % 3 ? (pick(live, other) ?? null) : null,
    },
  };
  const { [kind]: wanted } = given;
  const { sourceIds, targetId } = wanted as { sourceIds?: unknown[]; targetId?: unknown };
  const isComplete = Object.values(wanted)
    .flat()
    .every((value) => value !== undefined);
  if (!isComplete || (sourceIds && sourceIds[0] === targetId)) return undefined;
  if (kind === 'deleteTopic') removed.topics.push(String(wanted.topicId));
  if (kind === 'deletePerson') removed.people.push(String(wanted.personId));
  if (kind === 'deleteCompany') removed.companies.push(String(wanted.companyId));
  return { kind, ...wanted };
}

async function happen(sandbox: Sandbox, pulling: Pulling, removed: Removed, event: Event): Promise<void> {
  if ('days' in event)
    sandbox.advance(event.days, { merges: 0.1, edits: 0.03, deletions: 0.03, archives: 0.1 });
  else if ('faults' in event) {
    sandbox.clearFaults();
    sandbox.addFaults(event.faults);
  } else if ('change' in event) {
    const change = changeOf(sandbox.world, removed, event.change, event.of, event.with);
    if (change) sandbox.change(change);
  } else if (event.pull === 'killed') {
    const running = pulling.start(['sync']);
    const target = sandbox.stats().requests + event.requests;
    while (sandbox.stats().requests < target && running.child.exitCode === null) await delay(1);
    running.child.kill('SIGKILL');
    await running.ended;
  } else {
    const cap = event.pull === 'capped' ? ['--max-requests', String(event.requests)] : [];
    const ahead = event.pull === 'ahead' && {
      ...{ NODE_OPTIONS: `--import ${clockAhead}`, CLOCK_AHEAD_MS: String(event.hours * 3_600_000) },
    };
    const { code, stderr } = await pulling.sync([...cap, '--accept-deletes'], { ...ahead });
    // A whoami that never got through ends a run before it begins; the rest is reported and gone on from.
    if (code !== 0 && code !== 1 && code !== 3) throw new Error(`exit ${code}: ${stderr}`);
  }
}

it(
  'whatever happens in between, one quiet pull at the end gives exactly what the API says',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 9, maxLength: 12, size: 'max' }),
        fc.integer({ min: 1, max: 1_000 }),
        async (events, worldSeed) => {
          const sandbox = await startTown({ sizes: { ...sizes, seed: worldSeed } });
          try {
            const pulling = Pulling.into(folders, sandbox, { api: { retry: { attempts: 2 } } });
            const removed: Removed = { topics: [], people: [], companies: [] };
            for (const one of events) await happen(sandbox, pulling, removed, one);
            sandbox.clearFaults();
            // What changed in silence is seen by the sweep: once everything that can be asked for is known, all is old.
            expect((await pulling.sync(['--accept-deletes'])).code).toBe(0);
            await pulling.age();
            expect((await pulling.sync()).code).toBe(0);
            expect(await pulling.differences()).toEqual([]);
          } finally {
            await sandbox.stop();
          }
        },
      ),
      { numRuns: runs, seed, endOnFailure: true },
    );
  },
  60_000 * Math.max(2, runs),
);

/**
 * Changes that nothing shows: an edited message, or a reaction, in a conversation without a topic; an account of a company;
 * whatever happens in a topic that was archived in the migration.
 */
const silent: readonly Kind[] = ['editMessage', 'react', 'linkCompanyIdentity', 'migrateTopic'];
const shown = fc.record({
  change: fc.constantFrom(...kinds.filter((kind) => !silent.includes(kind))),
  of: fc.nat(),
  with: fc.nat(),
});
/** Joins, moves and messages: what falls between the readings of two lists. */
const moves: readonly Kind[] = [
  ...(['employ', 'linkIdentity', 'mergePeople', 'mergeCompanies', 'mergeTopics'] as const),
  ...(['assignGroup', 'addMessage', 'removeMessage'] as const),
];
const night = fc.record({
  changes: fc.array(shown, { minLength: 2, maxLength: 8, size: 'max' }),
  /** One more, between the readings of two lists: right before the answer of this one. */
  between: fc.option(
    fc.record({
      change: fc.record({ change: fc.constantFrom(...moves), of: fc.nat(), with: fc.nat() }),
      route: fc.constantFrom('people', 'companies', 'topics', 'groups'),
    }),
  ),
});
/** Where a conversation has no topic, only the counters of who wrote a message show that it is gone, if they were read before. */
function isShown({ messages, groups }: World, { kind, messageId }: Change): boolean {
  const { groupId = '' } = messages.get(String(messageId)) ?? {};
  return kind !== 'removeMessage' || (groups.get(groupId)?.topicId ?? null) !== null;
}

/**
 * What nothing may show: copies of topics and people in other rows, which are as old as the answer that has them, and the records
 * of what was done and taken back before anybody looked.
 */
const notShown = [
  ...['history', 'merges.source_name'],
  ...['topic_id', 'topic_title', 'topic_type', 'topic_is_v2'].map((column) => `groups.${column}`),
  ...['topic_keywords', 'topic_sources', 'topic_linked_issue_key'].map((column) => `groups.${column}`),
  ...['topic_people.title', 'topic_people.is_vip', 'topics.successor_topic_title'],
];

it(
  'what a merge, a move or a deletion touches is right after the next night, whatever the counters say',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(night, { minLength: 2, maxLength: 4, size: 'max' }),
        fc.integer({ min: 1, max: 1_000 }),
        async (nights, worldSeed) => {
          const sandbox = await startTown({ sizes: { ...sizes, seed: worldSeed } });
          try {
            const pulling = Pulling.into(folders, sandbox);
            expect((await pulling.sync()).code).toBe(0);
            const removed: Removed = { topics: [], people: [], companies: [] };
            for (const { changes, between } of nights) {
              for (const one of changes) {
                const change = changeOf(sandbox.world, removed, one.change, one.of, one.with);
                if (change && isShown(sandbox.world, change)) sandbox.change(change);
              }
              const { change, of, with: other } = between?.change ?? {};
              const later = change && changeOf(sandbox.world, removed, change, of ?? 0, other ?? 0);
              if (later && isShown(sandbox.world, later))
                sandbox.addFaults([
                  { kind: 'change', change: later, times: 1, match: { route: between?.route ?? '' } },
                ]);
              expect([0, 3]).toContain((await pulling.sync(['--accept-deletes'])).code);
              // What was read before that change is right after the next night.
              sandbox.clearFaults();
              if (later) expect((await pulling.sync(['--accept-deletes'])).code).toBe(0);
              expect(await pulling.differences({ except: notShown })).toEqual([]);
            }
          } finally {
            await sandbox.stop();
          }
        },
      ),
      { numRuns: runs, seed, endOnFailure: true },
    );
  },
  120_000 * Math.max(2, runs),
);

it('what changed in silence is seen by the sweep', async () => {
  const sandbox = await startTown({ sizes });
  const pulling = await Pulling.filled(folders, sandbox);
  const { edits, deletions, reactions } = sandbox.advance(1, {
    ...quietDay,
    edits: 0.05,
    deletions: 0.05,
    reactions: 0.05,
  });
  expect(Math.min(edits, deletions, reactions)).toBeGreaterThan(0);
  await pulling.age();
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  expect(await pulling.differences()).toEqual([]);
  await sandbox.stop();
});
