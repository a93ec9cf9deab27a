import { literal } from '../sql.js';
import type { DocumentKey } from './batch.js';

/**
 * Kinds of documents that speak about the same thing. Of two documents of a family the later one wins, so the moment
 * at which a document was last seen matters as soon as a sibling was seen after it (see `observe`).
 */
const families: readonly (readonly string[])[] = [
  ['topics', 'topic', 'topic_presence', 'topic_merges'],
  ['companies', 'company', 'company_activity', 'company_presence', 'company_merges'],
  ['people', 'person', 'person_presence', 'person_merges'],
  ['channels', 'channel'],
  ['stories', 'story'],
  ['automation_templates', 'automation_template'],
  ['topic_groups', 'company_groups', 'person_groups'],
  ['topic_people', 'topic_persons'],
];

/** The kinds that list conversations: one that none of them lists any more is gone, and its messages with it. */
export const groupKinds = ['topic_groups', 'company_groups', 'person_groups'] as const;
export const messageKind = 'messages';

/**
 * Whether an id alone names the thing, whatever parent brought it. Otherwise it does so only together with the parent:
 * the source `slack` of one person is not that of another.
 */
export function namedById(kind: string): boolean {
  if (kind === messageKind) return true;
  const family = familyOf(kind);
  return family.length > 1 && !family.includes('topic_people');
}

/** The family of a kind: itself alone, unless it is listed above. */
export function familyOf(kind: string): readonly string[] {
  return families.find((family) => family.includes(kind)) ?? [kind];
}

/** The family of a row as an SQL expression over its column `endpoint`: the family's first kind. */
export const familySql = `CASE ${families
  .map((family) => `WHEN endpoint IN (${family.map(literal).join(', ')}) THEN ${literal(family[0] ?? '')}`)
  .join(' ')} ELSE endpoint END`;

/** What, besides family and id, names a row's thing, as an SQL expression: its parent, or '' for nothing. */
export const withinSql = `CASE WHEN endpoint IN (${[messageKind, ...families.flat()]
  .filter(namedById)
  .map(literal)
  .join(', ')}) THEN '' ELSE coalesce(parent_id, '') END`;

/** The name of a kind's family, as `familySql` has it. */
export function familyName(kind: string): string {
  return familyOf(kind)[0] ?? kind;
}

/** What, besides family and id, names a document's thing, as `withinSql` has it. */
export function withinOf({ endpoint, parentId }: Pick<DocumentKey, 'endpoint' | 'parentId'>): string {
  return namedById(endpoint) ? '' : (parentId ?? '');
}
