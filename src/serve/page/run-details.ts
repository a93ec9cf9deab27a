import { z } from 'zod';
import { leftDue, type RunDetails } from '../../base/facts.js';
import { count, counted, countedOf, duration } from '../../base/units.js';
import { type Html, html, type Piece, section, table } from '../../view/html.js';
import type { Times } from '../../view/times.js';
import { outcomeBadge, type RunLine } from './runs.js';

const number = z.number().catch(0);
const text = z.string().catch('');

/** What the page shows of a stored summary. Other versions of the program may have stored other fields: those are left out. */
const summarySchema = z
  .object({
    stoppedBy: z.string().nullable().catch(null),
    requests: z.object({ byEndpoint: z.record(z.string(), number).catch({}) }).catch({ byEndpoint: {} }),
    rows: z.record(z.string(), z.object({ new: number, changed: number, removed: number })).catch({}),
    scans: z
      .array(
        z.object({
          endpoint: text,
          verified: z.boolean().catch(true),
          complete: z.boolean().catch(true),
          fused: z.boolean().catch(false),
          items: number,
          totalCount: z.number().nullable().catch(null),
          missing: number,
          note: z.string().nullable().catch(null),
        }),
      )
      .catch([]),
    rejected: z
      .object({ examples: z.array(z.object({ endpoint: text, message: text })).catch([]) })
      .catch({ examples: [] }),
    failures: z
      .array(
        z.object({
          endpoint: text,
          entityId: z.string().nullable().catch(null),
          message: text,
          hint: z.string().nullable().catch(null),
        }),
      )
      .catch([]),
    drift: z.array(z.object({ endpoint: text, path: text, kind: text })).catch([]),
    notes: z.array(text).catch([]),
    left: z
      .object({
        due: number,
        requests: number,
        minutes: number,
        queued: number,
        sending: number,
        complete: z.boolean().catch(true),
      })
      .nullable()
      .catch(null),
    applied: z.number().nullable().catch(null),
    unchanged: number,
    conflict: number,
    failed: z
      .object({ total: number, byReason: z.record(z.string(), number).catch({}) })
      .catch({ total: 0, byReason: {} }),
  })
  .partial();
type Summary = z.infer<typeof summarySchema>;

/** The most lines of a list. */
const most = 50;

