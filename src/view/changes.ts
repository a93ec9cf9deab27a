import { counted, moment, valueText } from '../base/units.js';
import type { Change } from '../push/change.js';
import type { Decision } from '../push/decide.js';
import type { ChangeAttempt, TitledChange } from '../push/facts.js';
import type { Value, Values } from '../push/fields.js';
import type { Tone } from './html.js';
import {
  type Badge,
  clockOf,
  type Fact,
  type FieldChange,
  type Section,
  type View,
  type Words,
} from './view.js';

/** Our changes: the queue, one change, and the decisions for a person. */

const statusTones: Readonly<Record<string, Tone>> = {
  queued: 'busy',
  sending: 'busy',
  applied: 'good',
  unchanged: 'good',
  conflict: 'warn',
  failed: 'bad',
};

/** Also of a status that is shown only: `undone`. */
export function toneOf(status: string): Tone {
  return statusTones[status] ?? 'quiet';
}

export function statusBadge(status: string): Badge {
  return { badge: status, tone: toneOf(status) };
}

/** The newest changes, and how many more there are. */
export function changesView(listed: {
  readonly total: number;
  readonly changes: readonly TitledChange[];
}): View {
  const { total, changes } = listed;
  const lines = changes.map((change) => {
    const { id, status, title, entityId, requestedBy } = change;
    const notes = [`${placeOf(change)}, by ${personText(requestedBy)}`, ...notesOf(change)];
    return {
      what: title ?? entityId,
      fields: fieldChanges(change),
      state: [statusBadge(status), `; ${notes.join('; ')}. Id: ${id}`],
    };
  });
  const more = total - changes.length;
  return [
    {
      id: 'changes',
      heading: total === 0 ? 'No changes' : counted(total, 'change'),
      blocks: [
        { changes: lines },
        { sentence: more > 0 ? `${counted(more, 'older change')} (--limit)` : null },
      ],
    },
    ...decisions(changes),
  ];
}

/** The API's value in a conflict, and the values that a change replaced. */
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

/** A value that a change replaced, and that its author never saw. */
export function replacedText({ field, value, name, at }: TitledChange['replaced'][number]): string {
  const when = at === null ? '' : ` on ${moment(at)}`;
  return `it replaced ${field} ${valueText(value)}, which ${name ?? 'another person'} set${when}, after it was read`;
}

export const decisionHeading = 'Conflicts: overwrite what the API has, or keep it';

type Decidable = Pick<TitledChange, 'id' | 'status' | 'errorCode'>;

/** The commands that decide what changes wait for, to be copied, each kind below what it does. */
export function decisions(changes: readonly Decidable[]): Section[] {
  const [first, second] = changes.filter((change) => change.status === 'conflict' && !isContested(change));
  const contested = changes.filter(isContested);
  return [
    ...(first ? [decisionSection(second ? '--status conflict' : first.id)] : []),
    {
      id: 'contested',
      heading: 'Conflicts between people: send one of the changes',
      blocks: [{ commands: contested.map(({ id }) => `signalhouse changes retry ${id}`) }],
    },
  ];
}

/** The commands that decide the conflicts that an argument selects. */
function decisionSection(selection: string): Section {
  return { id: 'decide', heading: decisionHeading, blocks: [{ commands: decisionCommands(selection) }] };
}

export function decisionCommands(selection: string, isBetweenPeople = false): string[] {
  return [
    `signalhouse changes retry ${selection}${isBetweenPeople ? '' : ' --overwrite'}`,
    `signalhouse changes cancel ${selection}`,
  ];
}

/** Whether people want different values, and have to decide between them. */
function isContested({ status, errorCode }: Pick<TitledChange, 'status' | 'errorCode'>): boolean {
  return status === 'conflict' && errorCode === 'contested';
}

export function personText(requestedBy: string | null): string {
  return requestedBy ?? 'not named';
}

