import { cut, widthOf } from '../../base/display-width.js';
import { count, counted, moment, valueText } from '../../base/units.js';
import type { ListedChanges } from '../../commands/changes.js';
import type { Change } from '../../push/change.js';
import type { Decision } from '../../push/decide.js';
import type { ChangeAttempt, TitledChange } from '../../push/facts.js';
import type { Values } from '../../push/fields.js';
import type { PlannedChange } from '../../push/plan.js';
import { tableWidth } from '../output.js';
import {
  type Fact,
  list,
  pairs,
  paragraphs,
  printable,
  rowLines,
  type Section,
  sections,
  some,
  table,
  wide,
  wrap,
} from './layout.js';

/** Changes with what matters most about them, and how many more there are. */
export function changesTable({ total, changes }: ListedChanges): string {
  if (total === 0) return 'no changes';
  const width = tableWidth();
  const more = total - changes.length;
  return paragraphs([
    // A pipe gets a line for each change; in a terminal the id must stay whole, because the next command needs it.
    width === undefined ? linesOf(changes) : changes.map((change) => blockOf(change, width)).join('\n'),
    more > 0 ? `${count(more)} more (--limit)` : '',
    sections(decisionSections(changes)),
  ]);
}

function linesOf(changes: readonly TitledChange[]): string {
  return table(
    ['id', 'status', 'what', 'change', 'by', 'source', 'note'],
    changes.map((change) => [
      change.id,
      change.status,
      change.title ?? change.entityId,
      changed(change),
      change.requestedBy ?? '',
      placeOf(change),
      notesOf(change).join('; '),
    ]),
  );
}

function blockOf(change: TitledChange, width: number): string {
  const { id, status, title, entityId } = change;
  const lines = [title ?? entityId, changed(change), ...notesOf(change)];
  const head = `${id}  ${status}  ${placeOf(change)}, by ${personText(change.requestedBy)}`;
  return [head, ...lines.map((line) => `  ${line}`)].map((line) => cut(printable(line), width)).join('\n');
}

/** What the API had in a conflict, and what a change replaced. */
function notesOf(change: TitledChange): string[] {
  const { status, wanted, remoteBefore, undoneBy } = change;
  const found = status === 'conflict' ? Object.entries(remoteBefore ?? {}) : [];
  const others = found.filter(([name, value]) => name in wanted && (value ?? '') !== (wanted[name] ?? ''));
  return [
    ...others.map(([name, value]) => `${name} is ${valueText(value)} in the API`),
    isContested(change) ? change.error : null,
    undoneBy && `undone by ${undoneBy}`,
    ...change.replaced.map(replacedText),
  ].filter((text) => text !== null);
}

/** What a change replaced that nobody had seen. */
function replacedText({ field, value, name, at }: TitledChange['replaced'][number]): string {
  const when = at === null ? 'before that' : `on ${moment(at)}`;
  return `it replaced ${field} ${valueText(value)}, which ${name ?? 'somebody'} set ${when} and nobody had seen`;
}

export const decisionHeading = 'Conflicts: overwrite what the API has, or keep it';

type Decidable = Pick<TitledChange, 'id' | 'status' | 'errorCode'>;

/** The commands that decide what changes wait for, to be copied (never wrapped), each kind below what it does. */
export function decisionSections(changes: readonly Decidable[]): Section[] {
  return [
    [decisionHeading, overwriteCommands(changes)],
    [
      'Conflicts between people: send one of the changes',
      some(changes.filter(isContested).map(({ id }) => `signalhouse changes retry ${id}`)).join('\n'),
    ],
  ];
}

/** The commands that decide one conflict, or those that an argument selects. */
export function decisionCommands(id: string, isBetweenPeople = false): string {
  return [
    `signalhouse changes retry ${id}${isBetweenPeople ? '' : ' --overwrite'}`,
    `signalhouse changes cancel ${id}`,
  ].join('\n');
}

/** The commands for conflicts with what the API has: all at once where there are several. */
function overwriteCommands(changes: readonly Decidable[]): string | null {
  const [first, second] = changes.filter((change) => change.status === 'conflict' && !isContested(change));
  return first ? decisionCommands(second ? '--status conflict' : first.id) : null;
}

/** Whether people want different values, and have to decide between them. */
function isContested({ status, errorCode }: Pick<TitledChange, 'status' | 'errorCode'>): boolean {
  return status === 'conflict' && errorCode === 'contested';
}

/** The most changes that a preview shows unless all are asked for. */
const mostShown = 20;
/** A longer change is wrapped; `lifecycle_state: in_progress -> completed` takes 41. */
const widestChange = 44;
/** A change of a text that is longer than this is cut. */
const mostOfValue = 4 * widestChange;

