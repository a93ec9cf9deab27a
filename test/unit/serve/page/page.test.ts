import { describe, expect, it } from 'vitest';
import type { Facts } from '../../../../src/base/facts.js';
import { type PageContent, statusPage } from '../../../../src/serve/page/page.js';
import type { ScheduleView } from '../../../../src/serve/schedule/view.js';
import { emptySchedule, now, someFacts, someRun, someSchedule } from '../serving.js';

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

const well: Facts = { ...someFacts, freshness: someFacts.freshness.slice(0, 1), queue: { queued: 1 } };
const quiet: ScheduleView = { ...someSchedule, running: null, waiting: [], history: [someRun] };

describe('what it says', () => {
  it('says what runs and how far it is, what waits, and what is next', () => {
    const document = page();
    expect(words(document, 'state')).toBe('hourly-push is running: topic details. Waiting: export.');
    expect(words(document, 'now')).toMatch(
      /hourly-push running for 5 min \(schedule\) topic details: 120 of 400/,
    );
    expect(words(document, 'jobs')).toMatch(
      /hourly-push.*2026-11-20 11:10Z.*nightly.*2026-11-21 02:00Z.*done/,
    );
  });

  it('says that a run waits for the API, since when, until when and why', () => {
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
      /has not answered since 2026-11-20 10:11Z.*waits for it for 26 min more.*503 &lt;b&gt;/,
    );
    expect(words(document, 'attention')).toContain('The API does not answer: hourly-push is waiting for it');
  });

  it('says what needs attention, and counts it in the title', () => {
    const document = page();
    expect(document).toContain('<title>(3) Acme Tools · Signalhouse</title>');
    const said = words(document, 'attention');
    for (const line of [
      'people: older than its objective',
      'companies: not complete yet',
      '2 changes to push: conflict',
    ]) {
      expect(said).toContain(line);
    }
    const failing = { ...someSchedule, jobs: [{ ...someSchedule.jobs[0]!, name: 'export' }] };
    expect(words(page({ schedule: failing }), 'attention')).toContain('export failed: there is no warehouse');
  });

  it('says that all is well when it is, and that it starts before it knows', () => {
    expect(words(page({ facts: well, schedule: quiet }), 'attention')).toBe('All well');
    expect(words(page({ facts: null, schedule: emptySchedule }), 'attention')).toContain('Starting');
    expect(words(page({ facts: null, schedule: emptySchedule }), 'state')).toContain('no job is scheduled');
    expect(words(page({ facts: well, schedule: { ...quiet, stopping: true } }), 'state')).toBe(
      'Shutting down.',
    );
  });

  it('shows freshness against its objective, the budget, the backlog, the queue, and what is wrong with the data', () => {
    const document = page();
    expect(words(document, 'freshness')).toMatch(
      /topics fresh 11 min ago within 1 h people stale 2 d 7 h ago within 24 h companies incomplete never within 24 h stories no objective 7 h 05 min ago -/,
    );
    expect(words(document, 'budget')).toMatch(
      /37 of 120 requests spent this minute\. .* in the last 6 h 00 min, 35 of them/,
    );
    expect(document.match(/class="requests"/g)).toHaveLength(30);
    expect(document.match(/class="refused"/g)).toHaveLength(1);
    expect(words(document, 'backlog')).toContain('1,204 fetches (1,310 requests, about 11 min)');
    expect(words(document, 'queue')).toContain('conflict 2');
    expect(words(document, 'rejected')).toContain(
      'people 3 records last 7 h 13 min ago email: Invalid input',
    );
    expect(words(document, 'drift')).toContain('topics $.sentiment.score unknown field 412 times');
    expect(words(document, 'history')).toMatch(
      /hourly-push schedule skipped 12 h 05 min ago nightly has been running/,
    );
  });

  it('draws nothing where nothing is known', () => {
    const spent = { ...someFacts.spent, slices: [] };
    const contents = { ...someFacts.contents, drift: [], left: null };
    const document = page({ facts: { ...someFacts, spent, contents, queue: {} } });
    expect(document).toContain('No data for the last hours.');
    expect(words(document, 'drift')).toContain('none');
    expect(words(document, 'backlog')).toContain('unknown until the first sync ends');
    expect(document).not.toMatch(/NaN|Infinity|undefined|\[object/);
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
    const document = page({
      facts: poisoned(someFacts),
      schedule: poisoned(someSchedule),
      version: evil,
      problem: evil,
    });
    expect(document.split('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;').length).toBeGreaterThan(20);
    // Every tag is one of ours, and no attribute ends early so that another begins.
    const tags = document.match(/<[^>]*>?/g)!.filter((tag) => tag !== '<!doctype html>');
    const form = /^<\/?[a-z][a-z0-9]*(?: [a-zA-Z0-9-]+(?:="[^"<>]*")?)*\/?>$/;
    expect(tags.filter((tag) => !form.test(tag))).toEqual([]);
    const names = tags.flatMap((tag) => tag.replace(/"[^"]*"/g, '').match(/[^\s<>/=]+/g)!);
    expect(names.filter((name) => name === 'img' || name.startsWith('on'))).toEqual([]);
    expect(names.filter((name) => name === 'script')).toHaveLength(2);
  });
});

describe('its form', () => {
  it('is one document with landmarks, captions, and an id for everything that changes', () => {
    const document = page();
    for (const landmark of ['<header>', '<main id="main"', '<footer>', 'href="#main"', '<html lang="en">']) {
      expect(document).toContain(landmark);
    }
    expect(document.match(/<table/g)).toHaveLength(document.match(/<caption>/g)!.length);
    const ids = [...document.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document.match(/data-live/g)).toHaveLength(
      [...document.matchAll(/ id="[^"]+"[^>]* data-live/g)].length,
    );
    // The security policy would drop them.
    expect(document).not.toMatch(/ style="| on\w+="|javascript:/);
    expect(document).not.toMatch(/(?:src|href)="(?!\/|#)/);
  });
});
