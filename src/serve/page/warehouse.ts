import { bytes, count, counted, duration } from '../../base/units.js';
import { ageMinutes, type Facts, type Freshness, type FreshnessState, freshnessState } from '../facts.js';
import { budgetChart, summary } from './chart.js';
import { type Html, html } from './html.js';
import { badge, section, since, type Tone, table } from './parts.js';

/** Lines of the long lists that are shown; the tables of the schema ops have them all. */
const most = 20;

const words: Readonly<Record<FreshnessState, readonly [Tone, string]>> = {
  fresh: ['good', 'fresh'],
  stale: ['bad', 'stale'],
  never: ['warn', 'not complete yet'],
  open: ['quiet', 'no objective'],
};

export function freshnessSection({ freshness }: Facts, now: number): Html {
  const rows = freshness.map((one) => [
    one.resource,
    badge(...words[freshnessState(one, now)]),
    since(one.at, now),
    one.objectiveMinutes === null ? '-' : objective(one, now),
  ]);
  const columns = [{ name: 'Resource' }, { name: 'State' }, { name: 'Complete' }, { name: 'Objective' }];
  return section('freshness', 'Freshness', table('freshness', 'How fresh each resource is', columns, rows));
}

/** The share of the objective that is used up, as a bar and in words. */
function objective(one: Freshness, now: number): Html {
  const minutes = one.objectiveMinutes ?? 0;
  const allowed = `within ${duration(minutes * 60_000)}`;
  const age = ageMinutes(one, now);
  if (age === null) return html`${allowed}`;
  const label = `${one.resource}: age against its objective`;
  return html`${allowed}<br><meter aria-label="${label}" min="0" max="${minutes}" high="${minutes * 0.8}" optimum="0" value="${Math.min(age, minutes).toFixed(1)}"></meter>`;
}

export function budgetSection({ budget }: Facts): Html {
  const { held, limit, windowMs } = budget;
  const window = windowMs === 60_000 ? 'minute' : duration(windowMs);
  return section(
    'budget',
    'Request budget',
    html`<p id="budget" data-live>${count(held)} of ${counted(limit, 'request')} of this ${window} spent. ${summary(budget)}</p>`,
    budgetChart(budget),
  );
}

export function workSection({ backlog, queue }: Facts): Html {
  const left =
    backlog === null
      ? 'not known before the first sync has ended'
      : backlog.due === 0
        ? 'nothing was left due'
        : `${counted(backlog.due, 'fetch', 'fetches')} (${counted(backlog.requests, 'request')}, about ${duration(backlog.minutes * 60_000)})`;
  const rows = Object.entries(queue).map(([status, changes]) => [status, count(changes)]);
  return section(
    'work',
    'Work left',
    html`<p id="backlog" data-live>Left due by the last sync: ${left}.</p>`,
    table(
      'queue',
      'Changes to push, by status',
      [{ name: 'Status' }, { name: 'Changes', number: true }],
      rows,
    ),
  );
}

export function rejectedSection({ rejected }: Facts, now: number): Html {
  const rows = rejected
    .slice(0, most)
    .map(({ endpoint, records, lastSeenAt, example }) => [
      endpoint,
      count(records),
      since(lastSeenAt, now),
      html`<span class="message">${example}</span>`,
    ]);
  const columns = [
    { name: 'Endpoint' },
    { name: 'Records', number: true },
    { name: 'Last seen' },
    { name: 'Example' },
  ];
  return section(
    'rejected',
    'Rejected records',
    table('rejected', 'Set aside: ops.rejected_records', columns, rows),
  );
}

export function driftSection({ drift }: Facts, now: number): Html {
  const rows = drift
    .slice(0, most)
    .map(({ endpoint, path, kind, occurrences, firstSeenAt }) => [
      html`${endpoint}<br><code>${path}</code>`,
      kind.replaceAll('_', ' '),
      count(occurrences),
      since(firstSeenAt, now),
    ]);
  const columns = [
    { name: 'Where' },
    { name: 'What' },
    { name: 'Times', number: true },
    { name: 'First seen' },
  ];
  const more = drift.length > most ? html`<p class="quiet">and ${count(drift.length - most)} more</p>` : null;
  return section(
    'drift',
    'Schema drift',
    table('drift', 'Not as documented: ops.schema_drift', columns, rows),
    more,
  );
}

export function filesSection({ files, rows }: Facts): Html {
  const size = (value: number | null) => (value === null ? 'none' : bytes(value));
  const total = Object.values(rows).reduce((sum, number) => sum + number, 0);
  return section(
    'files',
    'Warehouse',
    html`<p id="files" data-live>${counted(total, 'row')} in ${counted(Object.keys(rows).length, 'table')}; published file ${size(files.published)}, live file ${size(files.worker)}.</p>`,
  );
}
