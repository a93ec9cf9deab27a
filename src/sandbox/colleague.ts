import * as changes from './world/changes/index.js';
import type { Actor } from './world/history.js';
import type { World } from './world/types.js';

/** Every kind of change that a colleague can make, by name; the others of the module are not changes. */
const kinds = Object.fromEntries(
  Object.entries(changes).filter(([, change]) => 'schema' in change),
) as Changes;

type Changes = {
  readonly [K in keyof typeof changes as (typeof changes)[K] extends { schema: object }
    ? K
    : never]: (typeof changes)[K];
};
type ChangeKind = keyof Changes;

/** A change that another member of the organization makes: `kind`, and the fields which that kind needs. */
export type Change = { readonly kind: ChangeKind } & Record<string, unknown>;

export const changeKinds = Object.keys(kinds) as ChangeKind[];

/**
 * Makes one change as a colleague, the first member of the organization (no user when it has no members). Returns the
 * stored entity or merge, if there is one.
 * @throws z.ZodError for a change that is not valid, UnknownEntityError for an entity that does not exist
 */
export function makeChange(world: World, { kind, ...given }: Change): unknown {
  const [userId = null] = world.members.keys();
  const { schema } = kinds[kind];
  const make = kinds[kind] as (world: World, given: unknown, actor: Actor) => unknown;
  return make(world, schema.parse(given), { by: 'user', userId }) ?? null;
}
