import { ago, count, counted, duration, firstOf } from '../../base/units.js';
import type { PreparedImport } from '../../push/import/import.js';
import type { ChangeKind, ImportReport, Preview, ProblemGroup } from '../../push/import/preview.js';
import type { PreparedUndo, UndoReport } from '../../push/undo.js';
import { companiesText, decisionCommands, personText, previewTable } from './changes.js';
import {
  type Fact,
  indent,
  list,
  most,
  pairs,
  paragraphs,
  type Section,
  sections,
  some,
  table,
  wide,
} from './layout.js';

type ShownImport = PreparedImport | ImportReport;
type ShownUndo = PreparedUndo | UndoReport;

/** What an import would do, or what it did. */
export function importText(shown: ShownImport, isFull: boolean): string {
  return sections([
    [importHead(shown), pairs(importFacts(shown))],
    ['Changes', previewTable(shown.changes, isFull)],
    ['Totals', kindsText(shown.preview.kinds)],
    ['In conflict', conflictsText(shown)],
    ['The file is refused', shown.refusal && list([`${shown.refusal}.`])],
    ['Wrong rows', list(some(shown.problemGroups.map(problemText)))],
    ['Notes', list(isFull ? shown.notes : some(shown.notes, mostNotes))],
    ['What next', 'outcome' in shown ? list(nextSteps(shown)) : null],
  ]);
}

export function importHead(shown: ShownImport): string {
  return `${shown.source}: ${outcomeText(shown)}`;
}

/** The most notes that a preview shows unless all are asked for: there may be one for each row. */
const mostNotes = 30;

/** What an undo would do, or what it did. */
export function undoText(shown: ShownUndo, isFull: boolean): string {
  const { changes, preview, notUndone, kept } = shown;
  // What needs a look comes first.
  const sorted = [...notUndone].sort((a, b) => order[a.kind] - order[b.kind]);
  const lines = sorted.map(({ id, title, entityId, reason }) => `${title ?? entityId} (${id}): ${reason}`);
  const parts = kept.map(({ ids, field, reason }) => `${ids.join(', ')}: ${field} ${reason}`);
  return sections([
    [undoHead(shown), pairs(undoFacts(shown))],
    ['Changes', previewTable(changes, isFull)],
    ['Totals', kindsText(preview.kinds)],
    ['Not undone', list(some(lines))],
    ['Undone only in part', list(some(parts))],
    ...undoSteps(shown),
  ]);
}

const order = { blocked: 0, nothing: 1, undone: 2 } as const;

/** What an undo did, where the preview was printed before. */
export function undoOutcome(report: UndoReport): string {
  return paragraphs([undoHead(report), sections(undoSteps(report))]);
}

function undoHead(shown: ShownUndo): string {
  return `Undo: ${outcomeText(shown)}`;
}

/** Commands to copy: never wrapped. */
function undoSteps(shown: ShownUndo): Section[] {
  if (!('outcome' in shown) || shown.outcome !== 'queued') return [];
  return [
    [shown.queued.length === 1 ? 'Send it' : 'Send them', 'signalhouse push'],
    ['Redo it all after that', `signalhouse changes undo ${shown.importId}`],
  ];
}

function outcomeText(shown: ShownImport | ShownUndo): string {
  if (!('outcome' in shown)) return 'what would be queued';
  const texts = {
    queued: `${counted(shown.queued.length, 'change')} queued`,
    nothing_new: 'nothing new to queue',
    nothing: 'nothing to queue',
    refused: 'nothing was queued because rows are wrong',
    dry_run: 'dry run, nothing was queued',
    declined: 'nothing was queued',
  };
  return texts[shown.outcome];
}

