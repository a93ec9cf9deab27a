import { isObject } from '../../base/json.js';
import type { DocumentKey } from '../load/batch.js';
import { type Entity, entities } from './entities.js';
import { type Fingerprint, type Fingerprints, isPseudonym, type Part } from './fingerprints.js';

/**
 * What a document that `mayConcern` shows of somebody who was forgotten and comes under another id: a further account, the authors of an
 * account, the messages of a conversation, and the people or companies that they were merged with.
 */
export function learnedFrom(
  forgotten: Fingerprints,
  document: DocumentKey & { readonly body: string },
): Fingerprint[] {
  const entity = entities().about.get(document.endpoint)?.entity;
  const learn = merges[document.endpoint] ?? (entity && learners[entity]);
  if (!learn) return [];
  const item: unknown = JSON.parse(document.body);
  if (!isObject(item)) return [];
  return learn(forgotten, item, document).flatMap(([part, value]) => {
    if (typeof value !== 'string' || value === '') return [];
    const fingerprint = forgotten.of(part, value);
    return fingerprint ? [fingerprint] : [];
  });
}

type Learned = readonly [part: Part, value: unknown];
type Item = Readonly<Record<string, unknown>>;
type Learn = (forgotten: Fingerprints, item: Item, key: DocumentKey) => Learned[];

/** Also somebody under a new id who has an address or an account of a person that was forgotten. */
const person: Learn = (forgotten, item, { id }) => {
  const isForgotten =
    forgotten.has('person', id) ||
    forgotten.has('email', item.primaryEmail) ||
    (Array.isArray(item.identities) && item.identities.some((one) => isAccount(forgotten, one)));
  return isForgotten ? [['person', id], ...address(item.primaryEmail), ...accountsIn(item.identities)] : [];
};

/** A company is known by its id alone: its accounts may be addresses of people. */
const account: Learn = (forgotten, item, { endpoint, parentId }) => {
  if (entities().about.get(endpoint)?.parent === 'company')
    return forgotten.has('company', parentId) ? accountsIn([item]) : [];
  const isForgotten = forgotten.has('person', parentId) || isAccount(forgotten, item);
  return isForgotten ? [['person', parentId], ...accountsIn([item])] : [];
};

function isAccount(forgotten: Fingerprints, identity: unknown): boolean {
  if (!isObject(identity) || typeof identity.platformId !== 'string') return false;
  const { platform, platformId } = identity;
  return (
    !isPseudonym(platformId) &&
    (forgotten.has('identity', `${platform}:${platformId}`) || forgotten.has('email', platformId))
  );
}

const author: Learn = (forgotten, item, { id }) => {
  const { sourceName, sourceAuthorId } = item;
  return forgotten.has('identity', `${sourceName}:${sourceAuthorId}`) ? [['author', id]] : [];
};

const message: Learn = (forgotten, item, { id, parentId }) => {
  const author = isObject(item.author) ? item.author.id : null;
  const isForgotten = forgotten.has('conversation', parentId) || forgotten.has('author', author);
  return isForgotten
    ? [
        ['message', id],
        ['source_id', item.sourceMessageId],
      ]
    : [];
};

/** Who was merged with somebody is the same person, or the same company. */
function merged(part: 'person' | 'company', target: string, sources: string): Learn {
  return (forgotten, item, { id }) => {
    const into = isObject(item.mergedInto) ? item.mergedInto[target] : null;
    const merges = Array.isArray(item.merges) ? item.merges.filter(isObject) : [];
    const from = merges.flatMap((one) => (Array.isArray(one[sources]) ? (one[sources] as unknown[]) : []));
    const ids = [id, ...[into, ...from].filter(isObject).map((one) => one.id)];
    return ids.some((one) => forgotten.has(part, one)) ? ids.map((one) => [part, one] as const) : [];
  };
}

const learners: Readonly<Partial<Record<Entity, Learn>>> = { person, author, message, identity: account };

const merges: Readonly<Record<string, Learn>> = {
  person_merges: merged('person', 'targetPerson', 'sourcePersons'),
  company_merges: merged('company', 'targetCompany', 'sourceCompanies'),
};

function accountsIn(identities: unknown): Learned[] {
  if (!Array.isArray(identities)) return [];
  return identities.filter(isObject).flatMap(({ platform, platformId }) => {
    if (typeof platformId !== 'string' || isPseudonym(platformId)) return [];
    const isAddress = platformId.includes('@');
    return [['identity', `${platform}:${platformId}`] as const, ...(isAddress ? address(platformId) : [])];
  });
}

function address(email: unknown): Learned[] {
  return typeof email === 'string' && email !== ''
    ? [
        ['email', email],
        ['text', email],
        ['identity', `email:${email}`],
      ]
    : [];
}