/** One run: what it did, what it cost, and what went wrong. */
export function runDetails(run: RunDetails, line: RunLine | null, times: Times): Html {
  const parsed = summarySchema.safeParse(run.summary ?? {});
  const summary: Summary = parsed.success ? parsed.data : {};
  const message = run.error ?? line?.message ?? null;
  return html`<div class="facts"><p class="headline">${outcomeBadge(line?.outcome ?? run.outcome)}${
    summary.stoppedBy ? html` <span>stopped by ${summary.stoppedBy}</span>` : null
  }</p>${message === null ? null : html`<p class="message">${message}</p>`}
<dl>${facts(run, line, summary, times).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`)}</dl></div>
${list('notes', 'Notes', summary.notes ?? [])}${list('failures', 'Failed', (summary.failures ?? []).map(failure))}${scans(summary)}${list(
  'rejected',
  'Newly rejected',
  (summary.rejected?.examples ?? []).map(({ endpoint, message: why }) => `${endpoint}: ${why}`),
)}${pushed(summary)}
<div class="columns">${rows(summary)}${requests(summary)}</div>
${list(
  'drift',
  'New differences from the API documentation',
  (summary.drift ?? []).map(
    ({ endpoint, path, kind }) => html`${endpoint} <code>${path}</code>: ${kind.replaceAll('_', ' ')}`,
  ),
)}
<p class="quiet">All of it: <code>signalhouse sql "SELECT summary FROM ops.runs WHERE run_id = '${run.run_id}'"</code></p>`;
}

function facts(run: RunDetails, line: RunLine | null, { left }: Summary, times: Times): [string, Piece][] {
  const { started_at, ended_at, requests, rate_limited, rejected, rows_new, left_due } = run;
  const refused = rate_limited
    ? html` <span class="quiet">(${count(rate_limited)} answered 429)</span>`
    : null;
  const cost = left && left_due ? `, about ${duration(left.minutes * 60_000)}` : '';
  const facts: [string, Piece][] = [
    ['Started', html`${times.at(started_at)} <span class="quiet">(${times.since(started_at)})</span>`],
    ['Duration', ended_at && duration(Math.max(0, Date.parse(ended_at) - Date.parse(started_at)))],
    ['Started by', line?.job == null ? 'a command' : `job ${line.job} (${line.trigger})`],
    ['Requests', requests === null ? null : html`${count(requests)}${refused}`],
    [
      'Rows',
      rows_new === null
        ? null
        : `${count(rows_new)} new, ${count(run.rows_changed ?? 0)} changed, ${count(run.rows_removed ?? 0)} removed`,
    ],
    ['Rejected', rejected ? counted(rejected, 'record') : null],
    [
      'Left due',
      left_due === null
        ? null
        : leftDue(
            { due: left_due, complete: left?.complete ?? true },
            `${counted(left_due, 'fetch', 'fetches')}${cost}`,
          ),
    ],
    ['Exit code', run.exit_code],
    ['Version', run.program_version],
  ];
  return facts.filter(([, value]) => value !== null);
}

function failure({ endpoint, entityId, message, hint }: NonNullable<Summary['failures']>[number]): string {
  return `${endpoint}${entityId === null ? '' : ` ${entityId}`}: ${message}${hint === null ? '' : ` (${hint})`}`;
}

/** Lists that need attention; the others are in the row counts. */
function scans({ scans: all = [] }: Summary): Html | null {
  return list(
    'scans',
    'Lists that changed while they were read, or were not read to the end',
    all
      .filter(({ verified, complete, fused }) => !verified || !complete || fused)
      .map(({ endpoint, complete, verified, items, totalCount, fused, missing, note }) => {
        const state = !complete ? 'not read to the end' : verified ? 'verified' : 'not verified';
        const heldBack = fused ? `; the deletion limit held back ${counted(missing, 'deletion')}` : '';
        return `${endpoint}: ${state}, ${countedOf(items, totalCount, 'item')}${heldBack}${note === null ? '' : `; ${note}`}`;
      }),
  );
}

function list(id: string, heading: string, items: readonly Piece[]): Html | null {
  if (items.length === 0) return null;
  const lines = items.slice(0, most).map((item) => html`<li>${item}</li>\n`);
  const more = items.length - most;
  const rest = more > 0 ? html`<li class="quiet">and ${count(more)} more</li>` : null;
  return section(id, heading, html`<ul class="lines">${lines}${rest}</ul>`);
}

function pushed({ applied, unchanged = 0, conflict = 0, failed, left }: Summary): Html | null {
  if (applied == null) return null;
  const counts: [string, number][] = [
    ['applied', applied],
    ['already up to date', unchanged],
    ['conflict', conflict],
    ...Object.entries(failed?.byReason ?? {}).map(([why, n]): [string, number] => [`failed: ${why}`, n]),
    ['still queued', (left?.queued ?? 0) + (left?.sending ?? 0)],
  ];
  const shown = counts.filter(([, changes]) => changes > 0);
  if (shown.length === 0) return null;
  return section(
    'changes',
    'Changes',
    table('changes-table', 'Changes by result', ['Result', 'Changes#'], shown),
  );
}

function rows({ rows: all = {} }: Summary): Html | null {
  const touched = Object.entries(all).filter(([, one]) => one.new + one.changed + one.removed > 0);
  if (touched.length === 0) return null;
  const lines = touched
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]): Piece[] => [name, ...[one.new, one.changed, one.removed].map(orDash)]);
  const columns = ['Table', 'New#', 'Changed#', 'Removed#'];
  return section('rows', 'Rows', table('rows-table', 'Rows by table', columns, lines));
}

function requests({ requests: { byEndpoint } = { byEndpoint: {} } }: Summary): Html | null {
  const lines = Object.entries(byEndpoint).toSorted(([, a], [, b]) => b - a);
  if (lines.length === 0) return null;
  const columns = ['Endpoint', 'Requests#'];
  return section('requests', 'Requests', table('requests-table', 'Requests by endpoint', columns, lines));
}

function orDash(value: number): Piece {
  return value === 0 ? html`<span class="quiet">-</span>` : value;
}
