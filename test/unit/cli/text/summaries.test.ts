import { describe, expect, it } from 'vitest';
import { type StatusReport, shownStatus } from '../../../../src/commands/status.js';
import type { ScanReport, SyncReport } from '../../../../src/sync/report.js';
import { syncView } from '../../../../src/view/run.js';
import { viewText } from '../../../../src/view/text.js';
import { emptySchedule } from '../../serve/serving.js';

const scan: ScanReport = {
  endpoint: 'topics',
  verified: true,
  complete: true,
  attempts: 1,
  pages: 12,
  note: null,
  items: 1_200,
  totalCount: 1_200,
  missing: 0,
  tombstoned: 0,
  restored: 0,
  fused: false,
};

const report: SyncReport = {
  runId: '20261120T101500123Z-4f2a',
  outcome: 'done',
  exitCode: 0,
  stoppedBy: null,
  startedAt: '2026-11-20T10:15:00.123Z',
  minutes: 10.3,
  endedByOutage: false,
  unavailableMinutes: 0,
  organization: { id: 'org_1', name: 'Acme' },
  requests: { total: 1_234, rateLimited: 0, byEndpoint: { topics: 12, topic_groups: 1_222 } },
  scans: [scan],
  rows: { topics: { new: 12, changed: 3, removed: 0 }, channels: { new: 0, changed: 0, removed: 0 } },
  rejected: { new: 0, known: 2, examples: [] },
  left: { due: 0, requests: 0, minutes: 0, complete: true, runs: null },
  drift: [],
  failures: [],
  leftByResource: [],
  notes: [],
  published: { path: '/data/signals.duckdb', bytes: 5_000_000, ms: 1_200, userViews: [], newlyLeftOut: [] },
};

const failure = (number: number) => ({
  endpoint: 'topic_groups',
  entityId: `0198c2f4-0000-7000-8000-00000000000${number}`,
  message: 'GET /topics/… returned 500: an explanation that goes on and on, well beyond one line of text',
  hint: 'Try again later.',
});

const syncSummary = (one: SyncReport) => viewText(syncView(one), Date.now());

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

describe('the summary of a run', () => {
  it('says everything that went wrong, in 80 columns, and no more than one can read', () => {
    const examples = Array.from({ length: 14 }, (_, index) => failure(index % 10));
    const text = syncSummary({
      ...report,
      outcome: 'incomplete',
      exitCode: 3,
      scans: [
        { ...scan, fused: true, missing: 240 },
        { ...scan, endpoint: 'people', verified: false, attempts: 3, totalCount: null, note: 'ids differed' },
        { ...scan, endpoint: 'companies', complete: false },
      ],
      rejected: { new: 14, known: 0, examples },
      failures: [
        { ...failure(1), entityId: null, hint: null },
        ...['7', '8', '9', '10'].map((entityId) => ({
          endpoint: 'person',
          entityId,
          hint: 'Run again later.',
          message: entityId === '8' ? 'something else' : `GET /people/${entityId}: 500`,
        })),
        { endpoint: 'topic', entityId: 't1', message: 'GET /topics/t1: 500', hint: null },
      ],
      drift: [{ endpoint: 'topics', path: 'mood', kind: 'unknown_field' }],
      notes: ['worker.duckdb could not be opened; the published snapshot took its place'],
      rows: {},
    });
    for (const said of [
      'done, but with failures',
      'the deletion limit held back 240 deletions',
      'people: not verified, 1,200 items in 3 attempts; ids differed',
      'companies: not read to the end',
      'and 4 more',
      '- person: 4 entities (7, 8, 9, …), most often: GET /people/{id}: 500 (Run again later.)',
      '- topic t1: GET /topics/t1: 500',
      'topics mood: unknown field',
      'worker.duckdb could not be opened',
      'nothing new, nothing changed',
    ]) {
      expect(text.replaceAll(/\s+/g, ' ')).toContain(said);
    }
    expect(widest(text)).toBeLessThanOrEqual(80);
  });

  it('does not say that nothing is left of lists that were not read to their end', () => {
    const left = { due: 0, requests: 0, minutes: 0, complete: false, runs: null };
    const unread = { ...report, left };
    const text = (one: typeof unread) => syncSummary(one).replaceAll(/\s+/g, ' ');
    expect(text(unread)).toContain('left due not known: not every list was read to its end');
    expect(text({ ...unread, left: { ...left, due: 7, requests: 7 } })).toContain('left due at least 7 (7');
    expect(text({ ...unread, left: { ...left, complete: true } })).toContain('left due nothing');
  });
});

const statusSummary = (one: StatusReport, now: number) => viewText(shownStatus(one, now), now);

describe('the summary of the status', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  const status: StatusReport = {
    holder: null,
    diskFreeBytes: null,
    publishedAt: null,
    contents: null,
    schedule: emptySchedule,
    files: { worker: null, published: null },
    spending: { held: 0, limit: 120, windowMs: 60_000 },
    spent: { slices: [], sliceMinutes: 10 },
    freshness: [],
    queue: {},
    exitCode: 0,
  };

  it('of nothing says what to do', () => {
    expect(statusSummary(status, now)).toBe(`What to do
  - There is no data yet: No sync has ended yet. The first one fetches
    everything, which takes about an hour for 8,000 requests.
    signalhouse plan
    signalhouse sync

Warehouse
  published  NOTHING YET: run signalhouse sync
  in use by  no process
  spent      0 of 120 requests this minute`);
  });

  it('during the first sync says that it runs, and before one what to do', () => {
    const holder = { pid: 7, host: 'here', command: 'signalhouse sync', since: '2026-11-20T11:48:00.000Z' };
    const worker = { path: '/data/worker.duckdb', bytes: 9_000_000 };
    const said = (more: Partial<typeof status>) =>
      statusSummary({ ...status, files: { worker, published: null }, ...more }, now).replaceAll(/\s+/g, ' ');
    const running = said({ holder });
    expect(running).toContain('published not yet: signalhouse sync has been running for 12 min');
    expect(running).not.toContain('NOTHING YET');
    expect(said({})).toContain('NOTHING YET: no run has succeeded; run signalhouse sync, which continues');
  });

  it('never says that more than the limit was spent of it', () => {
    const text = statusSummary({ ...status, spending: { held: 143, limit: 120, windowMs: 60_000 } }, now);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'spent 143 requests in the last minute, by a command with a higher rate limit than 120',
    );
  });
});
