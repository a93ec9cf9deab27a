import { Priority } from '../api/client.js';
import { RejectedError } from '../base/errors.js';
import { detailOf, type List, type Resources, requestFor } from '../contract/resources.js';
import type { DocumentKey } from '../warehouse/load/batch.js';
import { literal, sqlFile, substitute } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { landAnswer } from './landing/answers.js';
import { Landing } from './landing/landing.js';
import { maxAgeSeconds } from './settings.js';

const missingSql = sqlFile('sync/missing');
const returnedSql = sqlFile('sync/returned');
const unlistedSql = sqlFile('sync/unlisted');
const membersSql = sqlFile('sync/members');

/** What is known of an entity's existence; a document like any other, so that a rebuild knows it too. */
export interface Presence {
  readonly deletedAt: string | null;
  readonly deletedReason: string | null;
  readonly mergedIntoId: string | null;
  readonly detailUnavailableReason: string | null;
  /** Not listed any more, but answered by id. */
  readonly unlistedSince: string | null;
  /** When it was last answered so. */
  readonly askedAt: string | null;
}

export const present: Presence = {
  deletedAt: null,
  deletedReason: null,
  mergedIntoId: null,
  detailUnavailableReason: null,
  unlistedSince: null,
  askedAt: null,
};

export interface Missing {
  readonly id: string;
  /** It was answered 404 by id while it was listed, as topics archived in the migration are. */
  readonly unanswered: boolean;
}

/** The known items of a list that these ids do not hold, and how many are known at all. Holds the ids for `settle`. */
export async function missingFrom(
  context: Context,
  list: List,
  ids: ReadonlySet<string>,
): Promise<{ missing: Missing[]; known: number }> {
  await context.batcher.flush();
  await context.store.transaction(async (tx) => {
    await tx.run('CREATE OR REPLACE TEMP TABLE scan_ids (id VARCHAR)');
    await tx.append({ catalog: 'temp', table: 'scan_ids' }, ['text'], rowsOf(ids));
  });
  const names = { list: literal(list.name), presence: literal(list.presence ?? '') };
  const rows = await context.store.all<Missing & { known: number }>(substitute(missingSql, names));
  return { missing: rows, known: Number(rows[0]?.known ?? 0) };
}

function* rowsOf(ids: Iterable<string>): Generator<[string]> {
  for (const id of ids) yield [id];
}

export interface Settled {
  readonly missing: number;
  readonly tombstoned: number;
  readonly restored: number;
  readonly fused: boolean;
  readonly note: string | null;
}

/** Whether so much is missing that it is likelier a broken answer than the truth (settings `sync.deletes`). */
export function blowsFuse(
  found: { missing: number; known: number; shown: number },
  limits: { maxShare: number; maxRows: number },
): boolean {
  if (found.missing === 0) return false;
  if (found.shown === 0) return true;
  return found.missing > limits.maxRows && found.missing > limits.maxShare * found.known;
}

/** What one reading of a list showed, and whether the list held still meanwhile. */
export interface Shown {
  readonly ids: ReadonlySet<string>;
  readonly verified: boolean;
}

/**
 * What a scan shows again loses its tombstone. What a verified one misses is asked for by id, and only a 404 makes a
 * tombstone; what is answered is there, only listed no more. Where a 404 proves nothing, because what is listed is
 * answered so as well, the list is read `again`: totals can agree by accident, and it must be missing twice.
 */
export async function settle(
  context: Context,
  list: List,
  shown: Shown,
  again: () => Promise<Shown>,
): Promise<Settled> {
  const presence = list.presence;
  const nothing = { missing: 0, tombstoned: 0, restored: 0, fused: false, note: null };
  if (presence === null) return nothing;
  const { missing, known } = await missingFrom(context, list, shown.ids);
  const restored = await restore(context, presence);
  if (!shown.verified) return { ...nothing, restored };
  const limits = context.config.sync.deletes;
  if (
    !context.acceptDeletes &&
    blowsFuse({ missing: missing.length, known, shown: shown.ids.size }, limits)
  ) {
    const note = `it misses ${missing.length} of ${known} known items: nothing was deleted (--accept-deletes lets it through)`;
    return { missing: missing.length, tombstoned: 0, restored, fused: true, note };
  }
  const unlisted = await context.store.all<Asked>(
    substitute(unlistedSql, {
      presence: literal(presence),
      max_age_seconds: String(maxAgeSeconds(detailOf(context.resources, list), context.config)),
      now: `TIMESTAMPTZ ${literal(new Date(context.clock.now()).toISOString())}`,
    }),
  );
  const unanswered = new Set(missing.flatMap((one) => (one.unanswered ? [one.id] : [])));
  const doubtful: Gone[] = [];
  let tombstoned = 0;
  for (const one of [...missing, ...unlisted]) {
    const gone = await askFor(context, list, presence, one);
    if (gone === null) continue;
    if (gone.reason !== undefined || unanswered.has(gone.id)) {
      doubtful.push(gone);
      continue;
    }
    await tombstone(context, list, presence, gone);
    tombstoned += 1;
  }
  const second = doubtful.length > 0 ? await again() : shown;
  for (const gone of doubtful) {
    if (!second.verified || second.ids.has(gone.id)) continue;
    await tombstone(context, list, presence, gone);
    tombstoned += 1;
  }
  return { missing: missing.length, tombstoned, restored, fused: false, note: null };
}

