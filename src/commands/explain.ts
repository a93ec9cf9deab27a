import { z } from 'zod';
import { type Iso, iso, systemClock } from '../base/clock.js';
import { shellWord } from '../base/command-line.js';
import { cut } from '../base/display-width.js';
import { UsageError } from '../base/errors.js';
import type { Facts } from '../base/facts.js';
import { isObject, type Json } from '../base/json.js';
import { count } from '../base/units.js';
import { answerTo, canAsk } from '../cli/output.js';

import { type Child, resources } from '../contract/resources.js';
import { readKnown, storedCounters } from '../load/known.js';
import type { Change } from '../push/change.js';
import { readQueue } from '../push/queue.js';
import { named } from '../push/stored.js';
import * as entity from '../read/entity.js';
import type { Snapshot } from '../read/query.js';
import { withFullSnapshot } from '../read/snapshot.js';
import { readFiles } from '../read/status.js';
import { Known } from '../run/known.js';
import { readMeasured } from '../sync/ages.js';
import { storedActivity } from '../sync/explained.js';
import { keyOf } from '../sync/task.js';
import { childrenOf, type ExplainedChild, pathOf, why } from '../sync/why.js';
import { printable } from '../view/text.js';
import { command } from './command.js';
import { explanationView } from './explanation.js';
import { type Setup, setUp } from './setup.js';

export const kinds = ['topic', 'company', 'person', 'conversation'] as const;
export type Kind = (typeof kinds)[number];

export const whatText = 'Its id, or its title or name, or a part of that';

const plurals = { topic: 'topics', company: 'companies', person: 'people', conversation: 'conversations' };

/** How many entities there are to choose from; more of the title or name finds fewer. */
const maxListed = 10;

export const explain = command({
  usage: '<kind> [what..]',
  examples: [
    ['signalhouse explain topic 0f3c…', 'Its state, and what is due'],
    ['signalhouse explain company Acme', 'By name; asks when several match'],
    ['signalhouse explain person 42 --json', 'For a program'],
  ],
  input: {
    kind: z
      .enum(kinds, 'must be topic, company, person or conversation')
      .describe('topic, company, person or conversation'),
    what: z
      .array(z.string())
      .default([])
      .transform((words) => words.join(' ').trim())
      .refine((words) => words !== '', 'is missing: an id, or a title or name')
      .describe(whatText),
  },
  async run({ kind, what }, context) {
    return explainOne(await setUp(context), kind, what, canAsk() && !context.json);
  },
  show: explanationView,
});

/** The id that is meant. Where several match, it asks, if it can. */
async function choose(
  kind: Kind,
  what: string,
  { found, others }: Candidates,
  isAsking: boolean,
): Promise<string> {
  const [first, second] = found;
  if (!first) throw nothingFound(kind, what, others);
  if (!second) return first.id;
  const head = `${count(found.length)} ${plurals[kind]} match ${JSON.stringify(what)}.`;
  const shown = found.slice(0, maxListed);
  const more = found.length - shown.length;
  if (isAsking) {
    const lines = shown.map((one, index) => `  ${index + 1}  ${titleOf(one)}`);
    if (more > 0) lines.push(`  and ${count(more)} more; more of the title or name finds fewer`);
    process.stderr.write(`${head}\n${lines.join('\n')}\n`);
    const typed = (await answerTo(`Which one? [1-${shown.length}] `)).trim();
    const chosen = shown[Number(typed) - 1];
    if (typed !== '' && chosen) return chosen.id;
    throw new UsageError('Nothing was chosen.', [], { hint: 'Name one by its id.' });
  }
  const problems = shown.map((one) => ({ setting: one.id, problem: titleOf(one) }));
  const commands = shown.map(({ id }) => `  ${commandFor(kind, id)}`);
  const rest = more > 0 ? [`${count(more)} more match: give more of the title or name.`] : [];
  throw new UsageError(head, problems, { hint: ['Explain one of them:', ...commands, ...rest].join('\n') });
}

function titleOf({ id, name, isGone }: Candidates['found'][number]): string {
  return cut(printable(`${name ?? id}${isGone ? ' (deleted)' : ''}`), 74);
}

