import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/base/json.js';
import { type PageContent, runPage, runsPage, statusPage } from '../../../../src/serve/page/page.js';
import {
  emptySchedule,
  muchFacts,
  muchSchedule,
  noFacts,
  now,
  someDetails,
  someFacts,
  someRun,
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
    expect(answers(page())).toEqual(['No', 'Running hourly-push', '5 things']);
    expect(words(page(), 'state')).toBe('hourly-push is running: topic details. Waiting: export.');
    expect(page()).toContain('<title>(5) Acme Tools · Signalhouse</title>');
  });

  it('are answered when all is well', () => {
    const document = page({ facts: wellFacts, schedule: wellSchedule });
    expect(answers(document)).toEqual(['Yes', 'Nothing now', 'Nothing']);
    expect(document).toContain('<title>Acme Tools · Signalhouse</title>');
    for (const id of ['attention', 'now', 'failing', 'rejected', 'drift'])
      expect(document).not.toContain(`id="${id}"`);
  });

  it('are answered before it knows anything, before the first sync has ended, and while it shuts down', () => {
    const early = page({ facts: null, schedule: emptySchedule });
    expect(answers(early)).toEqual(['Starting', 'Nothing', 'Nothing']);
    const first = page({ facts: noFacts, schedule: wellSchedule });
    expect(answers(first)).toEqual(['Not known yet', 'Nothing now', '1 thing']);
    expect(words(first, 'attention')).toContain('There is no data yet');
    // Nobody has to do anything while it is being fetched.
    expect(answers(page({ facts: noFacts }))).toEqual(['Not known yet', 'Running hourly-push', 'Nothing']);
    expect(words(page({ schedule: { ...wellSchedule, stopping: true } }), 'state')).toBe('Shutting down.');
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
    expect(words(document, 'state')).toBe(
      'hourly-push is waiting for the API, which does not answer. Waiting: export.',
    );
    expect(document.replace(/<[^>]*>/g, '')).toMatch(
      /has not answered since today 11:11.*waits for it for 26 min more.*503 &lt;b&gt;/,
    );
    expect(answers(document).slice(0, 2)).toEqual(['No', 'hourly-push waits for the API']);
    expect(words(document, 'attention')).toContain('The API does not answer hourly-push waits for it');
  });
});

describe('what needs attention', () => {
  it('has a title, a reason, and the command that fixes it; the worst comes first', () => {
    const said = words(page(), 'attention');
    expect(said).toMatch(
      /^What to do The last push failed the API has been unavailable for 30 min Show the run signalhouse push Copy/,
    );
    for (const part of [
      'The people list is stale',
      'signalhouse sync --only people Copy',
      'The companies list was never read completely',
      '2 changes are in conflict',
      'signalhouse changes list --status conflict',
      '3 records of people are rejected',
      'FROM ops.rejected_records',
    ])
      expect(said).toContain(part);
  });

  it('a job that failed is named with its message, and the command for its kind', () => {
    const [nightly] = someSchedule.jobs;
    const failed = (exitCode: 1 | 5) => ({
      ...someRun,
      outcome: 'failed' as const,
      exitCode,
      message: 'no disk',
    });
    const said = (exitCode: 1 | 5) =>
      words(
        page({
          facts: wellFacts,
          schedule: { ...wellSchedule, jobs: [nightly!], history: [failed(exitCode)] },
        }),
        'attention',
      );
    expect(said(1)).toContain('nightly failed no disk Show the run signalhouse sync --push');
    // A refused key is not accepted the next time either.
    expect(said(5)).toContain('signalhouse doctor');
  });

  it('every other reason has its command', () => {
    const contents = {
      ...wellFacts.contents!,
      fused: [{ endpoint: 'companies' }],
      userViews: [{ file: 'churn.sql', creates: [], error: 'no such table' }],
    };
    const facts = { ...wellFacts, contents, queue: { failed: 1, queued: 3 } };
    const said = words(page({ facts, schedule: { ...wellSchedule, jobs: [] } }), 'attention');
    expect(said).toMatch(/Deletions of companies are held back .* signalhouse sync --accept-deletes/);
    expect(said).toMatch(/1 change failed .* signalhouse changes list --status failed/);
    expect(said).toMatch(/3 changes wait to be sent No job sends changes\. signalhouse push/);
    expect(said).toContain('The view file churn.sql was left out no such table');
    expect(words(page({ problem: 'no disk' }), 'attention')).toMatch(
      /The warehouse cannot be read no disk signalhouse doctor/,
    );
  });
});

