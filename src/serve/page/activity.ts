import { millis } from '../../base/clock.js';
import type { Facts } from '../../base/facts.js';
import { count, duration } from '../../base/units.js';
import { badge, type Html, html, type Piece } from '../../view/html.js';
import type { Times } from '../../view/times.js';
import { ageOf, clockOf, type Table, type Words } from '../../view/view.js';
import type { JobView, LiveRun, ScheduleView } from '../schedule/record.js';
import { otherHolder, outcomeBadge } from './runs.js';

/** The current activity: a few words, which change only with the activity, and the details. */
export function activity(
  { running, waiting, jobs, stopping }: ScheduleView,
  facts: Facts | null,
  times: Times,
): [answer: string, detail: Piece] {
  if (running) {
    const { progress, outage } = running;
    const rest = waiting.length > 0 ? `; ${count(waiting.length)} waiting` : '';
    if (outage) {
      const wait = duration((millis(outage.until) ?? times.now) - times.now);
      return [
        `${running.job} waits for the API`,
        html`No answer since ${times.at(outage.since)}; gives up in ${wait}${rest}`,
      ];
    }
    const phase = progress ? `${progress.phase}${percent(progress)}` : startingText(facts);
    return [
      stopping ? `Finishing ${running.job}` : `Running ${running.job}`,
      html`${phase}, for ${duration(times.now - (millis(running.since) ?? times.now))}${rest}`,
    ];
  }
  if (stopping) return ['Shutting down', 'No more jobs start.'];
  const holder = otherHolder(facts);
  if (holder !== null) {
    return [
      `Running ${holder.command}`,
      html`process ${holder.pid} on ${holder.host}, since ${times.at(holder.since)}`,
    ];
  }
  const [next] = upcoming(jobs);
  return next?.nextAt
    ? ['Nothing now', html`Next: ${next.name} ${times.since(next.nextAt)}`]
    : ['Nothing', 'No job is scheduled.'];
}

/** A job that has not begun its work may be waiting for a command that holds the warehouse. */
function startingText(facts: Facts | null): string {
  const holder = otherHolder(facts);
  return holder === null
    ? 'starting'
    : `waiting for ${holder.command} (process ${holder.pid} on ${holder.host})`;
}

function percent({ done, total }: NonNullable<LiveRun['progress']>): string {
  return total === null || total <= 0 ? '' : `, ${Math.floor((Math.min(done, total) / total) * 100)} %`;
}

/** The jobs that run or wait now; null when there are none. */
export function nowList({ running, waiting }: ScheduleView, times: Times): Html | null {
  const runs = [
    ...(running ? [['running', running] as const] : []),
    ...waiting.map((one) => ['waiting', one] as const),
  ];
  if (runs.length === 0) return null;
  const lines = runs.map(([state, run]) => html`<li>${liveRun(state, run, times)}</li>\n`);
  return html`<ul class="live">${lines}</ul>`;
}

function liveRun(
  state: 'running' | 'waiting',
  { job, since: from, progress, trigger, dueAt, outage }: LiveRun,
  times: Times,
): Html {
  const made = trigger === 'catch-up' && dueAt !== null ? html`, for the run of ${times.at(dueAt)}` : null;
  const spent = duration(times.now - (millis(from) ?? times.now));
  return html`<strong>${job}</strong> ${badge(state === 'running' ? 'busy' : 'quiet', state)} <span class="quiet">for ${spent} (${trigger}${made})</span>${
    progress && bar(progress)
  }${outage && waitingForApi(outage, times)}`;
}

function waitingForApi({ since, until, reason }: NonNullable<LiveRun['outage']>, times: Times): Html {
  const wait = duration((millis(until) ?? times.now) - times.now);
  return html`<p>${badge('warn', 'API unavailable')} The API has not answered since ${times.at(since)}. The run waits for it for ${wait} more, and continues when it answers. <span class="message">${reason}</span></p>`;
}

function bar({ phase, done, total }: NonNullable<LiveRun['progress']>): Html {
  const text = total === null ? `${phase}: ${count(done)}` : `${phase}: ${count(done)} of ${count(total)}`;
  const extent =
    total === null || total <= 0 ? html`` : html` max="${total}" value="${Math.min(done, total)}"`;
  return html`<div class="progress"><progress aria-label="${phase}"${extent}></progress> <span>${text}</span></div>`;
}

/** The jobs with their next run, the soonest first. */
export function jobsTable({ jobs }: ScheduleView): Table {
  const rows = upcoming(jobs).map(
    ({ name, run, nextAt, overdueSince, cron, timezone, last, lastSuccessAt }): Words[] => [
      [name, { note: run }],
      [
        nextAt === null ? 'never' : ageOf(nextAt),
        overdueSince === null ? null : [' ', { badge: 'OVERDUE', tone: 'bad' }],
        nextAt === null ? null : { note: clockOf(nextAt) },
      ],
      [{ code: cron }, { note: timezone }],
      last === null
        ? 'not yet'
        : [
            outcomeBadge(last.outcome),
            ' ',
            ageOf(last.endedAt),
            last.endedAt === lastSuccessAt ? null : { note: ['last success ', ageOf(lastSuccessAt)] },
          ],
    ],
  );
  return { columns: ['job', 'next run', 'schedule', 'last run'], rows };
}

function upcoming(jobs: readonly JobView[]): JobView[] {
  const at = ({ nextAt }: JobView) => millis(nextAt) ?? Number.POSITIVE_INFINITY;
  return jobs.toSorted((a, b) => Math.sign(at(a) - at(b)) || 0);
}
