import { type Change, contested, type Status } from '../change.js';
import { contestedText, contestsAmong, isContested } from '../queue/contested.js';
import type { Queue } from '../queue/queue.js';
import type { PreparedImport } from './prepare.js';
import type { ImportReport, ImportRow } from './report.js';

/**
 * Queues what was prepared, and supersedes the changes that it replaces. A change that contradicts what somebody else wants
 * is recorded as a conflict, and so is theirs if it still waits. The new changes are on the disk first: after a
 * kill in between, both are in the queue and the later one wins when they are pushed.
 */
export function enqueue(
  queue: Pick<Queue, 'add' | 'all' | 'move' | 'update'>,
  prepared: PreparedImport,
): ImportReport {
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
  const rivals = [...new Map(newChanges.flatMap((one) => one.rivals.map((it) => [it.id, it]))).values()];
  const rivalsOf = contestsAmong(rivals.length === 0 ? [] : queue.all());
  const textOf = (rival: Change) => contestedText(rival, rivalsOf(rival));
  const waiting = rivals.filter(({ status }) => status === 'queued');
  queue.move(waiting, 'conflict', (rival) => ({ errorCode: contested, error: textOf(rival) }));
  queue.update(rivals.filter(isContested), (rival) => ({ error: textOf(rival) }));
  const ids = new Map(newChanges.flatMap((one, at) => one.rows.map((row) => [row, added[at]?.id ?? null])));
  const withIds = rows.map(
    (row): ImportRow => (ids.has(row.row) ? { ...row, changeId: ids.get(row.row) ?? null } : row),
  );
  const idsOf = (status: Status) => added.flatMap((one) => (one.status === status ? [one.id] : []));
  const queued = idsOf('queued');
  const outcome = prepared.isRefused ? 'refused' : queued.length > 0 ? 'queued' : 'nothing_new';
  const conflicts = [...idsOf('conflict'), ...waiting.map(({ id }) => id)];
  return { ...commonOf(prepared), outcome, queued, conflicts, rows: withIds, preview };
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
  return { ...commonOf(prepared), outcome, queued: [], conflicts: [], rows, preview };
}

function commonOf(
  prepared: PreparedImport,
): Omit<ImportReport, 'outcome' | 'queued' | 'conflicts' | 'rows' | 'preview'> {
  const { importId, source, sourceHash, entityType, requestedBy } = prepared;
  const { changes, problems, notes, refusal, newChanges } = prepared;
  const isInConflict = newChanges.some(({ rivals }) => rivals.length > 0);
  const exitCode = problems.length > 0 || isInConflict ? 3 : 0;
  return {
    ...{ importId, source, sourceHash, entityType, requestedBy },
    ...{ changes, problems, notes, refusal, exitCode },
  };
}
