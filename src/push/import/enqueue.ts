import type { Queue } from '../queue/queue.js';
import type { Prepared } from './prepare.js';
import type { ImportReport, ImportRow, RowOutcome } from './report.js';

/**
 * Queues what was prepared, and takes the changes out of the queue whose place is taken. The new ones are on the disk
 * first: after a kill in between the later of two wins when they are pushed.
 */
export function enqueue(queue: Pick<Queue, 'add' | 'move'>, prepared: Prepared): ImportReport {
  const { fresh, rows, preview } = prepared;
  const added = queue.add(fresh.map(({ change }) => change));
  const replaced = fresh.flatMap(({ supersedes }, at) =>
    supersedes.map((change) => ({ change, by: added[at]?.id ?? null })),
  );
  const by = new Map(replaced.map((one) => [one.change.id, one.by]));
  queue.move(
    replaced.map(({ change }) => change),
    'superseded',
    ({ id }) => ({ supersededBy: by.get(id) ?? null }),
  );
  const ids = new Map(fresh.flatMap(({ rows: mine }, at) => mine.map((row) => [row, added[at]?.id ?? null])));
  const told = rows.map(
    (row): ImportRow => (row.outcome === 'queued' ? { ...row, changeId: ids.get(row.row) ?? null } : row),
  );
  const outcome = prepared.isRefused ? 'refused' : added.length > 0 ? 'queued' : 'nothing_new';
  return { ...common(prepared), outcome, queued: added.map(({ id }) => id), rows: told, preview };
}

/** The report of an import that queues nothing: a dry run, or a person said no. */
export function leaveOut(prepared: Prepared, outcome: 'dry_run' | 'declined'): ImportReport {
  const text = outcome === 'dry_run' ? 'It was a dry run.' : 'The import was declined.';
  const held = (row: ImportRow): ImportRow =>
    row.outcome === 'queued' ? { ...row, outcome: 'not_queued', text } : row;
  const count = (of: RowOutcome) => prepared.preview.rows[of];
  const preview = {
    ...prepared.preview,
    rows: { ...prepared.preview.rows, queued: 0, not_queued: count('not_queued') + count('queued') },
  };
  return { ...common(prepared), outcome, queued: [], rows: prepared.rows.map(held), preview };
}

function common(prepared: Prepared): Omit<ImportReport, 'outcome' | 'queued' | 'rows' | 'preview'> {
  const { importId, source, sourceHash, entityType, requestedBy, problems, notes } = prepared;
  const exitCode = problems.length > 0 ? 3 : 0;
  return { importId, source, sourceHash, entityType, requestedBy, problems, notes, exitCode };
}
