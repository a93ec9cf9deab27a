import { ago, count, counted, duration } from '../../base/units.js';
import type { PreparedImport } from '../../push/import/import.js';
import type { ChangeKind, ImportProblem, ImportReport } from '../../push/import/preview.js';
import { companiesText, decisionCommands, followHeading, previewTable } from './changes-text.js';
import { indent, list, pairs, sections, table } from './layout.js';
import { most, some, wide } from './sync-summary.js';

/** What an import would do, for the question whether to do it. `followCommand` is the import that follows merges. */
export function previewText(prepared: PreparedImport, isFull: boolean, followCommand: string): string {
  return sections([
    [`${prepared.source}: what would be queued`, pairs(facts(prepared))],
    ...bodyOf(prepared, isFull, followCommand),
  ]);
}

/** What an import did. Without the preview when that was printed before. */
export function importSummary(
  report: ImportReport,
  isPreviewShown: boolean,
  isFull: boolean,
  followCommand: string,
): string {
  const head = `${report.source}: ${outcomeText(report)}`;
  if (isPreviewShown) return head;
  return sections([
    [head, pairs(facts(report))],
    ...bodyOf(report, isFull, followCommand),
    ['What next', list(nextSteps(report))],
  ]);
}

type Shown = Pick<
  ImportReport,
  'source' | 'preview' | 'changes' | 'problems' | 'rows' | 'notes' | 'refusal' | 'requestedBy'
> &
  Partial<Pick<ImportReport, 'conflicts'>>;

function bodyOf(shown: Shown, isFull: boolean, followCommand: string): [string, string][] {
  return [
    ['Changes', previewTable(shown.changes, isFull)],
    ['Totals', kindsText(shown.preview.kinds)],
    ['In conflict', conflictsText(shown)],
    ['The file is refused', shown.refusal === null ? '' : list([`${shown.refusal}.`])],
    ['Wrong rows', list(some(shown.problems.map(problemText)))],
    [followHeading, shown.problems.some(({ mergedInto }) => mergedInto) ? followCommand : ''],
    ['Notes', list(shown.notes)],
  ];
}

function outcomeText({ outcome, queued }: ImportReport): string {
  const texts = {
    queued: `${counted(queued.length, 'change')} queued`,
    nothing_new: 'nothing new to queue',
    refused: 'nothing was queued because rows are wrong',
    dry_run: 'dry run, nothing was queued',
    declined: 'nothing was queued',
  };
  return texts[outcome];
}

function facts({ preview, requestedBy }: Shown): [string, string][] {
  const { rows, changes, requests, minutes, superseded, affected } = preview;
  const counts: [string, number, string][] = [
    ['unchanged', rows.unchanged, 'already up to date'],
    ['duplicates', rows.duplicate, 'an open change wants the same'],
    ['imported before', rows.imported_before, 'from the same file'],
    ['in conflict', rows.conflict, 'see below'],
    ['wrong', rows.invalid, 'see below'],
  ];
  return [
    ['changes', count(changes)],
    ...(affected === null || changes === 0
      ? []
      : ([['companies', `${companiesText(affected)} affected`]] as [string, string][])),
    ...counts.flatMap(([name, number, why]): [string, string][] =>
      number === 0 ? [] : [[name, `${counted(number, 'row')} (${why})`]],
    ),
    ...(superseded > 0
      ? ([['replaces', `${counted(superseded, 'earlier change')} in the queue`]] as [string, string][])
      : []),
    ...(changes > 0 ? [costOf(requests, minutes), baseOf(preview)] : []),
    ['by', requestedBy ?? 'not named: pass --by NAME'],
  ];
}

function costOf(
  { writes, reads, total }: ImportReport['preview']['requests'],
  minutes: number,
): [string, string] {
  const parts = `${count(writes)} to write, ${count(reads)} to read`;
  return [
    'push cost',
    `${counted(total, 'request')} (${parts}), about ${duration(minutes * 60_000)} at the budget`,
  ];
}

/** The values that show whether somebody else has changed something in between. */
function baseOf({ base }: ImportReport['preview']): [string, string] {
  const { file, warehouse, oldest } = base;
  const age = oldest === null ? '' : `, up to ${ago(new Date(oldest), Date.now()).replace(/ ago$/, '')} old`;
  const parts = [
    ...(file > 0 ? [`the base columns of the file (${count(file)})`] : []),
    ...(warehouse > 0 ? [`the current warehouse${age} (${count(warehouse)})`] : []),
  ];
  return ['compared with', parts.join(' and ')];
}

/** How often each value becomes another. */
export function kindsText(kinds: readonly ChangeKind[]): string {
  if (kinds.length === 0) return '';
  return table(
    [{ name: 'column' }, { name: 'from' }, { name: 'to' }, { name: 'changes', right: true }],
    kinds.map(({ field, from, to, count: number }) => [
      field,
      from ?? '(text)',
      to ?? '(text)',
      count(number),
    ]),
    wide,
  );
}

/** Rows that met an earlier conflict, each with the commands that decide it. */
function conflictsText({ rows, conflicts = [] }: Shown): string {
  const those = rows.filter(({ outcome }) => outcome === 'conflict');
  return those
    .slice(0, most)
    .map(({ row, text, changeId }) => {
      const commands =
        changeId === null ? '' : `\n${indent(decisionCommands(changeId, conflicts.includes(changeId)))}`;
      return `${list([`row ${row}: ${text ?? 'conflict'}`])}${commands}`;
    })
    .concat(
      those.length > most ? [list([`and ${count(those.length - most)} more (--json has them all)`])] : [],
    )
    .join('\n');
}

function problemText({ row, column, value, problem, allowed }: ImportProblem): string {
  const what = value === null ? '' : ` "${value}"`;
  const choices = allowed ? ` (allowed: ${allowed.join(', ')})` : '';
  return `row ${row}, ${column ?? 'the row'}${what} ${problem}${choices}`;
}

function nextSteps({ outcome, queued, problems, preview, refusal }: ImportReport): string[] {
  return [
    ...(outcome === 'queued' ? [`Run signalhouse push to send ${queued.length === 1 ? 'it' : 'them'}.`] : []),
    ...(problems.length > 0 && outcome === 'refused' && refusal === null && preview.changes > 0
      ? ['Fix the rows and import the file again, or queue the valid rows with --skip-invalid.']
      : []),
  ];
}
