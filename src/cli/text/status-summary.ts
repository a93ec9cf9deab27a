import type { StatusReport } from '../../app/status.js';
import { type Contents, spendingText } from '../../base/facts.js';
import { ago, bytes, count, counted, duration, moment } from '../../base/units.js';
import { list, pairs, sections, table } from './layout.js';
import { failingText } from './sync-summary.js';

/** Under a heading, in 80 columns. */
const wide = 78;
/** The most lines of drift; `--json` has all of it. */
const most = 10;

/** What is in the warehouse, for people, in 80 columns. */
export function statusSummary(status: StatusReport, now: number): string {
  const { contents } = status;
  return sections([
    ['Warehouse', pairs(facts(status, now))],
    ['Freshness objectives', freshnessText(status, now)],
    ['Changes to push', queueText(status)],
    ['Jobs of serve', jobsText(status)],
    ...(contents === null ? [] : contentsOf(contents, now)),
  ]);
}

function facts(
  { holder, files, foreignLogs = [], publishedAt, contents, spending, spent }: StatusReport,
  now: number,
): [string, string][] {
  const { organization = null, left = null } = contents ?? {};
  const rows: [string, string][] = [];
  if (organization)
    rows.push(['organization', `${organization.name ?? organization.slug ?? ''} (${organization.id})`]);
  const { published, worker } = files;
  rows.push([
    'published',
    published && publishedAt
      ? `${ago(new Date(publishedAt), now)}, ${bytes(published.bytes)}: ${published.path}`
      : unpublishedText(holder, worker, now),
  ]);
  for (const name of foreignLogs)
    rows.push([
      'foreign log',
      `${name}: another program opened the published file for writing. ${whatLogDoes}`,
    ]);
  if (worker) rows.push(['live', `${bytes(worker.bytes)}: ${worker.path}`]);
  rows.push([
    'in use by',
    holder ? `${holder.command}, process ${holder.pid}, since ${holder.since}` : 'no process',
  ]);
  rows.push(['spent', spendingText(spending)]);
  const recent = spent.slices.reduce((sum, one) => sum + one.requests, 0);
  const limited = spent.slices.reduce((sum, one) => sum + one.rateLimited, 0);
  const hours = duration(spent.slices.length * spent.sliceMinutes * 60_000);
  if (recent > 0)
    rows.push([
      'recently',
      `${counted(recent, 'request')} in the last ${hours}, ${count(limited)} of them answered 429`,
    ]);
  if (left) rows.push(['left due', left.due === 0 ? 'nothing' : leftText(left)]);
  return rows;
}

const whatLogDoes = 'Other readers may see its changes, or fail, until the next publication removes it.';

/** Why nothing is published. */
function unpublishedText(
  holder: StatusReport['holder'],
  worker: StatusReport['files']['worker'],
  now: number,
): string {
  if (holder) {
    const since = duration(now - Date.parse(holder.since));
    return `not yet: ${holder.command} has been running for ${since}, and publishes at its end and every sync.publishEveryMinutes`;
  }
  return worker
    ? 'nothing yet: no run has ended; run signalhouse sync, which continues where the last one ended'
    : 'nothing yet; run signalhouse sync';
}

function leftText({ due, requests, minutes }: NonNullable<Contents['left']>): string {
  return `${count(due)} (${counted(requests, 'request')}, about ${duration(minutes * 60_000)}) after the last sync`;
}

function contentsOf(contents: Contents, now: number): [string, string][] {
  return [
    ['Last runs', runsText(contents)],
    ['Lists', listsText(contents, now)],
    ['Details by endpoint', childrenText(contents, now)],
    ['Failed when asked for last', list(contents.failing.map(failingText))],
    ['Rows', rowsText(contents)],
    ['Your views (views/*.sql)', userViewsText(contents)],
    ['Published files (publish)', publishedFilesText(contents)],
    ['Rejected (ops.rejected_records)', rejectedText(contents)],
    ['Differences from the documentation (ops.schema_drift)', driftText(contents)],
  ];
}

/** Only resources with an objective; the lists below show the age of all. */
function freshnessText({ freshness, contents }: StatusReport, now: number): string {
  if (contents === null) return '';
  const wanted = freshness.filter(({ state }) => state !== 'open');
  if (wanted.length === 0) return '';
  return table(
    [{ name: 'resource' }, { name: 'last complete' }, { name: 'within' }, { name: 'state' }],
    wanted.map(({ resource, at, objectiveMinutes, state }) => [
      resource,
      ago(at === null ? null : new Date(at), now),
      duration((objectiveMinutes ?? 0) * 60_000),
      { fresh: 'fresh', stale: 'STALE', never: 'NEVER COMPLETE', open: '' }[state],
    ]),
    wide,
  );
}

