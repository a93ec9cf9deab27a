import { type Contents, firstPullText, leftDue, spendingText } from '../../base/facts.js';
import { estimateText, isOverBound } from '../../base/freshness-estimate.js';
import { ago, bytes, count, counted, duration, moment } from '../../base/units.js';
import type { StatusReport } from '../../commands/status.js';
import type { OrganizationLine } from '../../serve/page/organizations.js';
import { costText, driftText, failingText } from '../../view/run.js';
import {
  countsTable,
  type Fact,
  list,
  pairs,
  printable,
  type Section,
  sections,
  some,
  table,
  wide,
} from '../../view/text.js';
import { tableWidth } from '../output.js';

/** What is in the warehouse, for people, in 80 columns. */
export function statusSummary(status: StatusReport, now: number): string {
  const { contents } = status;
  return sections([
    ['Warehouse', pairs(facts(status, now))],
    ['Freshness objectives', freshnessText(status, now)],
    ['Out of date, by random checks', estimatesText(contents)],
    ['Changes to push', pairs(Object.entries(status.queue))],
    ['Jobs of serve', jobsText(status)],
    ...(contents === null ? [] : contentsOf(contents, now)),
  ]);
}

/** One line for each organization. */
export function organizationsText(lines: readonly OrganizationLine[], now: number): string {
  const rows = lines.map(({ organization, state, doing, lastSuccessAt, problems }) => {
    const [first] = problems;
    const more = problems.length > 1 ? ` (and ${count(problems.length - 1)} more)` : '';
    return [
      organization,
      doing === null ? state : `${state}, ${doing}`,
      ago(lastSuccessAt, now),
      first === undefined ? '' : printable(`${first.title}: ${first.reason}`.replaceAll(/\s+/g, ' ')) + more,
    ];
  });
  return table(['organization', 'state', 'last success', 'what is wrong'], rows, tableWidth());
}

function facts(status: StatusReport, now: number): Fact[] {
  const { holder, foreignLogs = [], publishedAt, spent } = status;
  const { organization = null, left = null } = status.contents ?? {};
  const missing = status.contents && firstPullText(status.contents);
  const { published, worker } = status.files;
  const recent = spent.slices.reduce((sum, one) => sum + one.requests, 0);
  const limited = spent.slices.reduce((sum, one) => sum + one.rateLimited, 0);
  const hours = duration(spent.slices.length * spent.sliceMinutes * 60_000);
  return [
    ['organization', organization && `${organization.name ?? organization.slug ?? ''} (${organization.id})`],
    [
      'published',
      published && publishedAt
        ? `${ago(publishedAt, now)}, ${bytes(published.bytes)}: ${published.path}`
        : unpublishedText(status, now),
    ],
    ...foreignLogs.map((name): Fact => ['foreign log', `${name}: ${whatLogDoes}`]),
    ['live', worker && `${bytes(worker.bytes)}: ${worker.path}`],
    ['in use by', holder ? `${holder.command}, process ${holder.pid}, since ${holder.since}` : 'no process'],
    ['spent', spendingText(status.spending)],
    [
      'recently',
      recent > 0
        ? `${counted(recent, 'request')} in the last ${hours}, ${count(limited)} of them answered 429`
        : null,
    ],
    ['first pull', missing && `not complete, ${missing}`],
    ['left due', left && leftDue(left, `${count(left.due)} (${costText(left)}) after the last sync`)],
  ];
}

const whatLogDoes =
  'another program opened the published file for writing. Other readers may see its changes, or fail, until the next publication removes it.';

/** Why nothing is published. */
function unpublishedText({ holder, files }: StatusReport, now: number): string {
  if (holder) {
    const since = duration(now - Date.parse(holder.since));
    return `not yet: ${holder.command} has been running for ${since}, and publishes at its end, a long run every half hour`;
  }
  return files.worker === null
    ? 'NOTHING YET: run signalhouse sync'
    : 'NOTHING YET: no run has succeeded; run signalhouse sync, which continues where the last one ended';
}