async function restore(context: Context, presence: string): Promise<number> {
  const back = await context.store.all<{ id: string; detail_unavailable_reason: string | null }>(
    substitute(returnedSql, { presence: literal(presence) }),
  );
  if (back.length === 0) return 0;
  const landing = new Landing(new Date(context.clock.now()), context.schemaDrift);
  for (const { id, detail_unavailable_reason: reason } of back) {
    landing.document(presence, { id, parentId: null }, { ...present, detailUnavailableReason: reason });
  }
  await context.batcher.add(landing);
  return back.length;
}

/** What was answered 404 by id, when, and with which `data.reason`. */
interface Gone {
  readonly id: string;
  readonly at: Date;
  readonly reason: string | undefined;
}

/** What is asked for by id, and since when it is known to be listed no more. */
interface Asked {
  readonly id: string;
  readonly since?: string;
}

/** Asks for one item by id: lands what is answered, and gives null; or says that there is nothing. */
async function askFor(
  context: Context,
  list: List,
  presence: string,
  { id, since }: Asked,
): Promise<Gone | null> {
  const detail = detailOf(context.resources, list);
  try {
    const options = { priority: Priority.essential, signal: context.stop };
    const answer = await context.api.get(detail.endpointName, requestFor(detail, id), options);
    const landing = new Landing(answer.arrivedAt, context.schemaDrift);
    landAnswer(landing, detail, id, answer.body, { endpoint: detail.name, method: 'GET', path: id });
    const askedAt = answer.arrivedAt.toISOString();
    const unlisted = { ...present, unlistedSince: since ?? askedAt, askedAt };
    landing.document(presence, { id, parentId: null }, unlisted);
    await context.batcher.add(landing);
    return null;
  } catch (error) {
    // A 404 without the documented error body comes from something in front of the API, and proves nothing.
    if (!(error instanceof RejectedError) || error.status !== 404 || error.code === undefined) throw error;
    return { id, at: new Date(context.clock.now()), reason: error.reason };
  }
}

async function tombstone(
  context: Context,
  list: List,
  presence: string,
  { id, at, reason }: Gone,
): Promise<void> {
  const landing = new Landing(at, context.schemaDrift);
  const tombstone = { deletedAt: at.toISOString(), deletedReason: reason ?? 'not_found' };
  landing.document(presence, { id, parentId: null }, { ...present, ...tombstone });
  landing.removed.push(...(await links(context, list, id)));
  // Should it come back, its links are due as if they had never been fetched.
  for (const child of context.resources.children.filter((one) => one.list.name === list.name)) {
    landing.coverage.push({
      endpoint: child.name,
      entityId: id,
      fetchedAt: at,
      fingerprint: null,
      status: 404,
      error: null,
      reason: 'gone',
    });
  }
  await context.batcher.add(landing);
}

async function links(context: Context, list: List, id: string): Promise<DocumentKey[]> {
  const { belonging, naming } = removedWith(context.resources, list);
  const texts = (kinds: readonly string[]) => (kinds.length === 0 ? [''] : kinds).map(literal).join(', ');
  return context.store.all<DocumentKey>(
    substitute(membersSql, { of: texts(belonging), naming: texts(naming), id: literal(id) }),
  );
}

/** The kinds of documents that are removed with an item of a list: those that belong to it, and those that name it. */
function removedWith({ children, embedded }: Resources, { name: list }: List) {
  const inside = Object.entries(embedded).map(([name, entry]) => ({
    ...entry,
    name,
    removedWithParent: true,
  }));
  const kinds = [...children, ...inside];
  return {
    belonging: kinds.flatMap((one) => (one.parent === list && one.removedWithParent ? one.name : [])),
    naming: kinds.flatMap((one) => (one.membersOf === list ? one.name : [])),
  };
}
