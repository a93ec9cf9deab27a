import { ageMinutes, type Facts, type Freshness, spendingText } from '../../base/facts.js';
import { count, counted, duration } from '../../base/units.js';
import { type Mark, marks } from '../../view/charts.js';
import { type Html, html } from '../../view/html.js';
import type { Times } from '../../view/times.js';
import type { Look } from '../../view/view-html.js';
import { outcomeTone, type RunLine, runMs } from './runs.js';

/** The charts of the status page: each has a sentence that says the same. */

/** The busiest minute of each slice against what a minute allows. */
export function requestsChart({ spent, spending }: Facts, times: Times, isRunning: boolean): Html {
  const { slices, sliceMinutes } = spent;
  const limit = (spending.limit * 60_000) / spending.windowMs;
  // Room for the name of the line.
  const highest = Math.max(limit * 1.25, ...slices.map(({ busiestMinute }) => busiestMinute));
  const total = slices.reduce((sum, { requests }) => sum + requests, 0);
  const limited = slices.reduce((sum, { rateLimited }) => sum + rateLimited, 0);
  const span = duration(slices.length * sliceMinutes * 60_000);
  const bars = slices.map(({ from, requests, rateLimited, busiestMinute }): Mark => {
    const refused = rateLimited > 0 ? `, ${count(rateLimited)} answered 429` : '';
    const title = `${times.hour(Date.parse(from))}: ${counted(requests, 'request')}, ${count(busiestMinute)} in the busiest minute${refused}`;
    return { size: busiestMinute / highest, tone: rateLimited > 0 ? 'warn' : 'busy', title };
  });
  const label = `${counted(total, 'request')} in the last ${span}${isRunning ? ', without those of the run in progress' : ''}, ${limited === 0 ? 'none' : count(limited)} answered 429.`;
  const first = slices[0];
  const window = spending.windowMs === 60_000 ? 'minute' : duration(spending.windowMs);
  const inUse =
    spending.held > spending.limit
      ? spendingText(spending)
      : html`<strong>${count(spending.held)}</strong> of ${count(spending.limit)} in use this ${window}`;
  return html`<figure id="requests-chart">
<p>${inUse}. ${label}</p>
<div class="plot"><span class="scale">budget ${count(limit)}</span>${marks(label, bars, slices.length, limit / highest)}</div>
<figcaption><span>${first ? times.hour(Date.parse(first.from)) : null}</span><span>busiest minute in each ${duration(sliceMinutes * 60_000)}</span><span>now</span></figcaption>
</figure>`;
}

/** How many runs the chart of durations has. */
const chartedRuns = 30;

/** The duration of the last runs, oldest first; null when there are no two to compare. */
export function durationsChart(runs: readonly RunLine[], { times, link }: Look): Html | null {
  const ended = runs.flatMap((run) => {
    const ms = runMs(run);
    return ms === null || run.startedAt === null ? [] : [{ run, ms }];
  });
  const shown = ended.slice(0, chartedRuns).reverse();
  const [newest] = ended;
  if (newest === undefined || shown.length < 2) return null;
  const longest = Math.max(...shown.map(({ ms }) => ms), 1);
  const bars = shown.map(({ run, ms }): Mark => {
    const { command, job, startedAt, outcome, id } = run;
    const title = `${job === null ? command : `${job}: ${command}`}, ${startedAt?.slice(0, 16).replace('T', ' ')}Z: ${outcome}, ${duration(ms)}`;
    return {
      size: ms / longest,
      tone: outcomeTone(outcome),
      title,
      href: id === null ? null : link(`/runs/${encodeURIComponent(id)}`),
    };
  });
  const label = `Duration of the last ${counted(shown.length, 'run')}: the last took ${duration(newest.ms)}, the longest ${duration(longest)}.`;
  return html`<figure id="durations-chart">
${marks(label, bars, chartedRuns, null)}
<figcaption><span>${times.since(shown[0]?.run.startedAt ?? null)}</span><span>duration of the last ${counted(shown.length, 'run')}, at most ${duration(longest)}</span><span>${times.since(newest.run.startedAt)}</span></figcaption>
</figure>`;
}

/** How much of its objective the age of a list is, from 0 to 1; null without an objective or an age. */
export function ageShare(one: Freshness, now: number): number | null {
  const age = ageMinutes(one, now);
  return one.objectiveMinutes === null || age === null ? null : Math.min(1, age / one.objectiveMinutes);
}
