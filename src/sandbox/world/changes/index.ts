import type { Actor } from '../history.js';
import type { World } from '../types.js';
import * as conversations from './conversations.js';
import * as people from './people.js';
import * as topics from './topics.js';

/**
 * Every change of the sandbox's organization, by request or as time passes, with the fields that it needs. Each happens one
 * millisecond after the last (`world.now`), records history as the service would, and sets `updatedAt`. It throws an
 * `UnknownEntityError` for an entity that does not exist.
 */
export const changes = { ...topics, ...people, ...conversations };
type ChangeKind = keyof typeof changes;

/** A change that another member of the organization makes: `kind`, and the fields which that kind needs. */
export type Change = { readonly kind: ChangeKind } & Record<string, unknown>;

export const changeKinds = Object.keys(changes) as ChangeKind[];

/**
 * Makes one change as a colleague, the first member of the organization (no user when it has no members). Returns the
 * stored entity or merge, if there is one.
 * @throws z.ZodError for a change that is not valid, UnknownEntityError for an entity that does not exist
 */
export function makeChange(world: World, { kind, ...given }: Change): unknown {
  const [userId = null] = world.members.keys();
  const { schema } = changes[kind];
  const make = changes[kind] as (world: World, given: unknown, actor: Actor) => unknown;
  return make(world, schema.parse(given), { by: 'user', userId }) ?? null;
}