describe('the list of runs', () => {
  it('has the runs of jobs and of commands once, and what never started', () => {
    const said = words(page(), 'runs-table');
    expect(said).toMatch(/sync nightly, schedule today 04:01 done 42 min 4,120 1,204 322 7/);
    expect(said).toMatch(
      /push by command yesterday 17:00 failed the API has been unavailable for 30 min 30 min 12 0 0 0/,
    );
    expect(said).toMatch(/hourly-push, schedule yesterday 23:10 skipped nightly has been running since/);
    expect(said.match(/nightly, schedule/g)).toHaveLength(1);
  });

  it('a record of an earlier version belongs to the run within its time', () => {
    const { runIds: _, ...record } = someRun;
    const said = words(page({ schedule: { ...wellSchedule, history: [record] } }), 'runs-table');
    expect(said.match(/nightly, schedule/g)).toHaveLength(1);
  });

  it('a run that is stored as running is interrupted when nobody runs', () => {
    const [night] = someFacts.contents.runs;
    const runs = [{ ...night!, outcome: 'running', ended_at: null }];
    const facts = { ...wellFacts, contents: { ...wellFacts.contents!, runs } };
    expect(words(page({ facts, schedule: { ...wellSchedule, history: [] } }), 'runs-table')).toContain(
      'interrupted',
    );
    expect(words(page({ facts, schedule: { ...someSchedule, history: [] } }), 'runs-table')).toContain(
      'running',
    );
  });

  it('shows some, and links to the page that has all of them', () => {
    const much = { facts: muchFacts, schedule: muchSchedule };
    expect(page(much)).toContain('All 303 runs');
    expect(page(much).match(/href="\/runs\/[^"]*">(sync|push)/g)!.length).toBeLessThan(13);
    const content = { ...much, problem: null, version: '1', now, refreshMs: 1, hasReport: true };
    expect(runsPage(content).match(/href="\/runs\/[^"]*">(sync|push)/g)).toHaveLength(300);
  });

  it('a run has a page with its summary, and one of another version shows what it has', () => {
    const content = {
      facts: someFacts,
      schedule: someSchedule,
      problem: null,
      version: '1',
      now,
      refreshMs: 1,
      hasReport: true,
    };
    const document = runPage(content, someDetails);
    expect(document).toContain('<h1 id="heading">nightly: sync</h1>');
    expect(words(document, 'rows-table')).toContain('messages 1,192 12 7');
    expect(words(document, 'requests-table')).toMatch(/person 1,200 topic 402 topics 21/);
    expect(words(document, 'scans')).toContain(
      'companies: verified, 40 of 40 items; the fuse held back 60 deletions',
    );
    expect(words(document, 'failures')).toContain('topic_history t_9: HTTP 500');
    for (const summary of [null, [], { rows: 7, scans: [{ endpoint: {} }], notes: 'x' }]) {
      const other = runPage(content, { ...someDetails, summary: summary as Json });
      expect(other).toContain('4,120');
      expect(other).not.toMatch(/NaN|undefined|\[object/);
    }
  });
});

describe('its charts', () => {
  it('say what they show: the budget, the age of each list, the duration of runs', () => {
    const document = page();
    expect(document).toContain(
      '37</strong> of 120 in use this minute. 19,125 requests in the last 6 h, 35 answered 429.',
    );
    const bars = /id="requests-chart".*?<\/figure>/s.exec(document)?.[0] ?? '';
    expect([bars.match(/class="busy"/g)?.length, bars.match(/class="warn"/g)?.length]).toEqual([29, 1]);
    expect(words(document, 'freshness-chart')).toMatch(
      /topics fresh 11 min ago \(max 1 h\) people stale 2 d 7 h ago \(max 24 h\) companies incomplete never \(max 24 h\) stories 7 h 05 min ago/,
    );
    const durations = /id="durations-chart".*?<\/figure>/s.exec(document)?.[0] ?? '';
    expect(durations).toContain('duration of the last 3 runs, at most 42 min');
    expect(durations.match(/<rect class="(good|bad)"/g)).toHaveLength(3);
  });

  it('draw nothing where nothing is known', () => {
    const spent = { ...someFacts.spent, slices: [] };
    const contents = { ...someFacts.contents, runs: [], drift: [], left: null };
    const document = page({ facts: { ...someFacts, spent, contents, queue: {} }, schedule: emptySchedule });
    expect(document).not.toContain('id="durations-chart"');
    expect(document).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });
});

describe('its time zone', () => {
  it('is that of the jobs, unless the reader chooses another', () => {
    const next = (zone?: string) => words(page({ zone }), 'jobs-table');
    expect(next()).toMatch(/nightly sync\+push in 15 h 46 min tomorrow 03:00 0 3 \* \* \* Europe\/Berlin/);
    expect(next('UTC')).toContain('tomorrow 02:00');
    expect(next('asia/tokyo')).toContain('tomorrow 11:00');
    expect(next('Europe/Nowhere')).toContain('tomorrow 03:00');
    expect(page({ zone: 'asia/tokyo' })).toContain('?zone=Asia%2FTokyo" aria-current="true">Asia/Tokyo</a>');
  });

  it('stays when a link is followed', () => {
    expect(page({ zone: 'UTC' })).toContain('href="/runs/20261120T030112000Z-4f2a?zone=UTC"');
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
      facts: poisoned(muchFacts),
      schedule: poisoned(muchSchedule),
      version: evil,
      problem: evil,
      zone: evil,
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

describe('its form', () => {
  it('is one document with landmarks, names for its tables and charts, and no id twice', () => {
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
});
