import type { Queue } from '../queue/queue.js';
import type { PreparedImport } from './prepare.js';
import type { ImportReport, ImportRow } from './report.js';

/**
 * Queues what was prepared and supersedes the changes that it replaces. The new changes are on the disk first: after a
 * kill in between, both are in the queue and the later one wins when they are pushed.
 */
export function enqueue(queue: Pick<Queue, 'add' | 'move'>, prepared: PreparedImport): ImportReport {
  const { newChanges, rows, preview } = prepared;
  const added = queue.add(newChanges.map(({ change }) => change));
  const replaced = newChanges.flatMap(({ supersedes }, at) =>
    supersedes.map((change) => ({ change, by: added[at]?.id ?? null })),
  );
  const successors = new Map(replaced.map(({ change, by }) => [change.id, by]));
  queue.move(
    replaced.map(({ change }) => change),
    'superseded',
    ({ id }) => ({ supersededBy: successors.get(id) ?? null }),
  );
  const ids = new Map(newChanges.flatMap((one, at) => one.rows.map((row) => [row, added[at]?.id ?? null])));
  const withIds = rows.map(
    (row): ImportRow => (row.outcome === 'queued' ? { ...row, changeId: ids.get(row.row) ?? null } : row),
  );
  const outcome = prepared.isRefused ? 'refused' : added.length > 0 ? 'queued' : 'nothing_new';
  return { ...commonOf(prepared), outcome, queued: added.map(({ id }) => id), rows: withIds, preview };
}

/** The report of an import that queues nothing: a dry run, or the user answered no. */
export function reportWithoutQueueing(
  prepared: PreparedImport,
  outcome: 'dry_run' | 'declined',
): ImportReport {
  const text = outcome === 'dry_run' ? 'It was a dry run.' : 'The import was declined.';
  const rows = prepared.rows.map(
    (row): ImportRow => (row.outcome === 'queued' ? { ...row, outcome: 'not_queued', text } : row),
  );
  const counts = prepared.preview.rows;
  const preview = {
    ...prepared.preview,
    rows: { ...counts, queued: 0, not_queued: counts.not_queued + counts.queued },
  };
  return { ...commonOf(prepared), outcome, queued: [], rows, preview };
}

function commonOf(prepared: PreparedImport): Omit<ImportReport, 'outcome' | 'queued' | 'rows' | 'preview'> {
  const { importId, source, sourceHash, entityType, requestedBy, changes, problems, notes } = prepared;
  const exitCode = problems.length > 0 ? 3 : 0;
  return { importId, source, sourceHash, entityType, requestedBy, changes, problems, notes, exitCode };
}
