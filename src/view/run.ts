import { leftDue } from '../base/facts.js';
import { groupBy } from '../base/group-by.js';
import type { Json } from '../base/json.js';
import { bytes, count, counted, countedOf, duration } from '../base/units.js';
import type { InboxFile } from '../push/inbox.js';
import type { ChangeResult, PushReport } from '../push/run.js';
import type { Failure } from '../run/tally.js';
import type { PlanLine, PlanReport, ScanReport, SyncReport } from '../sync/report.js';
import { decisions, placeOf } from './changes.js';
import { counts, type Fact, type Section, type Table, type View } from './view.js';

/** The views of a run, for its command and its page, and of a plan. */

const unreadHeading = 'Lists that changed while they were read, or were not read to the end';

export function syncView(report: SyncReport): View {
  const { runId, outcome, requests, scans, rejected, failures, drift, leftByResource } = report;
  const incomplete = rejected.new + failures.length > 0 ? 'with failures' : 'incomplete';
  const left = outcome === 'done' ? [] : [dueTable(leftByResource)];
  return [
    {
      id: 'run',
      heading: `Run ${runId}: ${outcomeText(report, incomplete)}`,
      blocks: [{ facts: syncFacts(report) }],
    },
    { id: 'failures', heading: 'Failed', blocks: [{ list: failureTexts(failures) }] },
    { id: 'scans', heading: unreadHeading, blocks: [{ list: scanTexts(scans) }] },
    { id: 'rejected', heading: 'Newly rejected', blocks: [{ list: rejected.examples.map(failureText) }] },
    notes(report),
    { id: 'rows', heading: 'Rows', blocks: rowBlocks(report) },
    requestsSection(requests),
    { id: 'left', heading: 'Left due by resource', blocks: left },
    {
      id: 'drift',
      heading: 'New in the API (kept in the raw documents; see ops.schema_drift)',
      blocks: [{ list: drift.map(driftText) }],
    },
  ];
}

function syncFacts(report: SyncReport): Fact[] {
  const { outcome, rejected } = report;
  return [
    ...runFacts(report),
    ['rejected', `${count(rejected.new)} new, ${count(rejected.known)} from earlier runs`],
    ['kept', outcome === 'stopped' ? 'everything fetched so far' : null],
    ['left due', leftText(report)],
    publishedFact(report, 'nothing'),
  ];
}

/** The facts of every run. */
function runFacts(report: SyncReport | StoredPush): Fact[] {
  const { organization, requests, minutes } = report;
  return [
    ['organization', nameOf(organization)],
    ['took', `${duration(minutes * 60_000)}, ${counted(requests.total, 'request')}`],
    ['429s', requests.rateLimited],
  ];
}

/** How a run ended; `incomplete` says what is missing. */
function outcomeText(
  { outcome, stoppedBy }: Pick<SyncReport, 'outcome' | 'stoppedBy'>,
  incomplete: string,
): string {
  if (outcome === 'stopped') return `stopped (${stoppedBy ?? 'on request'})`;
  return { done: 'done', incomplete: `done, but ${incomplete}`, failed: 'FAILED' }[outcome];
}

function publishedFact({ published }: Pick<SyncReport, 'published'>, nothing: string): Fact {
  return ['published', published ? `${published.path} (${bytes(published.bytes)})` : nothing];
}

function notes({ notes: all }: Pick<SyncReport, 'notes'>): Section {
  return { id: 'notes', heading: 'Notes', blocks: [{ list: all }] };
}

function requestsSection({ byEndpoint }: SyncReport['requests']): Section {
  const blocks = [counts('endpoint', 'requests', byEndpoint, { largestFirst: true })];
  return { id: 'requests', heading: 'Requests', blocks };
}

/** A difference between the API and our assumptions. */
export function driftText(drift: Readonly<Record<'endpoint' | 'path' | 'kind', string>>): string {
  const { endpoint, path, kind } = drift;
  return `${endpoint} ${path}: ${kind.replaceAll('_', ' ')}`;
}

export function nameOf({ name, id }: { readonly name: string | null; readonly id: string }): string {
  return name === null ? id : `${name} (${id})`;
}

/** What requests cost: how many there are, and how long they take at the budget. */
export function costText({ requests, minutes }: Pick<SyncReport['left'], 'requests' | 'minutes'>): string {
  return `${counted(requests, 'request')}, about ${duration(minutes * 60_000)}`;
}

function leftText({ left }: SyncReport): string {
  const { due, runs } = left;
  const more = runs === null ? '' : `; about ${counted(runs, 'more run', 'more runs')} like this one`;
  return leftDue(left, `${count(due)} (${costText(left)} at the budget${more})`);
}

