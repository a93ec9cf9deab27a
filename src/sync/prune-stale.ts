import type { DocumentKey } from '../warehouse/load/batch.js';
import { sqlFile, substitute } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { Landing } from './landing/landing.js';

const overtakenSql = sqlFile('sync/overtaken');

/**
 * Lets go of what something newer contradicts and nothing would ever bring up to date: the conversations of a person
 * who has a company by now (it is the company that is asked, see `sync.personGroups`), and employees who are of another
 * company. Should a person leave the company again, the conversations are due as if they had never been fetched.
 */
export async function pruneStale(context: Context): Promise<void> {
  await context.batcher.flush();
  const ownGroups = String(context.config.sync.personGroups === 'all');
  const documents = await context.store.all<DocumentKey>(substitute(overtakenSql, { own_groups: ownGroups }));
  if (documents.length === 0) return;
  const landing = new Landing(new Date(context.clock.now()));
  landing.removed.push(...documents);
  const people = documents.filter(({ endpoint }) => endpoint === 'person_groups');
  for (const entityId of new Set(people.map(({ parentId }) => parentId ?? ''))) {
    landing.coverage.push({
      endpoint: 'person_groups',
      entityId,
      fetchedAt: landing.fetchedAt,
      fingerprint: null,
      status: null,
      error: null,
      reason: 'comes with the company',
    });
  }
  await context.batcher.add(landing);
}