/** Changes of a preview, each with its title and its values before and after. */
export function previewTable(changes: readonly PlannedChange[], isFull: boolean): string {
  if (changes.length === 0) return '';
  const shownChanges = isFull ? changes : changes.slice(0, mostShown);
  const linesOfChange = shownChanges.map((change) => [
    ...changedFields(change).flatMap((line) => wrap(cut(printable(line), mostOfValue), widestChange)),
  ]);
  const widest = Math.max(6, ...linesOfChange.flat().map((line) => Math.min(widthOf(line), widestChange)));
  const room = wide - widest - 2;
  const rows = shownChanges.flatMap(({ title, entityId }, index) => {
    const lines = linesOfChange[index] ?? [];
    const [first = '', second, ...rest] = wrap(printable(title ?? entityId), room);
    const titles = [first, ...(second === undefined ? [] : [[second, ...rest].join(' ')])];
    return rowLines([titles.map((line) => cut(line, room)), lines]);
  });
  const columns = [
    { name: shownChanges[0]?.entityType === 'company' ? 'company' : 'title', least: room },
    { name: 'change', least: Math.min(widest, widestChange) },
  ];
  const more = changes.length - shownChanges.length;
  const rest = more > 0 ? `\n\n${count(more)} more (--full shows all of them)` : '';
  return `${table(columns, rows, wide)}${rest}`;
}

export function personText(requestedBy: string | null): string {
  return requestedBy ?? 'not named';
}

export function changeText(change: TitledChange & { readonly attempted: readonly ChangeAttempt[] }): string {
  const { entityType, entityId, title } = change;
  const facts: Fact[] = [
    ['status', change.status],
    [entityType, title === null ? entityId : `${title} (${entityId})`],
    ['change', changed(change)],
    ['base', `${valuesText(change.base)} (${baseText(change)})`],
    ['before', change.remoteBefore && valuesText(change.remoteBefore)],
    ['after', change.remoteAfter && valuesText(change.remoteAfter)],
    ['error', change.error && `${change.error}${change.errorCode ? ` (${change.errorCode})` : ''}`],
    ['replaced', change.replaced.map(replacedText).join('; ') || null],
    ['overwrite', change.overwrite ? 'yes: it overwrites the base, which somebody else set' : null],
    ['by', `${personText(change.requestedBy)}, ${moment(change.queuedAt)}`],
    ['reason', change.requestedReason],
    ['source', placeOf(change)],
    ['settled', change.settledAt && moment(change.settledAt)],
    ['superseded by', change.supersededBy],
    ['undoes', change.undoes.join(', ') || null],
    ['undone by', change.undoneBy],
    ['key', change.idempotencyKey],
    ['sent', change.sentAt && `${moment(change.sentAt)} (${counted(change.attempts, 'request')})`],
    ['body', change.body],
  ];
  return sections([
    [`Change ${change.id}`, pairs(facts)],
    ['Requests', attemptsText(change.attempted)],
    ...decisionSections([change]),
  ]);
}

export function decisionsText(decisions: readonly Decision[], done: string): string {
  if (decisions.length === 0) return 'no matching changes';
  const refused = decisions.filter((one) => !one.done);
  const over = decisions.flatMap(({ id, over: others = [] }) =>
    others.length > 0 ? [`${id}: ${others.join(', ')} stays in conflict`] : [],
  );
  const reasons = refused.map(({ id, reason }) => `${id}: ${reason ?? 'not possible'}`);
  return paragraphs([
    `${counted(decisions.length - refused.length, 'change')} ${done}`,
    list(over),
    refused.length === 0 ? '' : `${counted(refused.length, 'change')} not ${done}\n${list(reasons)}`,
  ]);
}

/** What a change does: each field with its value before and after. */
function changed(change: Pick<Change, 'wanted' | 'base'>): string {
  return changedFields(change).join(', ');
}

function changedFields({ wanted, base }: Pick<Change, 'wanted' | 'base'>): string[] {
  return Object.entries(wanted).map(
    ([name, value]) => `${name}: ${valueText(base[name])} -> ${valueText(value)}`,
  );
}

function valuesText(values: Values): string {
  const texts = Object.entries(values).map(([name, value]) => `${name}: ${valueText(value)}`);
  return texts.join(', ') || 'nothing';
}

function baseText({ baseFrom, baseAt, overwrite, undoes }: Change): string {
  if (overwrite) return 'as found by a push';
  if (undoes.length > 0) return 'what the change set that it undoes';
  const from = baseFrom === 'file' ? 'from the sheet' : 'from the warehouse';
  return baseAt === null ? from : `${from}, ${moment(baseAt)}`;
}

/** Where a change comes from. */
export function placeOf({ source, sourceRow }: Pick<Change, 'source' | 'sourceRow'>): string {
  return sourceRow === null ? source : `${source} row ${sourceRow}`;
}

function attemptsText(attempts: readonly ChangeAttempt[]): string {
  if (attempts.length === 0) return '';
  const rows = attempts.map(({ at, attempt, method, path, status, ms, error_code, request_id }) => {
    return [moment(at), attempt, `${method} ${path}`, status, ms, error_code ?? '', request_id ?? ''];
  });
  return table(['at', 'try', 'request', 'status', 'ms', 'error', 'request id'], rows, tableWidth());
}
