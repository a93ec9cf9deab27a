import { count, counted, duration } from '../../base/units.js';
import type { PreparedUndo, UndoReport } from '../../push/undo.js';
import { companiesText, personText, previewTable } from './changes-text.js';
import { kindsText } from './import-summary.js';
import { list, pairs, sections } from './layout.js';
import { some } from './sync-summary.js';

/** What an undo would do, for the question whether to do it. */
export function undoPreview(prepared: PreparedUndo, isFull: boolean): string {
  return sections([['Undo: what would be queued', pairs(facts(prepared))], ...bodyOf(prepared, isFull)]);
}

/** What an undo did. Without the preview when that was printed before. */
export function undoSummary(report: UndoReport, isPreviewShown: boolean, isFull: boolean): string {
  const head = `Undo: ${outcomeText(report)}`;
  const next = report.outcome === 'queued' ? nextCommands(report) : [];
  if (isPreviewShown) return [head, sections(next)].join('\n\n').trim();
  return sections([[head, pairs(facts(report))], ...bodyOf(report, isFull), ...next]);
}

function outcomeText({ outcome, queued }: UndoReport): string {
  const texts = {
    queued: `${counted(queued.length, 'change')} queued`,
    nothing: 'nothing to queue',
    dry_run: 'dry run, nothing was queued',
    declined: 'nothing was queued',
  };
  return texts[outcome];
}

type Shown = Omit<UndoReport, 'outcome' | 'queued'>;

function facts({ preview, notUndone, requestedBy }: Shown): [string, string][] {
  const { changes, affected, requests, minutes } = preview;
  const undone = notUndone.filter(({ kind }) => kind === 'undone').length;
  const cost = `${counted(requests.total, 'request')} (${count(requests.writes)} to write, ${count(requests.reads)} to read), about ${duration(minutes * 60_000)} at the budget`;
  return [
    ['changes', count(changes)],
    ...(affected === null
      ? []
      : ([['companies', `${companiesText(affected)} affected`]] as [string, string][])),
    ...(undone > 0 ? ([['undone already', counted(undone, 'change')]] as [string, string][]) : []),
    ...(changes > 0 ? ([['push cost', cost]] as [string, string][]) : []),
    ['by', personText(requestedBy)],
  ];
}

function bodyOf({ changes, preview, notUndone, kept, notes }: Shown, isFull: boolean): [string, string][] {
  return [
    ['Changes', previewTable(changes, isFull)],
    ['Totals', kindsText(preview.kinds)],
    ['Not undone', notUndoneText(notUndone)],
    [
      'Undone only in part',
      list(some(kept.map(({ ids, field, reason }) => `${ids.join(', ')}: ${field} ${reason}`))),
    ],
    ['Notes', list(notes)],
  ];
}

/** Commands to copy: never wrapped. */
function nextCommands({ queued, importId }: UndoReport): [string, string][] {
  return [
    [queued.length === 1 ? 'Send it' : 'Send them', 'signalhouse push'],
    ['Redo it all after that', `signalhouse changes undo ${importId}`],
  ];
}

const order: Record<UndoReport['notUndone'][number]['kind'], number> = { blocked: 0, nothing: 1, undone: 2 };

/** What needs a look comes first. */
function notUndoneText(notUndone: UndoReport['notUndone']): string {
  const sorted = [...notUndone].sort((a, b) => order[a.kind] - order[b.kind]);
  return list(
    some(sorted.map(({ id, title, entityId, reason }) => `${title ?? entityId} (${id}): ${reason}`)),
  );
}
