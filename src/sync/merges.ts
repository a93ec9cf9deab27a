import { Priority } from '../api/request.js';
import { type Arrival, arrivalNow } from '../base/clock.js';
import { isAboutOneRequest, OtherEntityError } from '../base/errors.js';
import { pool } from '../base/pool.js';
import { type ChildOf, type Resources, requestFor } from '../contract/resources.js';
import type { Coverage } from '../load/batch.js';
import { sqlFile } from '../store/sql.js';
import type { Context } from './context.js';
import { failureOf, isApiRefusal } from './failures.js';
import { fetchChild } from './fetch-child.js';
import { isHistory } from './histories.js';
import { stageAnswer, whereOf } from './staging/answers.js';
import { Staging } from './staging/staging.js';
import { type Task, wholeChild } from './task.js';
import { type Presence, present, tombstone } from './tombstones.js';

const mergedSql = sqlFile('sync/merged');
const survivorsSql = sqlFile('sync/survivors');

/** The most histories of possible survivors that one run fetches for one kind of entity: 50 seconds at 120 a minute. */
const mostSurvivors = 100;
/** After this many of them the run looks whether all that is gone is explained. */
const survivorsAtOnce = 20;

/** A history that names what was merged, and the kind of document that says what is gone. */
interface Source {
  readonly history: ChildOf<'history'>;
  readonly presence: string;
}

function sourcesOf({ children }: Resources): Source[] {
  return children.flatMap((child) => {
    const { presence } = child.list;
    return isHistory(child) && presence !== null ? { history: child, presence } : [];
  });
}

/**
 * Marks entities that were merged with the survivor's id, also those that are answered by id and only left their list. The
 * survivor's history names them; where none does, the entity's own history is fetched, once, since some services keep
 * answering it, and then the histories of those who may be the survivor. A run that ends before leaves that to the next.
 */
export async function resolveMerges(context: Context): Promise<void> {
  for (const source of sourcesOf(context.resources)) {
    await context.batcher.flush();
    if (!isAnyGone(context, source)) continue;
    await markMerged(context, source);
    const left = unexplained(context, source).filter(({ hasOwnHistoryLeft }) => hasOwnHistoryLeft);
    for (const { id } of left) await fetchOwnHistory(context, source, id);
    if (left.length > 0) {
      await context.batcher.flush();
      await markMerged(context, source);
    }
    await searchSurvivors(context, source);
  }
}

/**
 * Fetches histories that may name what is gone and unexplained. The change of a survivor makes its history due only where
 * a field of the list shows the change: a person without accounts or messages leaves no trace in it.
 */
async function searchSurvivors(context: Context, source: Source): Promise<void> {
  const { history } = source;
  const searched = unexplained(context, source).filter(({ hasOwnHistoryLeft }) => !hasOwnHistoryLeft);
  if (searched.length === 0) return;
  const gone = searched.map(({ id }) => id);
  const tasks = await survivors(context, source, gone);
  let left = gone.length;
  for (let start = 0; start < tasks.length && left > 0; start += survivorsAtOnce) {
    let failed = false;
    await pool(tasks.slice(start, start + survivorsAtOnce), context.api.concurrency, async (task) => {
      context.stop.throwIfAborted();
      failed = typeof (await fetchChild(context, task)) !== 'string' || failed;
    });
    await context.batcher.flush();
    await markMerged(context, source);
    // The next run searches again: what was not answered may be what names them.
    if (failed) return;
    left = unexplained(context, source).filter(({ id }) => gone.includes(id)).length;
  }
  const at = arrivalNow(context.clock);
  const coverage = gone.map((id) => withoutFingerprint(history.name, id, at, 404, 'no survivor found'));
  await context.batcher.add({ coverage });
}

async function survivors(
  { store, runId }: Context,
  { history, presence }: Source,
  gone: readonly string[],
): Promise<Task[]> {
  const rows = await store.all<{ entity_id: string; fingerprint: string }>(survivorsSql, {
    list: history.list.name,
    presence,
    history: history.name,
    gone,
    run_id: runId,
    alike: history.answer.merges.alike,
    most: mostSurvivors,
  });
  return rows.map(({ entity_id: entityId, fingerprint }) => ({
    ...wholeChild,
    child: history,
    entityId,
    fingerprint,
    reason: 'changed',
  }));
}

