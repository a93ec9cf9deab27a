/** Names an item among those of its kind: its own id, and that of the entity it hangs on, if any. */
export interface ItemKey {
  readonly id: string | null;
  readonly parentId: string | null;
}

/** The id of an item when it is one: a non-empty string. */
export function idOf(item: Record<string, unknown>, field = 'id'): string | null {
  const value = item[field];
  return typeof value === 'string' && value !== '' ? value : null;
}
