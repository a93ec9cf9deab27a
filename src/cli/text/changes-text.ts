import { count, counted, moment } from '../../base/units.js';
import type { Change } from '../../push/change.js';
import type { Value, Values } from '../../push/fields.js';
import type { Decision } from '../../push/queue/decide.js';
import type { ChangeAttempt, TitledChange } from '../../push/queue/view.js';
import { tableWidth } from '../output.js';
import { list, pairs, sections, table } from './layout.js';

/** Changes as a table, and how many more there are. */
export function changesTable({
  total,
  changes,
}: {
  readonly total: number;
  readonly changes: readonly TitledChange[];
}): string {
  if (total === 0) return 'no changes';
  const names = ['id', 'status', 'what', 'change', 'by', 'source'].map((name) => ({ name }));
  const rows = changes.map((change) => [
    change.id,
    change.status,
    change.title ?? change.entityId,
    changed(change),
    change.requestedBy,
    placeOf(change),
  ]);
  const more = total - changes.length;
  const text = table(names, rows, tableWidth());
  return more > 0 ? `${text}\n\n${count(more)} more (--limit)` : text;
}

/** Everything about one change. */
export function changeText(change: TitledChange & { readonly attempted: readonly ChangeAttempt[] }): string {
  const { entityType, entityId, title } = change;
  const facts: [string, string | null][] = [
    ['status', change.status],
    [entityType, title === null ? entityId : `${title} (${entityId})`],
    ['change', changed(change)],
    ['base', `${valuesText(change.base)} (${baseText(change)})`],
    ['before', change.remoteBefore && valuesText(change.remoteBefore)],
    ['after', change.remoteAfter && valuesText(change.remoteAfter)],
    ['error', change.error && `${change.error}${change.errorCode ? ` (${change.errorCode})` : ''}`],
    ['overwrite', change.overwrite ? 'yes: it overwrites what somebody else changed' : null],
    ['by', `${change.requestedBy}, ${at(change.queuedAt)}`],
    ['source', placeOf(change)],
    ['settled', change.settledAt && at(change.settledAt)],
    ['superseded by', change.supersededBy],
    ['key', change.idempotencyKey],
    ['sent', change.sentAt && `${at(change.sentAt)} (${counted(change.attempts, 'request')})`],
    ['body', change.body],
  ];
  return sections([
    [`Change ${change.id}`, pairs(facts.flatMap(([name, text]) => (text === null ? [] : [[name, text]])))],
    ['Requests', attemptsText(change.attempted)],
  ]);
}

/** The outcome of cancelling or retrying changes. */
export function decisionsText(decisions: readonly Decision[], done: string): string {
  if (decisions.length === 0) return 'no matching changes';
  const refused = decisions.filter((one) => !one.done);
  const lines = refused.map(({ id, reason }) => `${id}: ${reason ?? 'not possible'}`);
  const text = `${counted(decisions.length - refused.length, 'change')} ${done}`;
  return refused.length === 0
    ? text
    : `${text}\n\n${counted(refused.length, 'change')} not ${done}\n${list(lines)}`;
}

/** A value for people. */
function valueText(value: Value | undefined): string {
  if (value === undefined) return '(not known)';
  if (value === null || value === '') return '(none)';
  return typeof value === 'boolean' ? String(value).toUpperCase() : value;
}

function changed({ wanted, base }: Change): string {
  return Object.entries(wanted)
    .map(([name, value]) => `${name}: ${valueText(base[name])} -> ${valueText(value)}`)
    .join(', ');
}

function valuesText(values: Values): string {
  return (
    Object.entries(values)
      .map(([name, value]) => `${name}: ${valueText(value)}`)
      .join(', ') || 'nothing'
  );
}

function baseText({ baseFrom, baseAt, overwrite }: Change): string {
  if (overwrite) return 'as found by a push';
  const from = baseFrom === 'file' ? 'from the sheet' : 'from the warehouse';
  return baseAt === null ? from : `${from}, ${at(baseAt)}`;
}

function placeOf({ source, sourceRow }: Change): string {
  return sourceRow === null ? source : `${source} row ${sourceRow}`;
}

function at(iso: string): string {
  return moment(new Date(iso));
}

function attemptsText(attempts: readonly ChangeAttempt[]): string {
  if (attempts.length === 0) return '';
  return table(
    ['at', 'try', 'request', 'status', 'ms', 'error', 'request id'].map((name) => ({ name })),
    attempts.map((one) => [
      at(one.at),
      count(one.attempt),
      `${one.method} ${one.path}`,
      one.status === null ? '-' : String(one.status),
      one.ms === null ? '-' : count(one.ms),
      one.error_code ?? '',
      one.request_id ?? '',
    ]),
    tableWidth(),
  );
}