function queueText({ queue }: StatusReport): string {
  const entries = Object.entries(queue);
  return entries.length === 0 ? '' : pairs(entries.map(([status, changes]) => [status, count(changes)]));
}

function jobsText({ jobs }: StatusReport): string {
  return list(
    (jobs ?? []).map(({ name, nextAt, overdueSince, last }) => {
      const next = nextAt === null ? 'not scheduled again' : `next ${moment(new Date(nextAt))}`;
      const late = overdueSince === null ? '' : `, OVERDUE since ${moment(new Date(overdueSince))}`;
      const before =
        last === null ? 'never ran' : `${last.outcome} ${moment(new Date(last.endedAt))}: ${last.message}`;
      return `${name}: ${next}${late}; ${before}`;
    }),
  );
}

const right = (name: string) => ({ name, right: true });

function runsText({ runs }: Contents): string {
  if (runs.length === 0) return 'none';
  const columns = [{ name: 'started' }, { name: 'command' }, { name: 'outcome' }];
  return table(
    [...columns, right('exit'), right('requests'), right('429s'), right('new'), right('changed')],
    runs.map((run) => [
      moment(new Date(run.started_at)),
      run.command,
      run.outcome,
      ...[run.exit_code, run.requests, run.rate_limited, run.rows_new, run.rows_changed].map(orNone),
    ]),
    wide,
  );
}

function orNone(value: number | null): string {
  return value === null ? '-' : count(value);
}

function listsText({ lists }: Contents, now: number): string {
  if (lists.length === 0) return '';
  const unverified = lists.flatMap(({ endpoint, note }) =>
    note === null ? [] : `${endpoint}: the last scan is not verified; ${note}`,
  );
  const rows = table(
    [{ name: 'list' }, right('items'), { name: 'read' }, { name: 'verified' }],
    lists.map((one) => [
      one.endpoint,
      orNone(one.total_count ?? one.ids),
      ago(one.read_at === null ? null : new Date(one.read_at), now),
      ago(one.verified_at === null ? null : new Date(one.verified_at), now),
    ]),
    wide,
  );
  return unverified.length === 0 ? rows : `${rows}\n${list(unverified)}`;
}

function childrenText({ children }: Contents, now: number): string {
  if (children.length === 0) return '';
  return table(
    [{ name: 'endpoint' }, right('fetched'), { name: 'oldest' }, { name: 'newest' }, right('failing')],
    children.map((one) => [
      one.endpoint,
      count(one.asked),
      ago(new Date(one.oldest_at), now),
      ago(new Date(one.newest_at), now),
      count(one.failing),
    ]),
    wide,
  );
}

function rowsText({ rows }: Contents): string {
  return table(
    [{ name: 'table' }, right('rows')],
    Object.entries(rows).map(([name, number]) => [name, count(number)]),
    wide,
  );
}

function userViewsText({ userViews }: Contents): string {
  return list(
    userViews.map(({ file, creates, error }) =>
      error === null ? `${file}: ${creates.join(', ')}` : `${file}: LEFT OUT: ${error}`,
    ),
  );
}

function publishedFilesText({ publishedFiles }: Contents): string {
  return list(
    publishedFiles.map(({ file, profile, excluded, masked, views_adapted, views_left_out, outdated }) =>
      [
        `${file}: profile ${profile}`,
        outdated ? 'NOT AS THE SETTINGS SAY: run signalhouse rebuild to publish it again' : '',
        excluded.length === 0 ? '' : `without ${excluded.join(', ')}`,
        masked.length === 0 ? '' : `${counted(masked.length, 'column')} masked (ops.published_files)`,
        views_adapted.length === 0 ? '' : `views with columns as NULL: ${views_adapted.join(', ')}`,
        views_left_out.length === 0 ? '' : `VIEWS LEFT OUT: ${views_left_out.join('; ')}`,
      ]
        .filter((part) => part !== '')
        .join('; '),
    ),
  );
}

function rejectedText({ rejected }: Contents): string {
  return list(
    rejected.map(
      ({ endpoint, records, example }) => `${endpoint}: ${counted(records, 'record')}, e.g. ${example}`,
    ),
  );
}

function driftText({ drift }: Contents): string {
  const lines = drift
    .slice(0, most)
    .map(
      ({ endpoint, path, kind, occurrences }) =>
        `${endpoint} ${path}: ${kind.replaceAll('_', ' ')}, ${count(occurrences)} times`,
    );
  if (drift.length > most) lines.push(`and ${count(drift.length - most)} more (--json has them all)`);
  return list(lines);
}
