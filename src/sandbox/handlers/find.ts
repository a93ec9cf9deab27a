import { migratedReason } from '../../contract/topics.js';
import { HttpError, notFound } from '../errors.js';
import { isMerged } from '../wire/history.js';
import type { Actor } from '../world/changes.js';
import type { EntityType, StoredCompany, StoredPerson, StoredTopic, World } from '../world/types.js';

/** Whoever writes through the API: a key is its own credential, "not tied to a member's account" (Authentication 3). */
export const keyActor: Actor = { by: 'user', userId: null };

/** The topic of a path. @throws HttpError 404, with the documented reason for one archived in the migration. */
export function topicAt(world: World, id: string): StoredTopic {
  const topic = anyTopicAt(world, id);
  if (topic.migrated) throw migrated(id);
  return topic;
}

/** The topic of a path, migrated or not. @throws HttpError 404. */
export function anyTopicAt(world: World, id: string): StoredTopic {
  const topic = world.topics.get(id);
  if (!topic) throw notFound('Topic', id);
  return topic;
}

/** @throws HttpError 404 */
export function personAt(world: World, id: string): StoredPerson {
  const person = world.people.get(id);
  if (!person) throw notFound('Person', id);
  return person;
}

/** @throws HttpError 404 */
export function companyAt(world: World, id: string): StoredCompany {
  const company = world.companies.get(id);
  if (!company) throw notFound('Company', id);
  return company;
}

/** Checks that an entity has a history: it is there, or it went into another. @throws HttpError 404 */
export function withHistory(world: World, type: EntityType, id: string): void {
  if (isMerged(world, type, id)) return;
  if (type === 'topic') topicAt(world, id);
  else if (type === 'company') companyAt(world, id);
  else personAt(world, id);
}

function migrated(id: string): HttpError {
  return new HttpError(404, `Topic ${id} was archived in the v1 to v2 migration`, {
    data: { reason: migratedReason },
  });
}

/** The texts among the values of a connections object. */
export function onlyTexts(values: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