function contentsOf(contents: Contents, now: number): Section[] {
  const rejected = contents.rejected.map(
    ({ endpoint, records, example }) => `${endpoint}: ${counted(records, 'record')}, e.g. ${example}`,
  );
  const drift = contents.drift.map((one) => `${driftText(one)}, ${count(one.occurrences)} times`);
  return [
    ['Last runs', runsText(contents)],
    ['Lists', listsText(contents, now)],
    ['Details by endpoint', childrenText(contents, now)],
    ['Failed when asked for last', list(contents.failing.map(failingText))],
    ['Rows', countsTable('table', 'rows', contents.rows)],
    ['Made again by another version', list(contents.remade.map((one) => `${one.table}, ${moment(one.at)}`))],
    ['Your views (views/*.sql)', userViewsText(contents)],
    ['Published files (publish)', publishedFilesText(contents)],
    ['Rejected (ops.rejected_records)', list(rejected)],
    ['Differences from the documentation (ops.schema_drift)', list(some(drift))],
  ];
}

/** Only resources with an objective; the lists below show the age of all. */
function freshnessText({ freshness, contents }: StatusReport, now: number): string {
  if (contents === null) return '';
  const wanted = freshness.filter(({ state }) => state !== 'open');
  if (wanted.length === 0) return '';
  return table(
    ['resource', 'last complete', 'within', 'state'],
    wanted.map(({ resource, at, objectiveMinutes, state }) => [
      resource,
      ago(at, now),
      duration((objectiveMinutes ?? 0) * 60_000),
      { fresh: 'fresh', stale: 'STALE', never: 'NEVER COMPLETE', open: '' }[state],
    ]),
    wide,
  );
}

function estimatesText(contents: Contents | null): string {
  const known = (contents?.estimates ?? []).filter(
    ({ resource, checks }) => resource === 'all' || checks > 0,
  );
  return list(known.map((one) => `${estimateText(one)}${isOverBound(one) ? ': MORE THAN ALLOWED' : ''}`));
}

function jobsText({ jobs }: StatusReport): string {
  return list(
    (jobs ?? []).map(({ name, nextAt, overdueSince, last }) => {
      const next = nextAt === null ? 'not scheduled again' : `next ${moment(nextAt)}`;
      const late = overdueSince === null ? '' : `, OVERDUE since ${moment(overdueSince)}`;
      const before = last === null ? 'never ran' : `${last.outcome} ${moment(last.endedAt)}: ${last.message}`;
      return `${name}: ${next}${late}; ${before}`;
    }),
  );
}

function runsText({ runs }: Contents): string {
  if (runs.length === 0) return 'none';
  return table(
    ['started', 'command', 'outcome', 'exit#', 'requests#', '429s#', 'new#', 'changed#'],
    runs.map((run) => [
      moment(run.started_at),
      run.command,
      run.outcome,
      run.exit_code,
      run.requests,
      run.rate_limited,
      run.rows_new,
      run.rows_changed,
    ]),
    wide,
  );
}

function listsText({ lists }: Contents, now: number): string | null {
  if (lists.length === 0) return null;
  const unverified = lists.flatMap(({ endpoint, note }) =>
    note === null ? [] : `${endpoint}: the last scan is not verified; ${note}`,
  );
  const rows = lists.map(({ endpoint, total_count, ids, read_at, verified_at }) => {
    return [endpoint, total_count ?? ids, ago(read_at, now), ago(verified_at, now)];
  });
  const text = table(['list', 'items#', 'read', 'verified'], rows, wide);
  return unverified.length === 0 ? text : `${text}\n${list(unverified)}`;
}

function childrenText({ children }: Contents, now: number): string | null {
  if (children.length === 0) return null;
  const rows = children.map(({ endpoint, asked, oldest_at, newest_at, failing }) => {
    return [endpoint, asked, ago(oldest_at, now), ago(newest_at, now), failing];
  });
  return table(['endpoint', 'fetched#', 'oldest', 'newest', 'failing#'], rows, wide);
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
