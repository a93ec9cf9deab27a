import { Priority } from '../api/client.js';
import type { Coverage } from '../warehouse/load/batch.js';
import { literal, sqlFile, substitute } from '../warehouse/sql.js';
import { requestFor } from './child-request.js';
import { isAboutOne, isTheApis } from './children.js';
import type { Context } from './context.js';
import { landChild } from './landing/children.js';
import { Landing } from './landing/landing.js';
import { present } from './missing.js';

const mergedSql = sqlFile('sync/merged');
const unexplainedSql = sqlFile('sync/unexplained');

const kinds = [
  {
    history: 'topic_history',
    presence: 'topic_presence',
    merges: 'topic_merges',
    sources: '$.sourceTopics[*].id',
    target: '$.mergedInto.targetTopic.id',
  },
  {
    history: 'company_history',
    presence: 'company_presence',
    merges: 'company_merges',
    sources: '$.sourceCompanies[*].id',
    target: '$.mergedInto.targetCompany.id',
  },
  {
    history: 'person_history',
    presence: 'person_presence',
    merges: 'person_merges',
    sources: '$.sourcePersons[*].id',
    target: '$.mergedInto.targetPerson.id',
  },
] as const;

/**
 * Says of what is gone into whom it was merged. The survivor's history names it; what no survivor names is asked for
 * its own history, once, since some services keep answering that. A run that ends before leaves it to the next.
 */
export async function resolveMerges(context: Context): Promise<void> {
  for (const kind of kinds) {
    await context.batcher.flush();
    await markMerged(context, kind);
    for (const id of await unexplained(context, kind)) await askOwnHistory(context, kind, id);
    await context.batcher.flush();
    await markMerged(context, kind);
  }
}

type Kind = (typeof kinds)[number];

async function markMerged(context: Context, kind: Kind): Promise<void> {
  const rows = await context.store.all<{ id: string; deleted_at: string; merged_into_id: string }>(
    substitute(mergedSql, {
      presence: literal(kind.presence),
      merges: literal(kind.merges),
      sources: literal(kind.sources),
      target: literal(kind.target),
    }),
  );
  if (rows.length === 0) return;
  const landing = new Landing(new Date(context.clock.now()), context.schemaDrift);
  for (const row of rows) {
    const merged = { deletedAt: row.deleted_at, deletedReason: 'merged', mergedIntoId: row.merged_into_id };
    landing.document(kind.presence, { id: row.id, parentId: null }, { ...present, ...merged });
  }
  await context.batcher.add(landing);
  await context.batcher.flush();
}

async function unexplained(context: Context, kind: Kind): Promise<string[]> {
  const rows = await context.store.all<{ id: string }>(
    substitute(unexplainedSql, { presence: literal(kind.presence), history: literal(kind.history) }),
  );
  return rows.map(({ id }) => id).filter((id) => kind.history !== 'person_history' || /^\d+$/.test(id));
}

async function askOwnHistory(context: Context, kind: Kind, id: string): Promise<void> {
  try {
    const options = { priority: Priority.detail, signal: context.stop };
    const request = requestFor(kind.history, id) as never;
    const answer = await context.api.call(kind.history as 'topic_history', request, options);
    const landing = new Landing(answer.arrivedAt, context.schemaDrift);
    const where = { endpoint: kind.history, method: 'GET', path: `of ${id}` };
    landChild[kind.history](landing, id, answer.body, where);
    landing.coverage.push(asked(kind, id, landing.fetchedAt, answer.status));
    await context.batcher.add(landing);
  } catch (error) {
    if (!isAboutOne(error)) throw error;
    if (isTheApis(error)) {
      const at = new Date(context.clock.now());
      await context.batcher.add({ coverage: [asked(kind, id, at, error.status)] });
      return;
    }
    const { message, hint = null } = error;
    context.failures.push({ endpoint: kind.history, entityId: id, message, hint });
  }
}

/** That it was asked. It has no fingerprint: should the thing come back, its history is due like everything else. */
function asked(kind: Kind, entityId: string, fetchedAt: Date, status: number): Coverage {
  const reason = 'asked when gone';
  return { endpoint: kind.history, entityId, fetchedAt, fingerprint: null, status, error: null, reason };
}
