import { UsageError } from '../base/errors.js';
import type { Intake, Sheet } from '../serve/http/writes.js';
import { importChanges } from './changes.js';
import type { Setup } from './setup.js';

/** Runs work while no job does, or says which one is in the way. */
type Exclusively = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/**
 * POST /changes: the same rules as `changes import`, under the same lock. Rows of JSON are counted from 1, those of CSV as
 * a spreadsheet program does.
 */
export function intakeOf(setup: Setup, exclusively: Exclusively): Intake {
  return async (sheet, by) => {
    // Read first: what makes no sense holds nobody up.
    const text = sheet.kind === 'csv' ? sheet.text : csvOf(sheet.rows);
    const report = await exclusively('an import', () =>
      importChanges(setup, { text, name: 'HTTP' }, { requestedBy: by, dryRun: false }),
    );
    const header = sheet.kind === 'rows' ? 1 : 0;
    return {
      queued: report.queued.length,
      problems: report.problems.map((one) => ({ ...one, row: one.row - header })),
    };
  };
}

type Rows = Extract<Sheet, { kind: 'rows' }>['rows'];

/** Rows as text with a header; a field that a row does not have is an empty cell. Throws UsageError for nested ones. */
function csvOf(rows: Rows): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row, index) => columns.map((name) => cellOf(row[name], name, index + 1)));
  return [columns.map(quoted), ...lines].map((cells) => cells.join(',')).join('\r\n');
}

function cellOf(value: unknown, name: string, row: number): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return quoted(String(value));
  throw new UsageError('The rows cannot be read.', [
    { setting: `row ${row}, ${name}`, problem: 'must be a text, a number, true, false or null' },
  ]);
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
