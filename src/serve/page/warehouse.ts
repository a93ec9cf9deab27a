import type { Iso } from '../../base/clock.js';
import {
  ageMinutes,
  type Facts,
  type Freshness,
  type FreshnessState,
  freshnessState,
  type RecentRequests,
} from '../../base/facts.js';
import { type Html, html } from '../../base/html.js';
import { bytes, count, counted, duration } from '../../base/units.js';
import { badge, section, since, type Tone, table } from './html.js';

/** The most lines of a list; the tables of the schema ops have all of them. */
const most = 20;

const words: Readonly<Record<FreshnessState, readonly [Tone, string]>> = {
  fresh: ['good', 'fresh'],
  stale: ['bad', 'stale'],
  never: ['warn', 'incomplete'],
  open: ['quiet', 'no objective'],
};

export function freshnessSection({ freshness }: Facts, now: number): Html {
  const rows = freshness.map((one) => [
    one.resource,
    html`${badge(...words[freshnessState(one, now)])} ${since(one.at, now)}`,
    one.objectiveMinutes === null ? '-' : objective(one, one.objectiveMinutes, now),
  ]);
  const columns = [{ name: 'Resource' }, { name: 'Last complete' }, { name: 'Objective' }];
  return section('freshness', 'Freshness', table('freshness', 'Freshness of each resource', columns, rows));
}

/** The age as a share of the objective, as a bar and in words. */
function objective(one: Freshness, minutes: number, now: number): Html {
  const age = ageMinutes(one, now);
  if (age === null) return html`within ${plainly(minutes)}`;
  const label = `${one.resource}: age against its objective`;
  const value = Math.min(age, minutes).toFixed(1);
  return html`within ${plainly(minutes)}<br><meter aria-label="${label}" min="0" max="${minutes}" high="${minutes * 0.8}" optimum="0" value="${value}"></meter>`;
}

/** An objective as the settings have it: `45 min`, `6 h`, `7 d`. */
function plainly(minutes: number): string {
  if (minutes % 60 !== 0) return duration(minutes * 60_000);
  return minutes > 1440 && minutes % 1440 === 0 ? `${minutes / 1440} d` : `${minutes / 60} h`;
}

export function budgetSection({ spending, spent }: Facts): Html {
  const { held, limit, windowMs } = spending;
  const window = windowMs === 60_000 ? 'minute' : duration(windowMs);
  return section(
    'budget',
    'Request budget',
    html`<p id="budget" data-live>${count(held)} of ${counted(limit, 'request')} spent this ${window}. ${summary(spent)}</p>`,
    budgetChart(spent),
  );
}

export function workSection({ contents, queue }: Facts): Html {
  const left = contents?.left ?? null;
  const backlog =
    left === null
      ? 'unknown until the first sync ends'
      : left.due === 0
        ? 'nothing'
        : `${counted(left.due, 'fetch', 'fetches')} (${counted(left.requests, 'request')}, about ${duration(left.minutes * 60_000)})`;
  const rows = Object.entries(queue).map(([status, changes]) => [status, count(changes)]);
  return section(
    'work',
    'Work left',
    html`<p id="backlog" data-live>Left due by the last sync: ${backlog}.</p>`,
    table(
      'queue',
      'Changes to push, by status',
      [{ name: 'Status' }, { name: 'Changes', number: true }],
      rows,
    ),
  );
}

export function rejectedSection({ contents }: Facts, now: number): Html {
  const rejected = contents?.rejected ?? [];
  const rows = rejected
    .slice(0, most)
    .map(({ endpoint, records, last_seen_at, example }) => [
      endpoint,
      html`${counted(records, 'record')}<br><span class="quiet">last ${since(last_seen_at, now)}</span>`,
      html`<span class="message">${example}</span>`,
    ]);
  const columns = [{ name: 'Endpoint' }, { name: 'Rejected' }, { name: 'Example' }];
  const lines = table('rejected', 'Rejected: ops.rejected_records', columns, rows);
  return section('rejected', 'Rejected records', lines, overflow('rejected-more', rejected.length));
}

