import { archivedReason, type Value, type Values } from '../fields.js';
import { isSame } from '../reconcile.js';
import type { Combined } from './combine.js';
import type { Known } from './known.js';
import type { ImportProblem } from './report.js';

/** What a person wants of one topic or company, held against what the warehouse knows of it. */
export interface Wish {
  readonly id: string;
  readonly rows: readonly number[];
  /** Where it differs from what the person saw, or from what the warehouse knows; empty when it is so already. */
  readonly wanted: Values;
  /** Everything that the rows say, also what is so already. */
  readonly stated: Values;
  /** What the person saw, by the file or else by the warehouse; a field that nobody has seen is left out. */
  readonly base: Values;
  readonly baseFrom: 'file' | 'warehouse';
  readonly baseAt: string | null;
}

export interface Wished {
  readonly wish: Wish | null;
  readonly problems: readonly ImportProblem[];
}

/** Why nothing can be changed about an id, whatever is wanted; null when something can. */
export function whyClosed(known: Known | undefined): string | null {
  return known ? known.closed : unknown;
}

const unknown = 'is not known: no such id was in the warehouse at its last sync';

/** What the rows about one topic or company come to; a problem when it cannot be changed, or not like this. */
export function wishOf(combined: Combined, known: Known | undefined, idHeader: string): Wished {
  const { id, rows, said } = combined;
  if (Object.keys(said).length === 0) return { wish: unchanged(combined), problems: [] };
  const about = (problem: string): Wished => ({
    wish: null,
    problems: rows.map((row) => ({ row, column: idHeader, value: id, problem })),
  });
  const closed = whyClosed(known);
  if (!known || closed !== null) return about(closed ?? unknown);

  const seen = (name: string): Value | undefined => {
    const wanted = said[name];
    if (wanted?.fromFile) return wanted.base;
    return name in combined.seen ? combined.seen[name] : known.values[name];
  };
  const problem = misplacedReason(combined, seen('archived'));
  if (problem) return { wish: null, problems: [problem] };

  const stated: Record<string, Value> = {};
  for (const [name, one] of Object.entries(said)) stated[name] = one.value;
  // The API reads a reason only together with the archiving itself.
  if (stated[archivedReason] !== undefined) stated.archived = true;
  // Edited on in the sheet that was pushed before, what went through then is no news.
  const isYounger = combined.baseAt === null || (known.syncedAt ?? '') >= combined.baseAt;
  const differs = (name: string) => {
    if (isYounger && name in known.values && isSame(known.values[name], stated[name])) return false;
    const base = seen(name);
    return base === undefined || !isSame(base, stated[name]);
  };
  const names = new Set(Object.keys(stated).filter(differs));
  if (names.has('archived') || names.has(archivedReason))
    for (const name of ['archived', archivedReason]) if (stated[name] !== undefined) names.add(name);

  const wanted = Object.fromEntries([...names].map((name) => [name, stated[name] ?? null]));
  const base = Object.fromEntries(
    Object.keys(stated).flatMap((name) => {
      const value = seen(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const fromFile = Object.keys(said).every((name) => said[name]?.fromFile);
  return {
    wish: {
      ...{ id, rows, wanted, stated, base },
      baseFrom: fromFile ? 'file' : 'warehouse',
      baseAt: fromFile ? combined.baseAt : known.syncedAt,
    },
    problems: [],
  };
}

function unchanged({ id, rows, baseAt }: Combined): Wish {
  return { id, rows, wanted: {}, stated: {}, base: {}, baseFrom: 'file', baseAt };
}

/** A reason without an archiving would be passed over by the API, and nobody would know. */
function misplacedReason({ said }: Combined, archivedNow: Value | undefined): ImportProblem | undefined {
  const reason = said[archivedReason];
  if (!reason || (said.archived?.value ?? archivedNow) === true) return undefined;
  const problem = 'is used only when archived is TRUE: set archived to TRUE, or delete the reason';
  return { row: reason.row, column: reason.header, value: reason.text, problem };
}
