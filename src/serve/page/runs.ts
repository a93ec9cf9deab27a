import { millis } from '../../base/clock.js';
import { type Html, html } from '../../base/html.js';
import { count, duration } from '../../base/units.js';
import type { Outcome, RunRecord } from '../schedule/record.js';
import type { JobView, LiveRun, ScheduleView } from '../schedule/view.js';
import { badge, clock, section, since, type Tone, table } from './html.js';

const tones: Readonly<Record<Outcome, Tone>> = {
  done: 'good',
  stopped: 'good',
  incomplete: 'warn',
  failed: 'bad',
  interrupted: 'warn',
  skipped: 'quiet',
};
/** How many runs the page shows; /status.json has all that are remembered. */
const shownRuns = 15;

/** The current state in one sentence, for screen readers: the text changes only when the state does. */
export function nowInWords({ running, waiting, jobs, stopping }: ScheduleView): string {
  if (stopping) return running ? `Shutting down; ${running.job} is finishing.` : 'Shutting down.';
  const queue = waiting.length > 0 ? ` Waiting: ${waiting.map(({ job }) => job).join(', ')}.` : '';
  if (running?.outage) return `${running.job} is waiting for the API, which does not answer.${queue}`;
  if (running)
    return `${running.job} is running${running.progress ? `: ${running.progress.phase}` : ''}.${queue}`;
  const [next] = upcoming(jobs);
  return next?.nextAt
    ? `Nothing is running. Next: ${next.name}.`
    : 'Nothing is running, and no job is scheduled.';
}

export function nowSection({ running, waiting }: ScheduleView, now: number): Html {
  const runs = [
    ...(running ? [['running', running] as const] : []),
    ...waiting.map((one) => ['waiting', one] as const),
  ];
  return section(
    'now',
    'Now',
    html`<div id="now" data-live>${
      runs.length === 0
        ? html`<p class="quiet">Nothing is running.</p>`
        : html`<ul class="runs">${runs.map(([state, run]) => html`<li>${liveRun(state, run, now)}</li>`)}</ul>`
    }</div>`,
  );
}

function liveRun(
  state: 'running' | 'waiting',
  { job, since: from, progress, trigger, outage }: LiveRun,
  now: number,
): Html {
  const spent = duration(now - (millis(from) ?? now));
  return html`<strong>${job}</strong> ${badge(state === 'running' ? 'good' : 'quiet', state)} for ${spent} (${trigger})${
    progress && bar(progress)
  }${outage && waiting(outage, now)}`;
}

function waiting({ since: from, until, reason }: NonNullable<LiveRun['outage']>, now: number): Html {
  const wait = duration((millis(until) ?? now) - now);
  return html`<p>${badge('warn', 'API unavailable')} The API has not answered since ${clock(from)}. The run waits for it for ${wait} more, and continues when it answers. <span class="message">${reason}</span></p>`;
}

function bar({ phase, done, total }: NonNullable<LiveRun['progress']>): Html {
  const text = total === null ? `${phase}: ${count(done)}` : `${phase}: ${count(done)} of ${count(total)}`;
  const extent =
    total === null || total <= 0 ? html`` : html` max="${total}" value="${Math.min(done, total)}"`;
  return html`<div class="progress"><progress aria-label="${phase}"${extent}></progress> <span>${text}</span></div>`;
}

export function jobsSection({ jobs }: ScheduleView, now: number): Html {
  const rows = upcoming(jobs).map((job) => [
    html`${job.name}<br><span class="quiet">${job.run}</span>`,
    html`${clock(job.nextAt)}<br><span class="quiet">${job.cron} ${job.timezone}</span>`,
    job.last
      ? html`${outcome(job.last)} ${since(job.last.endedAt, now)}${lastSuccess(job, now)}`
      : html`<span class="quiet">never ran</span>`,
  ]);
  const columns = [{ name: 'Job' }, { name: 'Next' }, { name: 'Last' }];
  return section('jobs', 'Jobs', table('jobs', 'Jobs, by next start', columns, rows));
}

/** When the last run was not a success. */
function lastSuccess({ last, lastSuccessAt }: JobView, now: number): Html | null {
  if (last?.endedAt === lastSuccessAt) return null;
  return html`<br><span class="quiet">last success ${since(lastSuccessAt, now)}</span>`;
}

function upcoming(jobs: readonly JobView[]): JobView[] {
  const at = ({ nextAt }: JobView) => millis(nextAt) ?? Number.POSITIVE_INFINITY;
  return jobs.toSorted((a, b) => Math.sign(at(a) - at(b)) || 0);
}

export function historySection({ history }: ScheduleView, now: number): Html {
  const rows = history
    .slice(0, shownRuns)
    .map((run) => [
      html`${run.job}<br><span class="quiet">${run.trigger}</span>`,
      html`${outcome(run)} ${since(run.startedAt ?? run.endedAt, now)}${took(run)}`,
      html`<span class="message">${run.message}</span>`,
    ]);
  const columns = [{ name: 'Job' }, { name: 'Result' }, { name: 'Message' }];
  return section('history', 'Last runs', table('history', 'Last runs, newest first', columns, rows));
}

function outcome({ outcome: name }: RunRecord): Html {
  return badge(tones[name], name);
}

function took({ startedAt, endedAt }: RunRecord): Html | null {
  const [from, to] = [millis(startedAt), millis(endedAt)];
  return from === null || to === null
    ? null
    : html`<br><span class="quiet">took ${duration(to - from)}</span>`;
}
