import { fromRecords, fromSheet, type ImportSource } from '../push/import/source.js';
import type { Intake } from '../serve/http/writes.js';
import { importChanges } from './changes.js';
import type { Setup } from './setup.js';

/** Runs work while no job runs; rejects when one does. */
type Exclusively = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** The source of changes that come over HTTP, in messages and in the queue. */
const name = 'HTTP';

const howToFollow = 'send the same with POST /changes?followMerges=true';

/**
 * `POST /changes`: the rules of `changes import`, under the same lock. Rows of JSON are numbered from 1, rows of CSV as in
 * a spreadsheet program.
 */
export function intakeOf(setup: Setup, exclusively: Exclusively): Intake {
  return async (sheet, by, { followMerges } = {}) => {
    const options = { requestedBy: by, dryRun: false, followMerges, howToFollow };
    const run = async (source: ImportSource) => {
      const { queued, problems, rows } = await importChanges(setup, { source }, options);
      const conflicts = rows.flatMap(({ row, outcome, text: problem }) =>
        outcome === 'conflict' ? [{ row, column: null, value: null, problem }] : [],
      );
      return { queued: queued.length, problems: [...problems, ...conflicts] };
    };
    if (sheet.kind === 'csv') {
      const bytes = Buffer.from(sheet.text);
      return exclusively('an import', async () => run(await fromSheet({ bytes, name })));
    }
    // Read before anything is locked: rows that make no sense block nobody.
    const source = fromRecords(sheet.rows, name);
    return exclusively('an import', () => run(source));
  };
}
