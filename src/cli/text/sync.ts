import { type Contents, leftDue } from '../../base/facts.js';
import { groupBy } from '../../base/group-by.js';
import { bytes, count, counted, countedOf, duration } from '../../base/units.js';
import type { Planned } from '../../commands/plan.js';
import type { Failure } from '../../run/tally.js';
import type { PlanLine, ScanReport, SyncReport } from '../../sync/report.js';
import { countsTable, type Fact, list, pairs, sections, some, table, wide } from './layout.js';

const unreadHeading = 'Lists that changed while they were read, or were not read to the end';

export function syncSummary(report: SyncReport): string {
  const { runId, outcome, requests, scans, rejected, failures, drift, notes } = report;
  const incomplete = rejected.new + failures.length > 0 ? 'with failures' : 'incomplete';
  return sections([
    [`Run ${runId}: ${outcomeText(report, incomplete)}`, pairs(facts(report))],
    ['Left due by resource', outcome === 'done' ? null : dueTable(report.leftByResource)],
    ['Requests', countsTable('endpoint', 'requests', requests.byEndpoint, { largestFirst: true })],
    ['Rows', rowsText(report)],
    [unreadHeading, scansText(scans)],
    ['Newly rejected', list(some(rejected.examples.map(failureText)))],
    ['Failed', failuresText(failures)],
    ['New in the API (kept in the raw documents; see ops.schema_drift)', list(some(drift.map(driftText)))],
    ['Notes', list(notes)],
  ]);
}

/** A difference between the API and what is assumed of it. */
export function driftText(drift: Readonly<Record<'endpoint' | 'path' | 'kind', string>>): string {
  const { endpoint, path, kind } = drift;
  return `${endpoint} ${path}: ${kind.replaceAll('_', ' ')}`;
}

/** How a run ended; `incomplete` is what is missing from it where something is. */
export function outcomeText(
  { outcome, stoppedBy }: Pick<SyncReport, 'outcome' | 'stoppedBy'>,
  incomplete: string,
): string {
  if (outcome === 'stopped') return `stopped (${stoppedBy ?? 'on request'})`;
  return { done: 'done', incomplete: `done, but ${incomplete}`, failed: 'FAILED' }[outcome];
}

function facts(report: SyncReport): Fact[] {
  const { organization, requests, published, rejected } = report;
  return [
    ['organization', nameOf(organization)],
    ['took', `${duration(report.minutes * 60_000)}, ${counted(requests.total, 'request')}`],
    ['429s', requests.rateLimited],
    ['rejected', `${count(rejected.new)} new, ${count(rejected.known)} from earlier runs`],
    ['kept', report.outcome === 'stopped' ? 'everything fetched so far' : null],
    ['left due', leftText(report)],
    ['published', published === null ? 'nothing' : `${published.path} (${bytes(published.bytes)})`],
  ];
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

function rowsText({ rows }: SyncReport): string {
  const touched = Object.entries(rows).filter(([, one]) => one.new + one.changed + one.removed > 0);
  if (touched.length === 0) return 'nothing new, nothing changed';
  const lines = touched
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => [name, one.new, one.changed, one.removed]);
  return table(['table', 'new#', 'changed#', 'removed#'], lines, wide);
}

/** Only scans that need attention: the others are in the row counts. */
function scansText(scans: readonly ScanReport[]): string {
  return list(
    scans
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
      }),
  );
}

function failureText({ endpoint, entityId, message, hint }: Failure): string {
  const what = entityId === null ? endpoint : `${endpoint} ${entityId}`;
  return `${what}: ${message}${hint === null ? '' : ` (${hint})`}`;
}

/** What failed as a whole, one by one; the entities of an endpoint together, with their commonest error. */
function failuresText(failures: readonly Failure[]): string {
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
  return list(some([...single.map(failureText), ...lines]));
}

/** An error without the id of its entity, so that equal ones are counted together. */
function generalText({ entityId, message, hint }: Failure): string {
  const text = message.replaceAll(`/${entityId}`, '/{id}').replaceAll(`=${entityId}`, '={id}');
  return hint === null ? text : `${text} (${hint})`;
}

export function failingText({ endpoint, entities, error, ids }: Contents['failing'][number]): string {
  const [id = ''] = ids;
  if (entities === 1) return `${endpoint} ${id}: ${error.replaceAll('{id}', id)}`;
  const examples = `${ids.slice(0, 3).join(', ')}${entities > 3 ? ', …' : ''}`;
  return `${endpoint}: ${counted(entities, 'entity', 'entities')} (${examples}), most often: ${error}`;
}

/** What is due of each resource, and why. */
function dueTable(lines: readonly PlanLine[]): string | null {
  if (lines.length === 0) return null;
  return table(
    ['endpoint', 'never#', 'changed#', 'sweep#', 'due#', 'requests#'],
    lines.map((line) => [line.endpoint, line.never, line.changed, line.sweep, line.due, line.requests]),
    wide,
  );
}

function tooOldText({ retention }: Planned): string | null {
  if (retention === null || retention.messages + retention.people === 0) return null;
  const people = counted(retention.people, 'person', 'people');
  return `drops the content of ${counted(retention.messages, 'message')} and personal fields of ${people}`;
}

function mayBeExplainedText({ requests, lists }: Planned['mayBeExplained']): string {
  return `${count(requests)} for ${counted(lists, 'list')} of conversations that changed topics may explain`;
}

export function planSummary(report: Planned): string {
  const { organization, requests, minutes, mayBeExplained, left } = report;
  const due = report.lines.filter((line) => line.due > 0);
  const later = left && (left.requests === 0 ? 'nothing' : costText(left));
  return sections([
    [
      'Planned sync',
      pairs([
        ['organization', nameOf(organization)],
        ['lists', counted(requests.lists, 'request')],
        ['details', counted(requests.children, 'request')],
        ['of them at most', mayBeExplained.lists > 0 ? mayBeExplainedText(mayBeExplained) : null],
        ['checks', requests.checks > 0 ? counted(requests.checks, 'request') : null],
        ['total', `${costText({ requests: requests.total, minutes })} at the budget`],
        ['spent on this plan', counted(report.spent, 'request')],
        ['too old', tooOldText(report)],
        ['left for later', later],
      ]),
    ],
    ['Due', dueTable(due) ?? 'nothing'],
    [unreadHeading, scansText(report.lists)],
    [
      'Lists that could not be read: what is due of their items may have changed',
      failuresText(report.failures),
    ],
  ]);
}
