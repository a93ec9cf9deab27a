import type { Contents } from '../../base/facts.js';
import { groupBy } from '../../base/group-by.js';
import { bytes, count, counted, duration } from '../../base/units.js';
import type { Failure } from '../../run/tally.js';
import type { PlanLine, PlanReport, ScanReport, SyncReport } from '../../sync/report.js';
import { list, pairs, sections, table } from './layout.js';

/** Under a heading, in 80 columns. */
export const wide = 78;
/** The most lines of a list; `--json` has all of them. */
export const most = 10;

/** What a run did, for people, in 80 columns. */
export function syncSummary(report: SyncReport): string {
  return sections([
    [`Run ${report.runId}: ${outcomeText(report)}`, pairs(facts(report))],
    ['Left due by resource', report.outcome === 'done' ? '' : dueTable(report.leftByResource)],
    ['Requests', requestsText(report)],
    ['Rows', rowsText(report)],
    ['Lists that changed while they were read, or were not read to the end', scansText(report.scans)],
    ['Newly rejected', list(some(report.rejected.examples.map(failureText)))],
    ['Failed', failuresText(report.failures)],
    [
      'New in the API (kept in the raw documents; see ops.schema_drift)',
      list(
        some(
          report.drift.map(({ endpoint, path, kind }) => `${endpoint} ${path}: ${kind.replaceAll('_', ' ')}`),
        ),
      ),
    ],
    ['Notes', list(report.notes)],
  ]);
}

function outcomeText({ outcome, stoppedBy, failures, rejected }: SyncReport): string {
  const done = {
    done: 'done',
    stopped: `stopped (${stoppedBy ?? 'on request'})`,
    incomplete: `done, but ${rejected.new + failures.length > 0 ? 'with failures' : 'incomplete'}`,
    failed: 'FAILED',
  };
  return done[outcome];
}

function facts(report: SyncReport): [string, string][] {
  const { organization, requests, left, published, rejected } = report;
  return [
    [
      'organization',
      organization.name === null ? organization.id : `${organization.name} (${organization.id})`,
    ],
    ['took', `${duration(report.minutes * 60_000)}, ${counted(requests.total, 'request')}`],
    ['429s', count(requests.rateLimited)],
    ['rejected', `${count(rejected.new)} new, ${count(rejected.known)} from earlier runs`],
    ...(report.outcome === 'stopped' ? ([['kept', 'everything fetched so far']] as [string, string][]) : []),
    ['left due', left.due === 0 ? 'nothing' : leftText(left)],
    ['published', published === null ? 'nothing' : `${published.path} (${bytes(published.bytes)})`],
  ];
}

function leftText({ due, requests, minutes, runs }: SyncReport['left']): string {
  const more = runs === null ? '' : `; about ${counted(runs, 'more run', 'more runs')} like this one`;
  return `${count(due)} (${counted(requests, 'request')}, about ${duration(minutes * 60_000)} at the budget${more})`;
}

function requestsText({ requests }: SyncReport): string {
  const rows = Object.entries(requests.byEndpoint).sort(([, a], [, b]) => b - a);
  return rows.length === 0
    ? ''
    : table(
        [{ name: 'endpoint' }, { name: 'requests', right: true }],
        rows.map(([endpoint, number]) => [endpoint, count(number)]),
        wide,
      );
}

function rowsText({ rows }: SyncReport): string {
  const touched = Object.entries(rows).filter(([, one]) => one.new + one.changed + one.removed > 0);
  if (touched.length === 0) return 'nothing new, nothing changed';
  return table(
    [
      { name: 'table' },
      { name: 'new', right: true },
      { name: 'changed', right: true },
      { name: 'removed', right: true },
    ],
    touched
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, count(one.new), count(one.changed), count(one.removed)]),
    wide,
  );
}

/** Only scans that need attention: the others are in the row counts. */
function scansText(scans: readonly ScanReport[]): string {
  return list(
    scans
      .filter((scan) => !scan.verified || !scan.complete || scan.fused)
      .map((scan) => {
        const of = scan.totalCount === null ? '' : ` of ${count(scan.totalCount)}`;
        const fuse = scan.fused ? `; the fuse held back ${counted(scan.missing, 'deletion')}` : '';
        const note = scan.note === null ? '' : `; ${scan.note}`;
        const how = scan.complete ? 'not verified' : 'not read to the end';
        return `${scan.endpoint}: ${scan.verified && scan.complete ? 'verified' : how}, ${count(scan.items)}${of} items in ${counted(scan.attempts, 'attempt')}${fuse}${note}`;
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

/** Entities of one endpoint that failed, for people. */
export function failingText({ endpoint, entities, error, ids }: Contents['failing'][number]): string {
  const [id = ''] = ids;
  if (entities === 1) return `${endpoint} ${id}: ${error.replaceAll('{id}', id)}`;
  const examples = `${ids.slice(0, 3).join(', ')}${entities > 3 ? ', …' : ''}`;
  return `${endpoint}: ${counted(entities, 'entity', 'entities')} (${examples}), most often: ${error}`;
}

/** The first few, and how many more there are. */
export function some(items: readonly string[], few: number = most): readonly string[] {
  const more = items.length - few;
  return more <= 0 ? items : [...items.slice(0, few), `and ${count(more)} more (--json has them all)`];
}

/** What is due of each resource, and why. */
function dueTable(lines: readonly PlanLine[]): string {
  if (lines.length === 0) return '';
  const columns = ['never', 'changed', 'sweep', 'due', 'requests'].map((name) => ({ name, right: true }));
  return table(
    [{ name: 'endpoint' }, ...columns],
    lines.map((line) => [
      line.endpoint,
      ...[line.never, line.changed, line.sweep, line.due, line.requests].map(count),
    ]),
    wide,
  );
}

/** What a run would cost, for people, in 80 columns. */
export function planSummary(report: PlanReport): string {
  const { organization, requests, left } = report;
  const due = report.lines.filter((line) => line.due > 0);
  const name = organization.name === null ? organization.id : `${organization.name} (${organization.id})`;
  const facts: [string, string][] = [
    ['organization', name],
    ['lists', counted(requests.lists, 'request')],
    ['details', counted(requests.children, 'request')],
    [
      'total',
      `${counted(requests.total, 'request')}, about ${duration(report.minutes * 60_000)} at the budget`,
    ],
    ['spent on this plan', counted(report.spent, 'request')],
  ];
  if (left !== null) {
    const text =
      left.requests === 0
        ? 'nothing'
        : `${counted(left.requests, 'request')}, about ${duration(left.minutes * 60_000)}`;
    facts.push(['left for later', text]);
  }
  return sections([
    ['Planned sync', pairs(facts)],
    ['Due', due.length === 0 ? 'nothing' : dueTable(due)],
    ['Lists that changed while they were read, or were not read to the end', scansText(report.lists)],
    [
      'Lists that could not be read: what is due of their items may have changed',
      failuresText(report.failures),
    ],
  ]);
}
