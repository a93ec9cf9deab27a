import { readFileSync } from 'node:fs';
import { type Facts, freshnessState } from '../../base/facts.js';
import { type Html, html } from '../../base/html.js';
import { counted } from '../../base/units.js';
import type { ScheduleView } from '../schedule/view.js';
import { badge, since } from './html.js';
import { historySection, jobsSection, nowInWords, nowSection } from './runs.js';
import {
  budgetSection,
  driftSection,
  filesSection,
  freshnessSection,
  rejectedSection,
  workSection,
} from './warehouse.js';

export interface PageContent {
  /** Null until they were read for the first time. */
  readonly facts: Facts | null;
  /** Why the last read of the facts failed; null when it succeeded. */
  readonly problem: string | null;
  readonly schedule: ScheduleView;
  readonly version: string;
  readonly now: number;
  /** How often the page refreshes itself. */
  readonly refreshMs: number;
  /** Whether the route of the report exists. */
  readonly hasReport: boolean;
}

/**
 * The whole status page, which works without a script. Elements that change have an id and `data-live`, and contain
 * nothing that can have the focus: assets/live.js fetches the page again and replaces their content.
 */
export function statusPage(content: PageContent): string {
  const { facts, problem, schedule, version, now, refreshMs, hasReport } = content;
  const wrong = attention(facts, schedule, problem, now);
  const organization = facts?.contents?.organization;
  const name = organization?.name ?? organization?.id ?? 'Signalhouse';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${wrong.length > 0 ? `(${wrong.length}) ` : ''}${name} · Signalhouse</title>
<link rel="stylesheet" href="/assets/page.css">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<noscript><meta http-equiv="refresh" content="15"></noscript>
<script src="/assets/live.js" defer></script>
</head>
<body data-refresh-ms="${refreshMs}">
<a class="skip" href="#main">Skip to the content</a>
<header>
<h1>${name}</h1>
<p id="published" data-live>Signalhouse ${version} · ${published(facts, now)}</p>${
    hasReport
      ? html`
<p><a href="/report">Report for people</a></p>`
      : null
  }
</header>
<main id="main" tabindex="-1">
<div class="verdict">
<p id="state" role="status" aria-live="polite" data-live>${nowInWords(schedule)}</p>
<p id="connection" role="status" aria-live="polite"></p>
<div id="attention" data-live>${verdict(wrong, facts)}</div>
</div>
${nowSection(schedule, now)}${jobsSection(schedule, now)}${facts && warehouse(facts, now)}${historySection(schedule, now)}${
  facts && [rejectedSection(facts, now), driftSection(facts, now), filesSection(facts)]
}
</main>
<footer><p>Times are UTC. For programs: <a href="/status.json">status.json</a>, <a href="/metrics">metrics</a>.</p></footer>
</body>
</html>
`.text;
}

function warehouse(facts: Facts, now: number): Html[] {
  return [freshnessSection(facts, now), budgetSection(facts), workSection(facts)];
}

function published(facts: Facts | null, now: number): Html {
  return facts?.publishedAt ? html`published ${since(facts.publishedAt, now)}` : html`nothing published yet`;
}

function verdict(wrong: readonly string[], facts: Facts | null): Html {
  if (wrong.length > 0) {
    return html`<p>${badge('bad', 'Needs attention')}</p><ul>${wrong.map((line) => html`<li>${line}</li>`)}</ul>`;
  }
  return facts === null
    ? html`<p>${badge('warn', 'Starting')} The warehouse has not been read yet.</p>`
    : html`<p>${badge('good', 'All well')}</p>`;
}

/** What needs attention, one sentence each; empty when all is well. */
function attention(
  facts: Facts | null,
  schedule: ScheduleView,
  problem: string | null,
  now: number,
): string[] {
  return [
    ...(problem === null ? [] : [`The warehouse cannot be read: ${problem}`]),
    ...jobs(schedule),
    ...(facts === null ? [] : [...freshness(facts, now), ...changes(facts)]),
  ];
}

function jobs({ jobs: all, history, running }: ScheduleView): string[] {
  const outage = running?.outage ? [`The API does not answer: ${running.job} is waiting for it`] : [];
  const ended = all.flatMap(({ name }) => {
    const last = history.find(
      ({ job, outcome }) => job === name && outcome !== 'skipped' && outcome !== 'interrupted',
    );
    if (last?.outcome === 'failed') return [`${name} failed: ${last.message}`];
    return last?.outcome === 'incomplete' ? [`${name} is incomplete: ${last.message}`] : [];
  });
  return [...outage, ...ended];
}

function freshness(facts: Facts, now: number): string[] {
  // Nothing is published yet: the first run brings the lists.
  if (facts.contents === null) return [];
  return facts.freshness.flatMap((one) => {
    const state = freshnessState(one, now);
    if (state === 'stale') return [`${one.resource}: older than its objective`];
    return state === 'never' ? [`${one.resource}: not complete yet`] : [];
  });
}

function changes({ queue }: Facts): string[] {
  return (['conflict', 'failed'] as const).flatMap((status) => {
    const number = queue[status] ?? 0;
    return number > 0 ? [`${counted(number, 'change')} to push: ${status}`] : [];
  });
}

/** A file of the page, kept in memory: the path of a request is never looked up on the disk. */
interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const files = {
  '/assets/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/assets/live.js': ['live.js', 'text/javascript; charset=utf-8'],
  '/assets/icon.svg': ['icon.svg', 'image/svg+xml'],
} as const;

/** The files of the page, by their paths. Throws when one is missing. */
export function pageAssets(): ReadonlyMap<string, Asset> {
  return new Map(
    Object.entries(files).map(([path, [name, type]]) => [
      path,
      { type, body: readFileSync(new URL(`assets/${name}`, import.meta.url)) },
    ]),
  );
}