function importFacts({ preview, requestedBy }: ShownImport): Fact[] {
  const { rows, changes, superseded, affected } = preview;
  const rowsText = (number: number, why: string) =>
    number === 0 ? null : `${counted(number, 'row')} (${why})`;
  return [
    ['changes', changes],
    ['companies', changes === 0 ? null : affectedText(affected)],
    ['unchanged', rowsText(rows.unchanged, 'already up to date')],
    ['duplicates', rowsText(rows.duplicate, 'an open change wants the same')],
    ['imported before', rowsText(rows.imported_before, 'from the same file')],
    ['in conflict', rowsText(rows.conflict, 'see below')],
    ['wrong', rowsText(rows.invalid, 'see below')],
    ['replaces', superseded > 0 ? `${counted(superseded, 'earlier change')} in the queue` : null],
    ['to send', changes > 0 ? sendingText(preview) : null],
    ['compared with', changes > 0 ? baseText(preview) : null],
    ['by', requestedBy ?? 'not named: pass --by NAME'],
  ];
}

function undoFacts({ preview, notUndone, requestedBy }: ShownUndo): Fact[] {
  const { changes, affected } = preview;
  const undone = notUndone.filter(({ kind }) => kind === 'undone').length;
  return [
    ['changes', changes],
    ['companies', affectedText(affected)],
    ['undone already', undone > 0 ? counted(undone, 'change') : null],
    ['to send', changes > 0 ? sendingText(preview) : null],
    ['by', personText(requestedBy)],
  ];
}

function affectedText(affected: Preview['affected']): string | null {
  return affected && `${companiesText(affected)} affected`;
}

function sendingText({ requests, minutes }: Pick<Preview, 'requests' | 'minutes'>): string {
  const parts = `${count(requests.writes)} to write, ${count(requests.reads)} to read`;
  return `${counted(requests.total, 'request')} (${parts}), about ${duration(minutes * 60_000)}`;
}

/** The values that show whether somebody else has changed something in between. */
function baseText({ base }: Preview): string {
  const { file, warehouse, oldest } = base;
  const age = oldest === null ? '' : `, up to ${ago(oldest, Date.now()).replace(/ ago$/, '')} old`;
  const parts = [
    ...(file > 0 ? [`the values from when the sheet was written (${count(file)})`] : []),
    ...(warehouse > 0 ? [`the current values${age} (${count(warehouse)})`] : []),
  ];
  return parts.join(' and ');
}

function kindsText(kinds: readonly ChangeKind[]): string {
  if (kinds.length === 0) return '';
  return table(
    ['column', 'from', 'to', 'changes#'],
    kinds.map(({ field, from, to, count: number }) => [field, from ?? '(text)', to ?? '(text)', number]),
    wide,
  );
}

/** Rows that met an earlier conflict, each with the commands that decide it. */
function conflictsText(shown: ShownImport): string {
  const conflicts = 'conflicts' in shown ? shown.conflicts : [];
  const texts = shown.rows
    .filter(({ outcome }) => outcome === 'conflict')
    .map(({ row, text, changeId }) => {
      const commands =
        changeId === null ? '' : `\n${indent(decisionCommands(changeId, conflicts.includes(changeId)))}`;
      return `${list([`row ${row}: ${text ?? 'conflict'}`])}${commands}`;
    });
  const [more] = some(texts).slice(most);
  return [...texts.slice(0, most), ...(more === undefined ? [] : [list([more])])].join('\n');
}

function problemText({ rows, column, value, problem, allowed }: ProblemGroup): string {
  const what = value === null ? '' : ` "${value}"`;
  const choices = allowed ? ` (allowed: ${allowed.join(', ')})` : '';
  const where = `${rows.length === 1 ? 'row' : 'rows'} ${firstOf(rows, 10)}`;
  return `${where}, ${column ?? 'the row'}${what} ${problem}${choices}`;
}

function nextSteps({ outcome, queued, problems, preview, refusal }: ImportReport): string[] {
  return [
    ...(outcome === 'queued' ? [`Run signalhouse push to send ${queued.length === 1 ? 'it' : 'them'}.`] : []),
    ...(problems.length > 0 && outcome === 'refused' && refusal === null && preview.changes > 0
      ? ['Fix the rows and import the file again, or queue the valid rows with --skip-invalid.']
      : []),
  ];
}
