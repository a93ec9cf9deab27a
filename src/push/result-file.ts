import { accessSync, constants, statSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { messageOf, UsageError } from '../base/errors.js';
import type { Cell, Grid } from '../sheet/grid.js';
import { writeGrid } from '../sheet/write.js';
import type { Change } from './change.js';
import { fieldsOf } from './fields.js';
import { keptImport } from './import/kept.js';
import type { ImportRow } from './import/report.js';
import { resultColumns, rowResults } from './result.js';

/** What the results of a push are looked up in. */
export interface ResultParts {
  readonly dataDir: string;
  /** Every change of the queue, as it is now, oldest first. */
  readonly changes: readonly Change[];
  /** Those that this push worked on. */
  readonly touched: ReadonlySet<string>;
}

/** Throws a UsageError when the result cannot be written to `out`: its ending, or its folder. */
export function checkResultPath(out: string): void {
  const problem = resultPathProblem(out);
  if (problem === null) return;
  throw new UsageError('The result cannot be written.', [{ setting: '--result', problem }]);
}

function resultPathProblem(out: string): string | null {
  if (!['.xlsx', '.csv', '.tsv'].includes(extname(out).toLowerCase()))
    return `${out} does not end in .xlsx, .csv or .tsv`;
  const folder = dirname(resolve(out));
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    return `the folder ${folder} does not exist`;
  if (statSync(out, { throwIfNoEntry: false })?.isDirectory()) return `${out} is a folder`;
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    return `the folder ${folder} cannot be written to: ${messageOf(error)}`;
  }
  return null;
}

/**
 * Writes the file that the push was about once more, with `result`, `error` and `remote_value` in each row. When the
 * push was about several files, or about none that was kept (SQL), it is a plain sheet with a row for each change. A
 * push that found nothing to do tells of the last import.
 */
export async function writeResult(out: string, parts: ResultParts): Promise<void> {
  const { changes, touched, dataDir } = parts;
  const about = changes.filter(({ id }) => touched.has(id));
  const last = changes.at(-1);
  const imports = new Set((about.length > 0 ? about : last ? [last] : []).map(({ importId }) => importId));
  const [only] = imports;
  const kept = imports.size === 1 && only !== undefined ? await keptImport(dataDir, only) : null;
  const byId = new Map(changes.map((change) => [change.id, change]));
  const grid = kept?.grid ?? plainGrid(about);
  const rows = kept?.rows ?? plainRows(about);
  await writeGrid(out, grid, resultColumns(rowResults(rows, (id) => byId.get(id))), { overwrite: true });
}

/** Changes as a sheet: what they are about, what was wanted, and where they came from. */
function plainGrid(changes: readonly Change[]): Grid {
  const names = (['topic', 'company'] as const).flatMap((type) => fieldsOf[type].map(({ name }) => name));
  const used = [...new Set(names)].filter((name) => changes.some(({ wanted }) => wanted[name] !== undefined));
  return {
    columns: ['topic_id', 'company_id', ...used, 'source', 'source_row', 'requested_by'],
    headerRow: 1,
    notes: [],
    rows: changes.map((change, index) => ({
      number: index + 2,
      cells: [
        change.entityType === 'topic' ? change.entityId : null,
        change.entityType === 'company' ? change.entityId : null,
        ...used.map((name): Cell => change.wanted[name] ?? null),
        ...[change.source, change.sourceRow, change.requestedBy],
      ],
    })),
  };
}

function plainRows(changes: readonly Change[]): ImportRow[] {
  return changes.map(({ id }, index) => ({ row: index + 2, outcome: 'queued', changeId: id, text: null }));
}
