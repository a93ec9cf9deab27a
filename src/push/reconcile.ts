import { archivedReason, type Value, type Values } from './fields.js';

/** What to do about a conflict: tell it and go on, or let this change win. */
export type OnConflict = 'report' | 'overwrite';

export type Verdict =
  /** The API has it so already. */
  | { readonly kind: 'unchanged' }
  /** Somebody changed these fields since the person saw them. */
  | { readonly kind: 'conflict'; readonly fields: readonly string[] }
  /** These fields have to be set. */
  | { readonly kind: 'send'; readonly set: Values };

/**
 * Three values of each field decide: what the person saw (`base`), what shall be (`wanted`), and what the API has now
 * (`remote`). What is as wanted costs nothing. What is neither as wanted nor as seen was changed by somebody else, and
 * one such field holds back the whole change: a row is one decision. A field without a base cannot be in conflict.
 */
export function reconcile(
  change: { readonly wanted: Values; readonly base: Values },
  remote: Values,
  onConflict: OnConflict,
): Verdict {
  const { wanted, base } = change;
  const open = Object.keys(wanted).filter((name) => !isAsWanted(name, wanted, remote));
  if (open.length === 0) return { kind: 'unchanged' };
  const fields = open.filter((name) => name in base && !isSame(base[name], remote[name]));
  if (fields.length > 0 && onConflict === 'report') return { kind: 'conflict', fields };
  // A new reason for an archiving that somebody has undone: whoever gave it did not ask for the archiving itself.
  if (open.includes(archivedReason) && wanted.archived === undefined && remote.archived !== true) {
    return { kind: 'conflict', fields: ['archived'] };
  }
  const set: Record<string, Value> = {};
  for (const name of open) set[name] = wanted[name] as Value;
  // The API reads a reason only together with the archiving itself.
  if (set[archivedReason] !== undefined) set.archived = true;
  if (set.archived === true && wanted[archivedReason] !== undefined)
    set[archivedReason] = wanted[archivedReason];
  return { kind: 'send', set };
}

/** Whether all of `wanted` stands in `remote`. */
export function isAsAllWanted(wanted: Values, remote: Values): boolean {
  return Object.keys(wanted).every((name) => isAsWanted(name, wanted, remote));
}

function isAsWanted(name: string, wanted: Values, remote: Values): boolean {
  return isSame(wanted[name], remote[name]);
}

/** Nothing and an empty text are the same to a person, and in a spreadsheet. */
export function isSame(one: Value | undefined, other: Value | undefined): boolean {
  return (one ?? '') === (other ?? '');
}

/** The fields of `values` that `names` names, null where there is no value. */
export function pick(values: Values, names: Values): Values {
  return Object.fromEntries(Object.keys(names).map((name) => [name, values[name] ?? null]));
}