/** A row of sql/sync/merged.sql. */
interface Merged {
  readonly id: string;
  readonly deleted_at: string | null;
  readonly merged_into_id: string;
  readonly outranked: string | null;
}

async function markMerged(context: Context, { history, presence }: Source): Promise<void> {
  const { merges } = history.answer;
  const rows = await context.store.all<Merged>(mergedSql, {
    list: history.list.name,
    presence,
    merges: merges.kind,
    sources: merges.sources,
    target: merges.target,
  });
  if (rows.length === 0) return;
  const arrivedAt = arrivalNow(context.clock);
  const staging = new Staging(arrivedAt, context.schemaDrift);
  for (const { id, deleted_at: deletedAt, merged_into_id: mergedIntoId, ...row } of rows) {
    const outranked = JSON.parse(row.outranked ?? '[]') as Presence['outranked'];
    if (deletedAt === null) {
      const gone = { id, arrivedAt, reason: 'merged', mergedIntoId, outranked };
      await tombstone(context, history.list, presence, gone);
      continue;
    }
    const merged = { ...present, deletedAt, deletedReason: 'merged', mergedIntoId, outranked };
    staging.document(presence, { id, parentId: null }, merged);
  }
  await context.batcher.add(staging);
  await context.batcher.flush();
}

/** Whether there is anything that may have been merged into another: it is deleted, or only left its list. */
function isAnyGone({ known }: Context, { history }: Source): boolean {
  const entities = [...known.entities(history.list.name)];
  return entities.some(({ deletedAt, unlistedSince }) => deletedAt !== null || unlistedSince !== null);
}

interface Unexplained {
  readonly id: string;
  /** Its own history was not fetched since it is gone, and can be. */
  readonly hasOwnHistoryLeft: boolean;
}

/** The deleted entities with no reason but that they were not found, until the histories of possible survivors are fetched. */
function unexplained({ known }: Context, { history }: Source): Unexplained[] {
  return [...known.entities(history.list.name)].flatMap(({ entityId: id, deletedReason }) => {
    if (deletedReason !== 'not_found') return [];
    const reason = known.covered(history.name, id)?.reason;
    if (reason !== 'gone' && reason !== 'asked when gone') return [];
    return { id, hasOwnHistoryLeft: reason === 'gone' && (!history.digitsOnly || /^\d+$/.test(id)) };
  });
}

async function fetchOwnHistory(context: Context, { history }: Source, id: string): Promise<void> {
  const endpoint = history.name;
  try {
    const options = { priority: Priority.detail, signal: context.stop };
    const answer = await context.api.call(history.endpointName, requestFor(history, id), options);
    const staging = new Staging(answer.arrivedAt, context.schemaDrift);
    stageAnswer(staging, history, id, answer.body, whereOf(history, id));
    staging.coverage.push(
      withoutFingerprint(endpoint, id, answer.arrivedAt, answer.status, 'asked when gone'),
    );
    await context.batcher.add(staging);
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error;
    // The history of another says as little about this one as a refusal.
    if (isApiRefusal(error) || error instanceof OtherEntityError) {
      const at = arrivalNow(context.clock);
      const status = isApiRefusal(error) ? error.status : 200;
      await context.batcher.add({
        coverage: [withoutFingerprint(endpoint, id, at, status, 'asked when gone')],
      });
      return;
    }
    context.failures.push(failureOf(endpoint, id, error));
  }
}

/** What was done about something gone. Without a fingerprint: if the entity comes back, its history is due like the rest. */
function withoutFingerprint(
  endpoint: string,
  entityId: string,
  { at, no }: Arrival,
  status: number,
  reason: 'asked when gone' | 'no survivor found',
): Coverage {
  return { endpoint, entityId, fetchedAt: at, answerNo: no, fingerprint: null, status, error: null, reason };
}
