import { ago, count, counted, duration } from '../base/units.js';
import type { Plan, PlanReport } from '../push/plan.js';
import { decisionCommands, fieldChanges, personText } from './changes.js';
import type { Fact, Section, View } from './view.js';

export type { Plan } from '../push/plan.js';

/** What a sheet, a draft or an undo would do, or what it did. */

type Shown = Plan | PlanReport;

/** The most changes and notes that a terminal shows unless all are asked for: there may be one for each row. */
const maxChanges = 20;
const maxNotes = 30;

/** As the command line shows it, with the commands that follow. */
export function planView(shown: Shown, isFull: boolean): View {
  const [changes, conflicts, ...others] = previewSections(shown, isFull);
  return [
    { id: 'plan', heading: headText(shown), blocks: [{ facts: planFacts(shown) }] },
    changes,
    conflicts,
    { id: 'decide', heading: 'Decide them', blocks: [{ commands: conflictCommands(shown) }] },
    ...others,
    ...nextSteps(shown),
  ];
}

/** What a preview shows on a page and in a terminal. */
export function previewSections(plan: Plan, isFull = true): [Section, Section, Section, Section] {
  const { notes } = plan;
  const sent = sentOf(plan);
  const lines = (isFull ? sent : sent.slice(0, maxChanges)).map((change) => {
    return { what: change.title ?? change.entityId, fields: fieldChanges(change) };
  });
  const more = sent.length - lines.length;
  return [
    {
      id: 'changes',
      heading: 'What would change',
      blocks: [
        { changes: lines },
        { sentence: more > 0 ? `${count(more)} more (--full shows all of them)` : null },
      ],
    },
    { id: 'conflicts', heading: 'Conflicts', blocks: [{ list: conflictsOf(plan) }] },
    leftOutSection(plan),
    {
      id: 'notes',
      heading: 'Notes',
      blocks: [{ list: isFull ? notes : notes.slice(0, maxNotes) }],
    },
  ];
}

/** The changes that confirming it queues to be sent. */
function sentOf({ changes }: Plan): Plan['changes'] {
  return changes.filter(({ conflict }) => conflict === null);
}

function conflictsOf({ changes, rows }: Plan): string[] {
  return [
    ...changes.flatMap(({ conflict, title, entityId }) =>
      conflict === null ? [] : [`${title ?? entityId}: ${conflict}`],
    ),
    ...rows.flatMap(({ row, outcome, text, changeId }) =>
      outcome === 'conflict' && changeId !== null ? [`Row ${row}: ${text ?? 'conflict'}`] : [],
    ),
  ];
}

/** How many changes and conflicts a preview shows. */
export function previewCount(plan: Plan): number {
  return sentOf(plan).length + conflictsOf(plan).length;
}

/** How many rows, or changes that cannot be undone, a preview leaves out. */
export function leftOutCount({ kind, leftOut, preview }: Plan): number {
  return kind === 'undo' ? leftOut.length : preview.rows.invalid;
}

/** What is not queued and why, with what to do about it. */
export function leftOutSection({ kind, leftOut }: Pick<Plan, 'kind' | 'leftOut'>): Section {
  return {
    id: 'left-out',
    heading: kind === 'undo' ? 'What stays as it is' : 'Rows that are left out',
    blocks: [{ list: leftOut.map((one) => `${one.what}: ${one.why}`) }],
  };
}

/** Rows that change nothing, by the reason. */
export function quietRows({ preview }: Plan): Fact[] {
  const { unchanged, duplicate, imported_before: importedBefore } = preview.rows;
  const rows = (number: number, why: string) => (number === 0 ? null : `${counted(number, 'row')} (${why})`);
  return [
    ['unchanged', rows(unchanged, 'already up to date')],
    ['duplicates', rows(duplicate, 'an open change wants the same')],
    ['imported before', rows(importedBefore, 'from the same file')],
  ];
}

/** How a plan ended, with its name. */
export function headText(shown: Shown): string {
  return `${shown.kind === 'undo' ? 'Undo' : shown.source}: ${outcomeText(shown)}`;
}

/** What the outcome says more than the preview that was shown before. */
export function leftView(report: PlanReport): View {
  const isLess = report.queued.length < report.changes.length && report.outcome !== 'declined';
  return [...(isLess ? [leftOutSection(report)] : []), ...nextSteps(report)];
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

function planFacts(shown: Shown): Fact[] {
  const { rows, changes, requests, minutes } = shown.preview;
  const below = (number: number) => (number === 0 ? null : `${counted(number, 'row')} (see below)`);
  return [
    ['changes', changes],
    ...quietRows(shown),
    ['in conflict', below(rows.conflict)],
    ['wrong', below(rows.invalid)],
    [
      'to send',
      changes > 0 ? `up to ${counted(requests, 'request')}, about ${duration(minutes * 60_000)}` : null,
    ],
    ['compared with', changes > 0 ? baseText(shown.preview) : null],
    ['by', personText(shown.requestedBy)],
  ];
}

/** The values that show whether another person has changed something in between. */
function baseText({ base }: Plan['preview']): string {
  const { file, warehouse, oldest } = base;
  const age = oldest === null ? '' : `, up to ${ago(oldest, Date.now()).replace(/ ago$/, '')} old`;
  const parts = [
    ...(file > 0 ? [`the values from when the sheet was written (${count(file)})`] : []),
    ...(warehouse > 0 ? [`the current values${age} (${count(warehouse)})`] : []),
  ];
  return parts.join(' and ');
}

/** The commands that decide earlier changes with which rows are in conflict. */
function conflictCommands(shown: Shown): string[] {
  const contested = 'conflicts' in shown ? shown.conflicts : [];
  const ids = shown.rows.flatMap(({ outcome, changeId }) =>
    outcome === 'conflict' && changeId !== null ? [changeId] : [],
  );
  return [...new Set(ids)].flatMap((id) => decisionCommands(id, contested.includes(id)));
}

function nextSteps(shown: Shown): Section[] {
  if (!('outcome' in shown)) return [];
  const { outcome, queued, preview, kind, importId } = shown;
  const step = (id: string, heading: string, command: string): Section => {
    return { id, heading, blocks: [{ commands: [command] }] };
  };
  if (outcome === 'refused' && preview.rows.not_queued > 0)
    return [step('valid', 'Queue the valid rows', 'signalhouse changes import FILE --skip-invalid')];
  if (outcome !== 'queued') return [];
  return [
    step('send', queued.length === 1 ? 'Send it' : 'Send them', 'signalhouse push'),
    ...(kind === 'undo'
      ? [step('redo', 'Redo it all after that', `signalhouse changes undo ${importId}`)]
      : []),
  ];
}