export function driftSection({ contents }: Facts, now: number): Html {
  const drift = contents?.drift ?? [];
  const rows = drift
    .slice(0, most)
    .map(({ endpoint, path, kind, occurrences, first_seen_at }) => [
      html`${endpoint}<br><code>${path}</code>`,
      html`${kind.replaceAll('_', ' ')}<br><span class="quiet">${counted(occurrences, 'time')}</span>`,
      since(first_seen_at, now),
    ]);
  const columns = [{ name: 'Where' }, { name: 'What' }, { name: 'First seen' }];
  const lines = table('drift', 'Differences from the documentation: ops.schema_drift', columns, rows);
  return section('drift', 'Schema drift', lines, overflow('drift-more', drift.length));
}

function overflow(id: string, lines: number): Html {
  return html`<p id="${id}" class="quiet" data-live>${lines > most ? `and ${count(lines - most)} more` : ''}</p>`;
}

export function filesSection({ files, contents }: Facts): Html {
  const size = (file: Facts['files'][keyof Facts['files']]) => (file === null ? 'none' : bytes(file.bytes));
  const rows = contents?.rows ?? {};
  const total = Object.values(rows).reduce((sum, number) => sum + number, 0);
  return section(
    'files',
    'Warehouse',
    html`<p id="files" data-live>${counted(total, 'row')} in ${counted(Object.keys(rows).length, 'table')}; published file ${size(files.published)}, live file ${size(files.worker)}.</p>`,
  );
}

const width = 720;
const height = 120;

/** The requests of the last hours as bars, with 429s marked. Its label says the same in words. */
function budgetChart({ slices, sliceMinutes }: RecentRequests): Html {
  const most = Math.max(1, ...slices.map(({ requests }) => requests));
  const step = width / Math.max(1, slices.length);
  const bars = slices.map(({ from, requests, rateLimited }, index) => {
    const [tall, refused] = [requests, Math.min(rateLimited, requests)].map((n) => (n / most) * height);
    const bar = (kind: string, size = 0) =>
      size === 0
        ? null
        : html`<rect class="${kind}" x="${decimal(index * step + step * 0.1)}" y="${decimal(height - size)}" width="${decimal(step * 0.8)}" height="${decimal(size)}"/>`;
    const title = `${hour(from)}: ${counted(requests, 'request')}, ${count(rateLimited)} answered 429`;
    return html`<g><title>${title}</title>${bar('requests', tall)}${bar('refused', refused)}</g>`;
  });
  const first = slices[0];
  const last = slices.at(-1);
  return html`<figure id="budget-chart" data-live>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${summary({ slices, sliceMinutes })}" preserveAspectRatio="none"><line class="base" x1="0" y1="${height}" x2="${width}" y2="${height}"/>${bars}</svg>
<figcaption><span>${first ? hour(first.from) : null}</span><span>highest bar: ${count(most)} in ${duration(sliceMinutes * 60_000)}</span><span>${last ? hour(last.from) : null}</span></figcaption>
</figure>`;
}

/** The chart in one sentence. */
function summary({ slices, sliceMinutes }: RecentRequests): string {
  if (slices.length === 0) return 'No data for the last hours.';
  const total = slices.reduce((sum, { requests }) => sum + requests, 0);
  const refused = slices.reduce((sum, { rateLimited }) => sum + rateLimited, 0);
  const span = duration(slices.length * sliceMinutes * 60_000);
  return `${counted(total, 'request')} in the last ${span}, ${count(refused)} of them answered 429.`;
}

/** `10:05Z`, without the day: the chart shows only a few hours. */
function hour(at: Iso): string {
  return `${at.slice(11, 16)}Z`;
}

function decimal(length: number): string {
  return length.toFixed(1);
}
