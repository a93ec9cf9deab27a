import { UsageError } from '../base/errors.js';
import { resources as builtIn, type Child, type List, type Resources } from '../contract/resources.js';

/** What `--only` selects: a list selects itself and all its children. */
export interface Selection {
  readonly lists: readonly List[];
  readonly children: readonly Child[];
}

/**
 * What `--only` selects; everything when it is absent. Throws a UsageError that lists every name that is neither a
 * resource nor an endpoint.
 */
export function selectResources(
  only: readonly string[] | undefined,
  resources: Resources = builtIn,
): Selection {
  const { lists, children } = resources;
  if (only === undefined || only.length === 0) return { lists, children };
  const names: string[] = [...lists, ...children].map(({ name }) => name);
  const problems = only
    .filter((name) => !names.includes(name))
    .map((name) => ({ setting: '--only', problem: `${name} is not a resource or endpoint` }));
  if (problems.length > 0) {
    throw new UsageError('--only names something that does not exist.', problems, {
      hint: `Choose from: ${names.join(', ')}.`,
    });
  }
  return {
    lists: lists.filter(({ name }) => only.includes(name)),
    children: children.filter(({ name, parent }) => only.includes(name) || only.includes(parent)),
  };
}
