import type { Contents, Facts } from '../../base/facts.js';
import { type Html, html } from '../../base/html.js';
import { bytes, count, counted, duration } from '../../base/units.js';
import { badge, type Row, section, type Times, type Tone, table } from './html.js';

/** The most lines of a list; the tables of the schema ops have all of them. */
const most = 20;

/** What the last sync left due; null when nothing is known to be left. */
export function backlog({ contents }: Facts): Html | null {
  const left = contents?.left ?? null;
  if (left === null || left.due === 0) return null;
  return html`<p id="backlog">The last sync left ${counted(left.due, 'fetch', 'fetches')} due: ${counted(left.requests, 'request')}, about ${duration(left.minutes * 60_000)}. The next one continues there.</p>`;
}

const queueTones: Readonly<Record<string, Tone>> = {
  queued: 'busy',
  sending: 'busy',
  applied: 'good',
  unchanged: 'good',
  conflict: 'warn',
  failed: 'bad',
};

/** How many changes are in which status; null when there are none. */
export function queueSection({ queue }: Facts): Html | null {
  const entries = Object.entries(queue).filter(([, changes]) => changes > 0);
  if (entries.length === 0) return null;
  const items = entries.map(
    ([status, changes]) => html`<li>${badge(queueTones[status] ?? 'quiet', status)} ${count(changes)}</li>\n`,
  );
  return section('queue', 'Changes to push', html`<ul class="counts">${items}</ul>`);
}

/** What failed when it was requested last: the next run tries it again. */
export function failingSection({ contents }: Facts): Html | null {
  const rows = (contents?.failing ?? []).map(({ endpoint, entities, error }) => [
    endpoint,
    entities,
    html`<span class="message">${error}</span>`,
  ]);
  const columns = ['Endpoint', 'Entities#', 'Most common error'];
  return details('failing', 'Failed when last requested', columns, rows);
}

/** Records that are still rejected, by endpoint; null when there are none. */
export function rejectedSection({ contents }: Facts, times: Times): Html | null {
  const rows = (contents?.rejected ?? []).map(({ endpoint, records, last_seen_at, example }) => [
    endpoint,
    records,
    times.since(last_seen_at),
    html`<span class="message">${example}</span>`,
  ]);
  return details('rejected', 'Rejected records', ['Endpoint', 'Records#', 'Last seen', 'Example'], rows);
}

/** Where the answers of the API differ from its documentation; null when they do not. */
export function driftSection({ contents }: Facts, times: Times): Html | null {
  const rows = (contents?.drift ?? []).map(({ endpoint, path, kind, occurrences, first_seen_at }) => [
    html`${endpoint} <code>${path}</code>`,
    kind.replaceAll('_', ' '),
    occurrences,
    times.since(first_seen_at),
  ]);
  const columns = ['Where', 'Difference', 'Times#', 'First seen'];
  return details('drift', 'Differences from the API documentation', columns, rows);
}

/** A table that is closed until somebody wants it; null when it is empty. */
function details(id: string, heading: string, columns: readonly string[], rows: readonly Row[]): Html | null {
  if (rows.length === 0) return null;
  const more = rows.length - most;
  return html`<details id="${id}"><summary>${heading} <span class="quiet">(${count(rows.length)})</span></summary>
${table(`${id}-table`, heading, columns, rows.slice(0, most))}${
  more > 0 ? html`<p class="quiet">and ${count(more)} more</p>` : null
}</details>\n`;
}

/** The warehouse in one line. */
export function sizes({ files, rows }: Pick<Facts, 'files'> & { rows: Contents['rows'] }): string {
  const size = (file: Facts['files'][keyof Facts['files']]) => (file === null ? 'none' : bytes(file.bytes));
  const total = Object.values(rows).reduce((sum, number) => sum + number, 0);
  return `${counted(total, 'row')} in ${counted(Object.keys(rows).length, 'table')}; published file ${size(files.published)}, live file ${size(files.worker)}`;
}