function rowBlocks({ rows }: SyncReport): Section['blocks'] {
  const touched = Object.entries(rows).filter(([, one]) => one.new + one.changed + one.removed > 0);
  if (touched.length === 0) return [{ sentence: 'nothing new, nothing changed' }];
  const lines = touched
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => [name, one.new, one.changed, one.removed]);
  return [{ columns: ['table', 'new#', 'changed#', 'removed#'], rows: lines }];
}

/** Only scans that need attention: the others are in the row counts. */
function scanTexts(scans: readonly ScanReport[]): string[] {
  return scans
    .filter((scan) => !scan.verified || !scan.complete || scan.fused)
    .map((scan) => {
      const items = countedOf(scan.items, scan.totalCount, 'item');
      const heldBack = scan.fused
        ? `; the deletion limit held back ${counted(scan.missing, 'deletion')}`
        : '';
      const note = scan.note === null ? '' : `; ${scan.note}`;
      const state = scan.verified ? 'verified' : 'not verified';
      const how = scan.complete ? ` in ${counted(scan.attempts, 'attempt')}` : '';
      return `${scan.endpoint}: ${scan.complete ? state : 'not read to the end'}, ${items}${how}${heldBack}${note}`;
    });
}

function failureText({ endpoint, entityId, message, hint }: Failure): string {
  const what = entityId === null ? endpoint : `${endpoint} ${entityId}`;
  return `${what}: ${message}${hint === null ? '' : ` (${hint})`}`;
}

/** Failed endpoints, one by one; failed entities by endpoint, with their most common error. */
function failureTexts(failures: readonly Failure[]): string[] {
  const single = failures.filter(({ entityId }) => entityId === null);
  const byEndpoint = groupBy(
    failures.filter(({ entityId }) => entityId !== null),
    ({ endpoint }) => endpoint,
  );
  const lines = [...byEndpoint].map(([endpoint, ofOne]) => {
    const [first] = ofOne;
    if (first && ofOne.length === 1) return failureText(first);
    const byError = groupBy(ofOne, generalText);
    const [commonest] = [...byError].toSorted(([, a], [, b]) => b.length - a.length);
    const ids = ofOne.map(({ entityId }) => entityId ?? '');
    return failingText({ endpoint, entities: ofOne.length, error: commonest?.[0] ?? '', ids });
  });
  return [...single.map(failureText), ...lines];
}

/** An error without the id of its entity, so that equal ones are counted together. */
function generalText({ entityId, message, hint }: Failure): string {
  const text = message.replaceAll(`/${entityId}`, '/{id}').replaceAll(`=${entityId}`, '={id}');
  return hint === null ? text : `${text} (${hint})`;
}

interface Failing {
  readonly endpoint: string;
  readonly entities: number;
  /** With `{id}` in the place of the entity's id. */
  readonly error: string;
  readonly ids: readonly string[];
}

/** What failed of an endpoint: one entity with its error, or several with the commonest. */
export function failingText({ endpoint, entities, error, ids }: Failing): string {
  const [id = ''] = ids;
  if (entities === 1) return `${endpoint} ${id}: ${error.replaceAll('{id}', id)}`;
  const examples = `${ids.slice(0, 3).join(', ')}${entities > 3 ? ', …' : ''}`;
  return `${endpoint}: ${counted(entities, 'entity', 'entities')} (${examples}), most often: ${error}`;
}

/** The due fetches of each resource, by reason. */
function dueTable(lines: readonly PlanLine[]): Table {
  return {
    columns: ['endpoint', 'never#', 'changed#', 'sweep#', 'due#', 'requests#'],
    rows: lines.map((one) => [one.endpoint, one.never, one.changed, one.sweep, one.due, one.requests]),
  };
}

type Planned = PlanReport & {
  readonly retention: { readonly messages: number; readonly people: number } | null;
};

export function planView(report: Planned): View {
  const { organization, requests, minutes, mayBeExplained, left, retention, lists, failures } = report;
  const due = report.lines.filter((line) => line.due > 0);
  const explained = `${count(mayBeExplained.requests)} for ${counted(mayBeExplained.lists, 'list')} of conversations that changed topics may explain`;
  const tooOld = retention ? retention.messages + retention.people : 0;
  const facts: Fact[] = [
    ['organization', nameOf(organization)],
    ['lists', counted(requests.lists, 'request')],
    ['details', counted(requests.children, 'request')],
    ['of them at most', mayBeExplained.lists > 0 ? explained : null],
    ['checks', requests.checks > 0 ? counted(requests.checks, 'request') : null],
    ['total', `${costText({ requests: requests.total, minutes })} at the budget`],
    ['spent on this plan', counted(report.spent, 'request')],
    [
      'too old',
      retention && tooOld > 0
        ? `drops the content of ${counted(retention.messages, 'message')} and personal fields of ${counted(retention.people, 'person', 'people')}`
        : null,
    ],
    ['left for later', left && (left.requests === 0 ? 'nothing' : costText(left))],
  ];
  return [
    { id: 'plan', heading: 'Planned sync', blocks: [{ facts }] },
    { id: 'due', heading: 'Due', blocks: due.length === 0 ? [{ sentence: 'nothing' }] : [dueTable(due)] },
    { id: 'scans', heading: unreadHeading, blocks: [{ list: scanTexts(lists) }] },
    {
      id: 'failures',
      heading: 'Lists that could not be read: what is due of their items may have changed',
      blocks: [{ list: failureTexts(failures) }],
    },
  ];
}

