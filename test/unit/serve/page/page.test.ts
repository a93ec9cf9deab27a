import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../../../src/base/facts.js';
import type { Json } from '../../../../src/base/json.js';
import { isWell } from '../../../../src/commands/status.js';
import { organizationLine } from '../../../../src/serve/page/organizations.js';
import { type PageContent, runPage, runsPage, statusPage } from '../../../../src/serve/page/page.js';
import {
  emptySchedule,
  noFacts,
  now,
  someDetails,
  someFacts,
  someSchedule,
  wellFacts,
  wellSchedule,
} from '../serving.js';

function page(more: Partial<PageContent> = {}): string {
  return statusPage({
    facts: someFacts,
    problem: null,
    schedule: someSchedule,
    version: '1.2.3',
    now,
    refreshMs: 5_000,
    hasReport: true,
    ...more,
  });
}

/** The words of a part of the page, as somebody reads them. */
function words(document: string, id: string): string {
  const from = document.indexOf(`id="${id}"`);
  const tag = /<(\w+)[^<]*$/.exec(document.slice(0, from))?.[1];
  const part = document.slice(document.indexOf('>', from) + 1, document.indexOf(`</${tag}>`, from));
  return part
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** What the page answers to its three questions. */
function answers(document: string): string[] {
  const short = [...document.matchAll(/<p class="short">(.*?)<\/p>/g)].map(([, text = '']) => text);
  return short.map((text) => text.replace(/<[^>]*>/g, ''));
}

describe('its three questions', () => {
  it('are answered when things are wrong', () => {
    expect(answers(page())).toEqual(['No', 'Running hourly-push', '6 things']);
    expect(words(page(), 'state')).toBe('Running hourly-push');
    expect(page()).toContain('<title>(6) Acme Tools · Signalhouse</title>');
  });

  it('are answered when all is well', () => {
    const document = page({ facts: wellFacts, schedule: wellSchedule });
    expect(answers(document)).toEqual(['Yes', 'Nothing now', 'Nothing']);
    expect(document).toContain('<title>Acme Tools · Signalhouse</title>');
    for (const id of ['attention', 'now', 'failing', 'rejected', 'drift'])
      expect(document).not.toContain(`id="${id}"`);
  });

  it('say that the first pull was not complete yet, here and beside other organizations', () => {
    const contents = {
      ...wellFacts.contents!,
      left: { ...wellFacts.contents!.left!, is_pulled: false, first_requests: 17 },
    };
    const facts = { ...wellFacts, contents };
    const document = page({ facts, schedule: wellSchedule });
    expect(answers(document)).toEqual(['Yes, with open points', 'Nothing now', '1 thing']);
    expect(document).toContain('17 requests left: until then numbers are too low');
    const line = (known: Facts) =>
      organizationLine('acme', { facts: known, problem: null, schedule: wellSchedule }, now);
    expect([line(wellFacts), line(facts)].map(isWell)).toEqual([true, false]);
  });

  it('are answered before it knows anything, before the first sync has ended, and while it shuts down', () => {
    const early = page({ facts: null, schedule: emptySchedule });
    expect(answers(early)).toEqual(['Starting', 'Nothing', 'Nothing']);
    const first = page({ facts: noFacts, schedule: wellSchedule });
    expect(answers(first)).toEqual(['Not known yet', 'Nothing now', '1 thing']);
    expect(words(first, 'attention')).toContain('There is no data yet');
    // Nobody has to do anything while it is being fetched.
    expect(answers(page({ facts: noFacts }))).toEqual(['Not known yet', 'Running hourly-push', 'Nothing']);
    expect(words(page({ schedule: { ...wellSchedule, stopping: true } }), 'state')).toBe('Shutting down');
  });

  it('a command in another process is what it is doing', () => {
    const holder = {
      pid: 77,
      host: 'node-3',
      command: 'signalhouse sync',
      since: '2026-11-20T10:00:00.000Z',
    };
    const document = page({ facts: { ...wellFacts, holder }, schedule: wellSchedule });
    expect(answers(document)[1]).toBe('Running signalhouse sync');
    expect(document).toContain('process 77 on node-3, since');
    // Our own process ended its job since the facts were read.
    const own = { ...holder, pid: process.pid, host: hostname() };
    expect(answers(page({ facts: { ...wellFacts, holder: own }, schedule: wellSchedule }))[1]).toBe(
      'Nothing now',
    );
    // A job that is due meanwhile waits for it.
    const running = { ...someSchedule.running!, progress: null };
    const waiting = page({ facts: { ...wellFacts, holder }, schedule: { ...wellSchedule, running } });
    expect(waiting).toContain('waiting for signalhouse sync (process 77 on node-3), for 5 min');
  });

  it('an outage that a run waits out is said with its time and its reason', () => {
    const outage = {
      since: '2026-11-20T10:11:00.000Z',
      until: '2026-11-20T10:41:00.000Z',
      reason: 'topic: GET /topics/t1 503 <b>',
    };
    const document = page({ schedule: { ...someSchedule, running: { ...someSchedule.running!, outage } } });
    expect(words(document, 'state')).toBe('hourly-push waits for the API');
    expect(document.replace(/<[^>]*>/g, '')).toMatch(
      /has not answered since today 11:11.*waits for it for 26 min more.*503 &lt;b&gt;/,
    );
    expect(answers(document).slice(0, 2)).toEqual(['No', 'hourly-push waits for the API']);
    expect(words(document, 'attention')).toContain('The API does not answer hourly-push waits for it');
  });
});

it('what needs attention has a title, a reason, and the command that fixes it; the worst comes first', () => {
  const said = words(page(), 'attention');
  expect(said).toMatch(
    /^What to do The last push failed the API has been unavailable for 30 min Show the run signalhouse push Copy/,
  );
  for (const part of [
    'The people list is stale',
    'signalhouse sync --only people Copy',
    'The companies list was never read completely',
    'Too much of topic_groups is out of date 11.0 % of topic_groups is out of date (95 %: 8.0 to 14.0 %,',
    '2 changes are in conflict',
    'signalhouse changes list --status conflict',
    '3 records of people are rejected',
    'FROM ops.rejected_records',
  ])
    expect(said).toContain(part);
  const ofAcme = page({ organization: { name: 'acme', base: '/o/acme' } });
  expect(words(ofAcme, 'attention')).toContain('signalhouse sync --only people --organization acme Copy');
});

it('a run has a page with its summary, and one of another version shows what it has', () => {
  const content = {
    facts: someFacts,
    schedule: someSchedule,
    problem: null,
    version: '1.2.3',
    now,
    refreshMs: 1,
    hasReport: true,
  };
  const document = runPage(content, someDetails);
  expect(document).toContain('<h1 id="heading">nightly: sync</h1>');
  expect(words(document, 'rows-table')).toContain('messages 1,192 12 7');
  expect(words(document, 'requests-table')).toMatch(/person 1,200 topic 402 topics 21/);
  expect(words(document, 'scans')).toContain(
    'companies: verified, 40 of 40 items in 1 attempt; the deletion limit held back 60 deletions',
  );
  expect(words(document, 'failures')).toContain('topic_history t_9: HTTP 500');
  for (const summary of [null, [], { rows: 7, scans: [{ endpoint: {} }], notes: 'x' }]) {
    const other = runPage(content, { ...someDetails, program_version: '1.2.2', summary: summary as Json });
    expect(other).toContain('4,120');
    expect(other).not.toMatch(/NaN|undefined|\[object/);
  }
});

describe('its time zone', () => {
  it('is that of the jobs, unless the reader chooses another', () => {
    const next = (zone?: string) => words(page(zone === undefined ? {} : { query: { zone } }), 'jobs-table');
    expect(next()).toMatch(/nightly sync\+push in 15 h 46 min tomorrow 03:00 0 3 \* \* \* Europe\/Berlin/);
    expect(next('UTC')).toContain('tomorrow 02:00');
    expect(next('asia/tokyo')).toContain('tomorrow 11:00');
    expect(page({ query: { zone: 'asia/tokyo' } })).toContain(
      '?zone=Asia%2FTokyo" aria-current="true">Asia/Tokyo</a>',
    );
  });

  it('stays when a link is followed', () => {
    expect(page({ query: { zone: 'UTC' } })).toContain('href="/runs/20261120T030112000Z-4f2a?zone=UTC"');
    expect(page()).toContain('href="/runs/20261120T030112000Z-4f2a"');
  });
});

describe('what strangers write', () => {
  const evil = `<img src=x onerror="alert(1)">'"&</script><script>alert(2)</script>`;

  /** The example with every text in it replaced by markup. */
  function poisoned<T>(value: T, key = ''): T {
    if (typeof value === 'string') {
      const isMoment = !Number.isNaN(Date.parse(value)) || ['outcome', 'trigger'].includes(key);
      return (isMoment ? value : evil) as T;
    }
    if (Array.isArray(value)) return value.map((one) => poisoned(one, key)) as T;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        ['queue', 'rows'].includes(key) ? evil : name,
        poisoned(inner, name),
      ]),
    ) as T;
  }

  it('stays text, wherever it stands', () => {
    const content = {
      facts: poisoned(someFacts),
      schedule: poisoned(someSchedule),
      version: evil,
      problem: evil,
      query: { zone: evil },
      hasReport: true,
      now,
      refreshMs: 5_000,
    };
    expectOnlyText(statusPage(content));
    expectOnlyText(runsPage(content));
    expectOnlyText(runPage(content, poisoned(someDetails)));
  });

  function expectOnlyText(document: string): void {
    expect(document.split('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;').length).toBeGreaterThan(5);
    // Every tag is one of ours, and no attribute ends early so that another begins.
    const tags = document.match(/<[^>]*>?/g)!.filter((tag) => tag !== '<!doctype html>');
    const form = /^<\/?[a-z][a-z0-9]*(?: [a-zA-Z0-9-]+(?:="[^"<>]*")?)*\/?>$/;
    expect(tags.filter((tag) => !form.test(tag))).toEqual([]);
    const names = tags.flatMap((tag) => tag.replace(/"[^"]*"/g, '').match(/[^\s<>/=]+/g)!);
    expect(names.filter((name) => name === 'img' || name.startsWith('on'))).toEqual([]);
    expect(names.filter((name) => name === 'script')).toHaveLength(2);
  }
});

it('the page is one document with landmarks, names for its tables and charts, and no id twice', () => {
  const document = page();
  for (const landmark of ['<header>', '<main id="main"', '<footer>', 'href="#main"', '<html lang="en">']) {
    expect(document).toContain(landmark);
  }
  expect(document.match(/<table [^>]*aria-label="/g)).toHaveLength(document.match(/<table/g)!.length);
  expect(document.match(/<svg [^>]*aria-label="/g)).toHaveLength(document.match(/<svg/g)!.length);
  const ids = [...document.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  // The security policy would drop them.
  expect(document).not.toMatch(/ style="| on\w+="|javascript:/);
  expect(document).not.toMatch(/(?:src|href)="(?!\/|#|\?zone=)/);
});