function nothingFound(kind: Kind, what: string, others: Candidates['others']): UsageError {
  const [other] = others;
  const quoted = JSON.stringify(what);
  if (!other) {
    const list = kind === 'conversation' ? 'topics' : plurals[kind];
    return new UsageError(`There is no ${kind} with the id or title ${quoted}.`, [], {
      hint: `Only what a sync has stored and published can be explained. Run signalhouse sync --only ${list} if it is new.`,
    });
  }
  const name = other.name === null ? '' : ` (${cut(printable(other.name), 60)})`;
  const own = kinds.find((one) => one === other.kind);
  return new UsageError(`${quoted} is the id of a ${other.kind}${name}, not of a ${kind}.`, [], {
    hint: own ? commandFor(own, what) : `Only these can be explained: ${kinds.join(', ')}.`,
  });
}

function commandFor(kind: Kind, id: string): string {
  return `signalhouse explain ${kind} ${shellWord(id)}`;
}

export interface TimelineEvent {
  readonly at: Iso;
  /**
   * `seen`: a sync saw it like this first; `history`: the API recorded it; `change`: ours, pushed or queued; `merge`;
   * `deleted` and `unlisted`: a sync found it so; `messages`: one day of a conversation.
   */
  readonly kind: 'seen' | 'history' | 'change' | 'merge' | 'deleted' | 'unlisted' | 'messages';
  readonly by: string | null;
  /** What happened, where the fields do not say it. */
  readonly text: string | null;
  readonly fields: readonly { readonly field: string; readonly before: Json; readonly now: Json }[];
  readonly runId: string | null;
  /** The id of our change (`signalhouse changes show ID`). */
  readonly changeId: string | null;
}

/** Everything that explains one entity: why it has its values, and what a sync requests of it next. */
export interface Explanation {
  readonly kind: entity.EntityKind;
  readonly id: string;
  readonly name: string | null;
  /** When the file was published that all of this comes from, and which process works on a newer one now. */
  readonly publishedAt: Iso | null;
  readonly holder: Facts['holder'];
  readonly now: Iso;
  /** Its row, with the names of its columns; null where it has none, since its record was rejected. */
  readonly row: Readonly<Record<string, Json>> | null;
  /** Whether it still exists, with the evidence; null for a conversation, which no list has. */
  readonly presence: (entity.Presence & { readonly evidence: entity.EntityRequest | null }) | null;
  /** The people and companies that write most about it, and the latest messages. */
  readonly around: readonly entity.Around[];
  /** What a sync would request of it now, and why or why not, in the order in which it is fetched. */
  readonly children: readonly (ExplainedChild & {
    /** The last request that is recorded, whatever came of it. */
    readonly lastRequest: entity.EntityRequest | null;
  })[];
  /** Null before the first sync ended. */
  readonly lastSync: entity.LastSync | null;
  readonly requests: { readonly total: number; readonly newest: readonly entity.EntityRequest[] };
  readonly runs: readonly entity.EntityRun[];
  /** Our changes that are in conflict, to be decided with `signalhouse changes`. */
  readonly conflicts: readonly string[];
  /** Newest first. */
  readonly timeline: readonly TimelineEvent[];
  readonly rejected: readonly entity.EntityRejection[];
}

/** What `what` may mean: exactly one entity, several, or none, with the other kinds of things that have it as their id. */
export interface Candidates {
  readonly found: readonly entity.FoundEntity[];
  readonly others: readonly { readonly kind: string; readonly name: string | null }[];
}

/**
 * Explains the entity that an id, a title or a name means; asks where several match, if it `isAsking`. It reads the published
 * file only: no network, no lock, and a running sync is not disturbed. Throws StorageError when there is no published file, and
 * UsageError where it does not mean exactly one.
 */
function explainOne(setup: Setup, kind: Kind, what: string, isAsking: boolean): Promise<Explanation> {
  return withFullSnapshot(setup, async (snapshot) => {
    const id = await choose(kind, what, await candidates(snapshot, kind, what), isAsking);
    return explainEntity(setup, snapshot, kind, id);
  });
}

