import { ago, count, counted, duration } from '../../base/units.js';
import type { Plan, PlanReport } from '../../push/plan.js';
import { decisionCommands, personText, previewTable } from './changes.js';
import { type Fact, indent, list, most, pairs, paragraphs, type Section, sections, some } from './layout.js';

type Shown = Plan | PlanReport;

/** The most notes that a preview shows unless all are asked for: there may be one for each row. */
const maxNotes = 30;

/** What a sheet or an undo would do, or what it did. */
export function planText(shown: Shown, isFull: boolean): string {
  const { changes, notes } = shown;
  const sent = changes.filter(({ conflict }) => conflict === null);
  return sections([
    [headText(shown), pairs(facts(shown))],
    ['Changes', previewTable(sent, isFull)],
    ['In conflict', conflictsText(shown)],
    leftOutSection(shown),
    ['Notes', list(isFull ? notes : some(notes, maxNotes))],
    ...nextSteps(shown),
  ]);
}

export function headText(shown: Shown): string {
  return `${shown.kind === 'undo' ? 'Undo' : shown.source}: ${outcomeText(shown)}`;
}

/** What the outcome says more than the preview that was printed before. */
export function leftText(report: PlanReport): string {
  const isLess = report.queued.length < report.changes.length && report.outcome !== 'declined';
  const more = sections([...(isLess ? [leftOutSection(report)] : []), ...nextSteps(report)]);
  return more === '' ? '' : paragraphs(['', more]);
}

function outcomeText(shown: Shown): string {
  if (!('outcome' in shown)) return 'what would be queued';
  const texts = {
    queued: `${counted(shown.queued.length, 'change')} queued`,
    nothing: 'nothing new to queue',
    refused: 'nothing was queued because rows are wrong',
    dry_run: 'dry run, nothing was queued',
    declined: 'nothing was queued',
  };
  return texts[shown.outcome];
}

function facts({ preview, requestedBy }: Shown): Fact[] {
  const { rows, changes, requests, minutes } = preview;
  const rowsText = (number: number, why: string) =>
    number === 0 ? null : `${counted(number, 'row')} (${why})`;
  return [
    ['changes', changes],
    ['unchanged', rowsText(rows.unchanged, 'already up to date')],
    ['duplicates', rowsText(rows.duplicate, 'an open change wants the same')],
    ['imported before', rowsText(rows.imported_before, 'from the same file')],
    ['in conflict', rowsText(rows.conflict, 'see below')],
    ['wrong', rowsText(rows.invalid, 'see below')],
    [
      'to send',
      changes > 0 ? `up to ${counted(requests, 'request')}, about ${duration(minutes * 60_000)}` : null,
    ],
    ['compared with', changes > 0 ? baseText(preview) : null],
    ['by', personText(requestedBy)],
  ];
}

/** The values that show whether somebody else has changed something in between. */
function baseText({ base }: Plan['preview']): string {
  const { file, warehouse, oldest } = base;
  const age = oldest === null ? '' : `, up to ${ago(oldest, Date.now()).replace(/ ago$/, '')} old`;
  const parts = [
    ...(file > 0 ? [`the values from when the sheet was written (${count(file)})`] : []),
    ...(warehouse > 0 ? [`the current values${age} (${count(warehouse)})`] : []),
  ];
  return parts.join(' and ');
}

/** What is in conflict, each with the commands that decide it. */
function conflictsText(shown: Shown): string {
  const { rows, changes, kind } = shown;
  const contested = 'conflicts' in shown ? shown.conflicts : [];
  const ofRows = rows.flatMap(({ row, outcome, text, changeId }) =>
    outcome === 'conflict' ? [{ what: `Row ${row}`, why: text, changeId }] : [],
  );
  const ofUndo = changes.flatMap(({ conflict: why, title, entityId }) =>
    why !== null && kind === 'undo' ? [{ what: title ?? entityId, why, changeId: null }] : [],
  );
  const texts = [...ofRows, ...ofUndo].map(({ what, why, changeId }) => {
    const commands =
      changeId === null ? '' : `\n${indent(decisionCommands(changeId, contested.includes(changeId)))}`;
    return `${list([`${what}: ${why ?? 'conflict'}`])}${commands}`;
  });
  const [more] = some(texts).slice(most);
  return [...texts.slice(0, most), ...(more === undefined ? [] : [list([more])])].join('\n');
}

function leftOutSection({ kind, leftOut }: Shown): Section {
  return [
    kind === 'undo' ? 'Not undone' : 'Wrong rows',
    list(some(leftOut.map(({ what, why }) => `${what}: ${why}`))),
  ];
}

/** Commands to copy: never wrapped. */
function nextSteps(shown: Shown): Section[] {
  if (!('outcome' in shown)) return [];
  const { outcome, queued, preview, kind, importId } = shown;
  if (outcome === 'refused' && preview.rows.not_queued > 0)
    return [['Queue the valid rows', 'signalhouse changes import FILE --skip-invalid']];
  if (outcome !== 'queued') return [];
  return [
    [queued.length === 1 ? 'Send it' : 'Send them', 'signalhouse push'],
    ...(kind === 'undo' ? [['Redo it all after that', `signalhouse changes undo ${importId}`] as const] : []),
  ];
}
