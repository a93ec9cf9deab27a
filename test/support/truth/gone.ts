import type { EntityType, World } from '../../../src/sandbox/world/types.js';
import { type Row, something } from './row.js';

/** What the row of something that is there says about its end. */
export const notGone: Row = { deleted_at: null, deleted_reason: null, merged_into_id: null };

/** What the row of something that is not there any more must say: merged into another, or not found. */
export function goneAs(world: World, type: EntityType, id: string): Row {
  const merge = world.merges.findLast(
    (one) => one.entityType === type && one.sources.some((source) => source.id === id),
  );
  return {
    deleted_at: something,
    deleted_reason: merge ? 'merged' : 'not_found',
    merged_into_id: merge?.targetId ?? null,
  };
}
