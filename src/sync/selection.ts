import type { Child, List, Resources } from '../contract/resources.js';

/** What `--only` chooses: a list means itself and all its children. */
export interface Selection {
  readonly lists: readonly List[];
  readonly children: readonly Child[];
  /** Names that are neither a list nor a child. */
  readonly unknown: readonly string[];
}

/** The names that `--only` takes. */
export function selectable({ lists, children }: Resources): string[] {
  return [...lists, ...children].map(({ name }) => name);
}

/** What `--only` chooses of a table; everything when it is absent. */
export function select(resources: Resources, only: readonly string[] | undefined): Selection {
  const { lists, children } = resources;
  if (only === undefined || only.length === 0) return { lists, children, unknown: [] };
  const names = selectable(resources);
  return {
    lists: lists.filter(({ name }) => only.includes(name)),
    children: children.filter(({ name, parent }) => only.includes(name) || only.includes(parent)),
    unknown: only.filter((name) => !names.includes(name)),
  };
}