/** What an id, a title or a name, or a part of that, may mean. */
export async function candidates(
  snapshot: Snapshot,
  kind: entity.EntityKind,
  what: string,
): Promise<Candidates> {
  const found = await entity.findEntities(snapshot, kind, what);
  if (found.length > 0) return { found, others: [] };
  // Its record may have been rejected, so that no table has it.
  const rejected = await entity.rejectionsOf(snapshot, what, {
    ...entity.documentKinds(resources, kind),
    within: [],
  });
  if (rejected.length > 0) return { found: [{ id: what, name: null, isGone: false }], others: [] };
  return { found, others: await entity.kindsOfId(snapshot, what) };
}

export async function explainEntity(
  { config, log, clock = systemClock }: Pick<Setup, 'config' | 'log' | 'clock'>,
  snapshot: Snapshot,
  kind: entity.EntityKind,
  id: string,
): Promise<Explanation> {
  const now = new Date(clock.now());
  const row = await entity.rowOf(snapshot, kind, id);
  const presence = await entity.presenceOf(snapshot, resources, kind, id);
  const children = await explainChildren();
  const requests = await entity.requestsOf(
    snapshot,
    children.map(({ request }) => request.replace(/^GET /, '')),
  );
  const documents = entity.documentKinds(resources, kind);
  const changes = (await readQueue(snapshot, config, log)).filter(
    ({ entityType, entityId }) => entityType === kind && entityId === id,
  );
  const { holder, publishedAt } = readFiles(config.dataDir);
  const { name, title, display_name: displayName } = row ?? {};
  return {
    kind,
    id,
    publishedAt,
    holder,
    name: [name, title, displayName].find((text) => typeof text === 'string') ?? null,
    now: iso(now.getTime()),
    row,
    presence: presence && { ...presence, evidence: evidenceOf(presence, kind, id, requests.newest) },
    around: await entity.aroundOf(snapshot, kind, id),
    children: children.map((child) => ({ ...child, lastRequest: lastOf(child, requests.newest) })),
    lastSync: await entity.lastSync(snapshot),
    requests,
    runs: await entity.runsOf(snapshot, id, documents, requests.newest),
    conflicts: changes.flatMap((change) => (change.status === 'conflict' ? change.id : [])),
    timeline: await timelineOf(snapshot, kind, id, changes, presence),
    rejected: await entity.rejectionsOf(snapshot, id, documents),
  };

  async function explainChildren(): Promise<ExplainedChild[]> {
    const list = entity.listOf(kind);
    if (list !== null) return explained(childrenOf(resources, list), id);
    const found: ExplainedChild[] = [];
    for (const { resource, entityId } of await entity.fetchedWith(snapshot, resources, id)) {
      const child = resources.children.filter(({ name: own }) => own === resource);
      found.push(...(await explained(child, entityId)));
    }
    return found;
  }

  async function explained(asked: readonly Child[], entityId: string): Promise<ExplainedChild[]> {
    const known = new Known(resources, await readKnown(snapshot, entityId));
    const measured = await readMeasured(snapshot);
    const names = asked.map((child) => keyOf({ child, entityId }));
    const activity = await storedActivity(
      snapshot,
      asked.map((child) => ({ child, entityId })),
    );
    const input = { known, resources, children: asked, settings: config, measured, companyGroupsCome: true };
    return why(input, now, entityId, await storedCounters(snapshot, names), activity);
  }
}

/** The events of an entity, newest first: seen by syncs, recorded by the API, and changed by us. */
export async function timelineOf(
  snapshot: Snapshot,
  kind: entity.EntityKind,
  id: string,
  changes: readonly Change[],
  presence: entity.Presence | null,
): Promise<TimelineEvent[]> {
  const versions = await entity.versionsOf(snapshot, kind, id);
  const events: TimelineEvent[] = [
    ...versions.map((version, index) => seen(version, versions[index - 1])),
    ...(await entity.historyOf(snapshot, kind, id)).map(recorded),
    ...(await entity.mergesOf(snapshot, kind, id)).map((merge) => merged(merge, id)),
    ...changes.map(pushed),
    ...(kind === 'conversation' ? await entity.messageDaysOf(snapshot, id) : []).map(written),
    ...missed(presence),
  ];
  return events.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}

function lastOf(
  { request }: ExplainedChild,
  newest: readonly entity.EntityRequest[],
): entity.EntityRequest | null {
  // A query that goes on after the id names the same child: its pages.
  const isSame = (path: string) =>
    request.includes('?')
      ? `GET ${path}&`.startsWith(`${request}&`)
      : `GET ${path.split('?')[0]}` === request;
  return newest.find(({ method, path }) => method === 'GET' && isSame(path)) ?? null;
}