export function changeView(change: TitledChange & { readonly attempted: readonly ChangeAttempt[] }): View {
  const { entityType, entityId, title, error, errorCode, attempted } = change;
  const at = (text: string, moment: string | null): Words =>
    moment === null ? text : [text, clockOf(moment)];
  const facts: Fact[] = [
    ['status', statusBadge(change.status)],
    [entityType, title === null ? entityId : `${title} (${entityId})`],
    [
      'change',
      fieldChanges(change)
        .map(({ name, from, to }) => `${name}: ${from} -> ${to}`)
        .join(', '),
    ],
    ['base', [valuesText(change.base), ' (', at(baseText(change), baseAtOf(change)), ')']],
    ['before', change.remoteBefore && valuesText(change.remoteBefore)],
    ['after', change.remoteAfter && valuesText(change.remoteAfter)],
    ['error', error && `${error}${errorCode ? ` (${errorCode})` : ''}`],
    ['replaced', change.replaced.map(replacedText).join('; ') || null],
    ['overwrite', change.overwrite ? 'yes: it overwrites the base, which another person set' : null],
    ['by', at(`${personText(change.requestedBy)}, `, change.queuedAt)],
    ['reason', change.requestedReason],
    ['source', placeOf(change)],
    ['settled', change.settledAt && clockOf(change.settledAt)],
    ['superseded by', change.supersededBy],
    ['undoes', change.undoes.join(', ') || null],
    ['undone by', change.undoneBy],
    ['key', change.idempotencyKey],
    ['sent', change.sentAt && [clockOf(change.sentAt), ` (${counted(change.attempts, 'request')})`]],
    ['body', change.body],
  ];
  const requests = attempted.map((one) => [
    clockOf(one.at),
    String(one.attempt),
    `${one.method} ${one.path}`,
    one.status === null ? null : String(one.status),
    one.ms,
    one.error_code,
    one.request_id,
  ]);
  const columns = ['at', 'try', 'request', 'status', 'ms#', 'error', 'request id'];
  return [
    { id: 'change', heading: `Change ${change.id}`, blocks: [{ facts }] },
    { id: 'requests', heading: 'Requests', blocks: [{ columns, rows: requests }] },
    ...decisions([change]),
  ];
}

/** The result of a decision about changes: `done` is the word for it. */
export function decidedView(made: readonly Decision[], done: string): View {
  const refused = made.filter((one) => !one.done);
  const over = made.flatMap(({ id, over: others = [] }) =>
    others.length > 0 ? [`${id}: ${others.join(', ')} stays in conflict`] : [],
  );
  if (made.length === 0)
    return [{ id: 'decided', heading: 'No matching changes', blocks: [{ sentence: 'nothing was changed' }] }];
  return [
    {
      id: 'decided',
      heading: 'Decided',
      blocks: [{ sentence: `${counted(made.length - refused.length, 'change')} ${done}` }, { list: over }],
    },
    {
      id: 'refused',
      heading: `${counted(refused.length, 'change')} not ${done}`,
      blocks: [{ list: refused.map(({ id, reason }) => `${id}: ${reason ?? 'not possible'}`) }],
    },
  ];
}

/** What a change does: each field with its value before and after. */
export function fieldChanges({ wanted, base }: Pick<Change, 'wanted' | 'base'>): FieldChange[] {
  return Object.entries(wanted).map(([name, value]) => {
    return { name, from: shownValue(base[name]), to: shownValue(value) };
  });
}

/** A value in a list of changes: sheets have TRUE and FALSE, people say yes and no. */
export function shownValue(value: Value | undefined): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : valueText(value);
}

function valuesText(values: Values): string {
  const texts = Object.entries(values).map(([name, value]) => `${name}: ${valueText(value)}`);
  return texts.join(', ') || 'nothing';
}

function baseText({ baseFrom, baseAt, overwrite, undoes }: Change): string {
  if (overwrite) return 'as found by a push';
  if (undoes.length > 0) return 'what the change set that it undoes';
  return `from the ${baseFrom === 'file' ? 'sheet' : 'warehouse'}${baseAt === null ? '' : ', '}`;
}

function baseAtOf({ overwrite, undoes, baseAt }: Change): string | null {
  return overwrite || undoes.length > 0 ? null : baseAt;
}

/** Where a change comes from. */
export function placeOf({ source, sourceRow }: Pick<Change, 'source' | 'sourceRow'>): string {
  return sourceRow === null ? source : `${source} row ${sourceRow}`;
}
