import { Priority } from '../api/client.js';
import { type Child, type ChildOf, type Resources, requestFor } from '../contract/resources.js';
import type { Coverage } from '../warehouse/load/batch.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { isAboutOneRequest, isApiRefusal } from './fetch-child.js';
import { landAnswer } from './landing/answers.js';
import { Landing } from './landing/landing.js';
import { present } from './tombstones.js';

const mergedSql = sqlFile('sync/merged');
const unexplainedSql = sqlFile('sync/unexplained');

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

function isHistory(child: Child): child is ChildOf<'history'> {
  return child.answer.form === 'history';
}

/**
 * Marks deleted entities that were merged with the survivor's id. The survivor's history names them; where none does,
 * the entity's own history is fetched, once, since some services keep answering it. A run that ends before leaves that
 * to the next.
 */
export async function resolveMerges(context: Context): Promise<void> {
  for (const source of sourcesOf(context.resources)) {
    await context.batcher.flush();
    await markMerged(context, source);
    for (const id of await unexplained(context, source)) await fetchOwnHistory(context, source, id);
    await context.batcher.flush();
    await markMerged(context, source);
  }
}

async function markMerged(context: Context, { history, presence }: Source): Promise<void> {
  const { merges } = history.answer;
  const rows = await context.store.all<{ id: string; deleted_at: string; merged_into_id: string }>(
    mergedSql,
    { presence, merges: merges.kind, sources: merges.sources, target: merges.target },
  );
  if (rows.length === 0) return;
  const landing = new Landing(new Date(context.clock.now()), context.schemaDrift);
  for (const row of rows) {
    const merged = { deletedAt: row.deleted_at, deletedReason: 'merged', mergedIntoId: row.merged_into_id };
    landing.document(presence, { id: row.id, parentId: null }, { ...present, ...merged });
  }
  await context.batcher.add(landing);
  await context.batcher.flush();
}

async function unexplained(context: Context, { history, presence }: Source): Promise<string[]> {
  const rows = await context.store.all<{ id: string }>(unexplainedSql, { presence, history: history.name });
  return rows.map(({ id }) => id).filter((id) => !history.digitsOnly || /^\d+$/.test(id));
}

async function fetchOwnHistory(context: Context, { history }: Source, id: string): Promise<void> {
  const endpoint = history.name;
  try {
    const options = { priority: Priority.detail, signal: context.stop };
    const answer = await context.api.get(history.endpointName, requestFor(history, id), options);
    const landing = new Landing(answer.arrivedAt, context.schemaDrift);
    landAnswer(landing, history, id, answer.body, { endpoint, method: 'GET', path: `of ${id}` });
    landing.coverage.push(fetchedOnce(endpoint, id, landing.fetchedAt, answer.status));
    await context.batcher.add(landing);
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error;
    if (isApiRefusal(error)) {
      const at = new Date(context.clock.now());
      await context.batcher.add({ coverage: [fetchedOnce(endpoint, id, at, error.status)] });
      return;
    }
    const { message, hint = null } = error;
    context.failures.push({ endpoint, entityId: id, message, hint });
  }
}

/** Says that it was fetched. It has no fingerprint: if the entity comes back, its history is due like the rest. */
function fetchedOnce(endpoint: string, entityId: string, fetchedAt: Date, status: number): Coverage {
  const reason = 'asked when gone';
  return { endpoint, entityId, fetchedAt, fingerprint: null, status, error: null, reason };
}