/** The 404 by its id that proved it gone, or the answer that showed it exists without being listed. */
function evidenceOf(
  { deletedAt, unlistedSince, runId }: entity.Presence,
  kind: entity.EntityKind,
  id: string,
  requests: readonly entity.EntityRequest[],
): entity.EntityRequest | null {
  const list = resources.lists.find(({ name }) => name === entity.listOf(kind));
  const detail = resources.children.find(({ name }) => name === list?.detail);
  if (!detail || (deletedAt === null && unlistedSince === null)) return null;
  const path = pathOf(detail, id);
  const status = deletedAt === null ? 200 : 404;
  const proofs = requests.filter((one) => one.path === path && one.status === status);
  return proofs.find((one) => one.runId === runId) ?? proofs[0] ?? null;
}

const nothing = { by: null, text: null, fields: [], runId: null, changeId: null };

/** That a sync did not find it in its list any more. */
function missed(presence: entity.Presence | null): TimelineEvent[] {
  if (!presence) return [];
  const { deletedAt, deletedReason, unlistedSince, runId } = presence;
  if (deletedAt) {
    const text = `not in the list any more, and answered 404 by id: ${deletedReason ?? 'no reason given'}`;
    return [{ ...nothing, at: deletedAt, kind: 'deleted', text, runId }];
  }
  if (!unlistedSince) return [];
  const text = 'not in the list any more, but answered by id';
  return [{ ...nothing, at: unlistedSince, kind: 'unlisted', text, runId }];
}

/** The fields in which a version differs from the one before it. */
function seen(version: Record<string, Json>, before: Record<string, Json> | undefined): TimelineEvent {
  const { valid_from: at, valid_to: _, run_id: runId, ...values } = version;
  const fields = before
    ? Object.entries(values).flatMap(([field, now]) =>
        JSON.stringify(now) === JSON.stringify(before[field])
          ? []
          : { field, before: before[field] ?? null, now },
      )
    : [];
  const text = before ? null : 'first seen by a sync';
  return { ...nothing, at: String(at), kind: 'seen', text, fields, runId: String(runId) };
}

function recorded({
  at,
  operation,
  changes,
  previousValues,
  by,
  runId,
}: entity.HistoryRecord): TimelineEvent {
  const now = isObject(changes) ? (changes as Record<string, Json>) : {};
  const before = isObject(previousValues) ? (previousValues as Record<string, Json>) : {};
  const words: Record<string, string> = { INSERT: 'created', DELETE: 'deleted' };
  const fields =
    operation === 'INSERT'
      ? []
      : Object.entries(now).map(([field, value]) => ({ field, before: before[field] ?? null, now: value }));
  return { ...nothing, at, kind: 'history', by, text: words[operation ?? ''] ?? null, fields, runId };
}

function merged(
  { at, sourceId, sourceName, targetId, targetName, by, runId }: entity.EntityMerge,
  id: string,
): TimelineEvent {
  const text =
    sourceId === id
      ? `merged into ${named(targetId, targetName)}`
      : `${named(sourceId, sourceName)} was merged into it`;
  return { ...nothing, at, kind: 'merge', by, text, runId };
}

function pushed(change: Change): TimelineEvent {
  const { id: changeId, status, wanted, base, remoteBefore, requestedBy: by, error, source } = change;
  const before = remoteBefore ?? base;
  const fields = Object.entries(wanted).map(([field, now]) => {
    return { field, before: before[field] ?? null, now };
  });
  const text = `${status}, from ${source}${error === null ? '' : `: ${error}`}`;
  const at = change.settledAt ?? change.queuedAt;
  return { ...nothing, at, kind: 'change', by, text, fields, changeId };
}

function written({ at, messages, edited, deleted, authors }: entity.MessageDay): TimelineEvent {
  const parts = [`${messages} ${messages === 1 ? 'message' : 'messages'}`];
  if (edited > 0) parts.push(`${edited} edited since`);
  if (deleted > 0) parts.push(`${deleted} deleted since`);
  const by = authors.slice(0, 3).join(', ') || null;
  return { ...nothing, at, kind: 'messages', by, text: parts.join(', ') };
}
