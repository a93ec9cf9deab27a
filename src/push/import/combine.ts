import { groupBy } from '../../base/group-by.js';
import type { Value, Values } from '../fields.js';
import type { ImportProblem } from './report.js';
import type { Statement, Wanted } from './statement.js';

/** What all rows of a file together say about one topic or company. */
export interface Combined {
  readonly id: string;
  /** In the order of the file; the first is the one that it is known by. */
  readonly rows: readonly number[];
  readonly said: Readonly<Record<string, Wanted>>;
  readonly seen: Values;
  readonly baseAt: string | null;
}

export interface Together {
  readonly combined: readonly Combined[];
  /** Rows that contradict each other: which of them is meant cannot be known, so that none of that id is taken. */
  readonly problems: readonly ImportProblem[];
  /** How many topics or companies several rows speak of, and agree. */
  readonly repeated: number;
}

/** Brings the rows of each id together: the same wish twice is one, wishes about different fields add up. */
export function combine(statements: readonly Statement[]): Together {
  const combined: Combined[] = [];
  const problems: ImportProblem[] = [];
  let repeated = 0;
  for (const [id, same] of groupBy(statements, (one) => one.id)) {
    const found = contradictions(same);
    problems.push(...found);
    if (found.length > 0) continue;
    if (same.length > 1) repeated += 1;
    combined.push(together(id, same));
  }
  return { combined, problems, repeated };
}

function together(id: string, same: readonly Statement[]): Combined {
  const said: Record<string, Wanted> = {};
  // Of two bases the younger one counts, so that the order of the rows does not.
  const oldestFirst = [...same].sort((a, b) => compare(a, b));
  for (const one of oldestFirst) Object.assign(said, one.said);
  return {
    id,
    rows: same.map(({ row }) => row),
    said,
    seen: Object.assign({}, ...oldestFirst.map(({ seen }) => seen)),
    baseAt: oldestFirst.at(-1)?.baseAt ?? null,
  };
}

function compare(a: Statement, b: Statement): number {
  const [one, other] = [orderOf(a), orderOf(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function orderOf({ baseAt, seen }: Statement): string {
  const sorted = Object.entries(seen).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${baseAt ?? ''} ${JSON.stringify(sorted)}`;
}

/** Each row that wants another value than the first row that wants one, and that first row. */
function contradictions(same: readonly Statement[]): ImportProblem[] {
  const firsts = new Map<string, Wanted>();
  const found = new Map<string, ImportProblem>();
  for (const { said } of same) {
    for (const [name, wanted] of Object.entries(said)) {
      const first = firsts.get(name);
      if (!first) firsts.set(name, wanted);
      else if (first.value !== wanted.value) {
        found.set(`${first.row} ${name}`, contradiction(first, wanted));
        found.set(`${wanted.row} ${name}`, contradiction(wanted, first));
      }
    }
  }
  return [...found.values()];
}

function contradiction(one: Wanted, other: Wanted): ImportProblem {
  const problem = `contradicts row ${other.row}, which wants ${shown(other.value)} for the same id: delete one of them`;
  return { row: one.row, column: one.header, value: one.text, problem };
}

function shown(value: Value): string {
  return typeof value === 'boolean' ? String(value).toUpperCase() : String(value);
}