/** What ops.runs keeps of a run, as this version of the program stored it: its facts, and the sections below them. */
export function storedRunView(command: string, summary: Json): { facts: readonly Fact[]; sections: View } {
  const [head, ...sections] = storedView(command, summary);
  const facts = head?.blocks.flatMap((block) => ('facts' in block ? block.facts : [])) ?? [];
  // The row is stored before the publication, and does not know it.
  return { facts: facts.filter(([name]) => name !== 'published'), sections };
}

function storedView(command: string, summary: Json): View {
  if (command === 'push') return storedPushView(summary as unknown as StoredPush);
  if (command === 'plan') return planView({ ...(summary as unknown as PlanReport), retention: null });
  return syncView(summary as unknown as SyncReport);
}

/** Of a push, the number of its changes is stored, and not the changes. */
type StoredPush = Omit<PushReport, 'changes'>;

export function pushView(report: PushReport): View {
  const { changes } = report;
  const of = (status: ChangeResult['status']) => changes.filter((change) => change.status === status);
  const next = [
    ...(report.failed.total > 0 ? ['List what failed: `signalhouse changes list --status failed`.'] : []),
    ...(report.left.queued + report.left.sending > 0 ? ['The rest stays queued: run push again.'] : []),
  ];
  return [
    ...storedPushView(report),
    {
      id: 'conflicts',
      heading: 'Conflicts (a person decides)',
      blocks: [{ list: of('conflict').map((change) => `${resultText(change)}. Id: ${change.id}`) }],
    },
    { id: 'failed', heading: 'Failed', blocks: [{ list: of('failed').map(resultText) }] },
    {
      id: 'sending',
      heading: 'Sent without an answer (the next push reads their result)',
      blocks: [{ list: of('sending').map(resultText) }],
    },
    ...decisions(changes),
    { id: 'next', heading: 'Next steps', blocks: [{ list: next }] },
  ];
}

function storedPushView(report: StoredPush): View {
  const { runId, requests, left, failed, unchanged } = report;
  const facts: Fact[] = [
    ...runFacts(report),
    ['applied', report.applied],
    ['unchanged', `${count(unchanged)} (already up to date)`],
    ['conflict', report.conflict],
    ['failed', failed.total],
    ['left', left.queued + left.sending === 0 ? 'nothing' : queuedText(left)],
    publishedFact(report, 'nothing has changed'),
    ['result', report.result],
  ];
  const reasons = counts('reason', 'changes', failed.byReason, { largestFirst: true });
  return [
    {
      id: 'run',
      heading: `Push ${runId}: ${outcomeText(report, 'with failures or conflicts')}`,
      blocks: [{ facts }],
    },
    { id: 'reasons', heading: 'Failed, by reason', blocks: [reasons] },
    notes(report),
    requestsSection(requests),
  ];
}

function queuedText({ queued, sending, ...cost }: PushReport['left']): string {
  const open = sending === 0 ? '' : `, ${count(sending)} sent without an answer`;
  return `${count(queued)} queued${open} (${costText(cost)})`;
}

/** The subject of a change and its origin (title, id and row), and why it did not go through. */
function resultText(change: ChangeResult): string {
  const { entityType, entityId, title, error } = change;
  const place = placeOf(change);
  const name =
    title === null
      ? `${entityType} ${entityId} (${place})`
      : `${title} (${entityType} ${entityId}, ${place})`;
  return `${name}: ${error ?? 'no reason given'}`;
}

/** The result of each file of the drop folder. */
export function inboxView(files: readonly InboxFile[]): View {
  const describe = {
    done: ({ queued, path }: InboxFile) =>
      `${counted(queued, 'change')}; moved to ${path}, with the result beside it`,
    rejected: ({ problems, reason, path }: InboxFile) =>
      `rejected for ${reason ?? counted(problems, 'problem')}; moved to ${path}, with the reasons beside it`,
    failed: ({ reason }: InboxFile) => `failed: ${reason}`,
    waiting: ({ queued }: InboxFile) =>
      `${counted(queued, 'change')}; it stays here until all of them are settled`,
    being_written: () => 'is still being written; the next run imports it',
  };
  const list = files.map((file) => `${file.name}: ${describe[file.outcome](file)}`);
  return [{ id: 'inbox', heading: 'Drop folder', blocks: [{ list }] }];
}
