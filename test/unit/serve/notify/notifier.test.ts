import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../../src/base/clock.js';
import { cacheFacts } from '../../../../src/serve/facts-cache.js';
import { Notifier, type NotifierOptions } from '../../../../src/serve/notify/notifier.js';
import type { NotifyState } from '../../../../src/serve/notify/state.js';
import { webhook } from '../../../../src/serve/notify/webhook.js';
import { type RawServer, rawServer } from '../../../support/raw-server.js';
import { memoryStore } from '../schedule/scheduling.js';
import { now, someFacts, someRun } from '../serving.js';

/** Answers of the other side, one an attempt; the last one stays. `hang` is none. */
let answers: (number | 'hang')[];
let server: RawServer;
/** Waits between attempts are over at once. */
const clock: Clock = { ...systemClock, now: () => now, sleep: (_, signal) => systemClock.sleep(0, signal) };

beforeEach(async () => {
  answers = [200];
  server = await rawServer((response) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer !== 'hang') response.writeHead(answer ?? 200, { location: '/elsewhere' }).end('ok');
  });
});
afterEach(() => server.close());

const failed: NotifyState[string] = {
  kind: 'job',
  name: 'nightly',
  level: 'failed',
  since: '2026-11-01T03:00:00.000Z',
  detail: 'refused',
  cause: '5',
  told: 'failed',
  toldCause: '5',
  toldAt: '2026-11-01T03:00:00.000Z',
};

function notifying(more: Partial<NotifierOptions> & Pick<NotifierOptions, 'jobs'> = { jobs: [] }) {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
  const facts = cacheFacts({ facts: async () => ({ ...someFacts, freshness: [] }), log, clock, maxAgeMs: 0 });
  // Only a side that never answers is given up, however busy the machine is.
  const deliver: NotifierOptions['deliver'] = (...given) =>
    webhook({
      url: `${server.baseUrl}/SECRET`,
      clock,
      timeoutMs: answers[0] === 'hang' ? 200 : 60_000,
    })(...given);
  const store = memoryStore<NotifyState>();
  const notifier = new Notifier({ name: 'webhook', deliver, store, facts, log, clock, ...more });
  return { notifier, lines, store: more.store ?? store };
}

describe('the webhook', () => {
  it.each([
    ['refused', 404, 1],
    ['redirected', 302, 1],
    ['broken', 503, 3],
    ['silent', 'hang', 3],
  ] as const)(
    'is %s: that is logged, fails nothing, follows nothing, and tells no secret',
    async (_, answer, attempts) => {
      answers = [answer];
      const { notifier, lines } = notifying();
      notifier.run({ ...someRun, outcome: 'failed' });
      await notifier.idle();
      const paths = server.requests.splice(0).map(({ url }) => url.pathname);
      expect(paths).toEqual(Array(attempts).fill('/v1/SECRET'));
      expect(lines).toHaveLength(1);
      expect(lines.join()).toContain('did not accept a notification');
      expect(lines.join()).not.toMatch(/SECRET|127\.0\.0\.1/);
      // What did not arrive is told with the next occasion.
      answers = [200];
      notifier.run({ ...someRun, outcome: 'failed', message: 'still' });
      await notifier.idle();
      const heard = server.requests.map(({ body }) => JSON.parse(body));
      expect(heard).toMatchObject([{ event: 'failed', detail: 'still' }]);
      await notifier.stop();
    },
  );

  it('refuses one message: the others arrive, and it is sent again with the next', async () => {
    const { notifier, lines } = notifying();
    const of = (job: string) => notifier.run({ ...someRun, job, outcome: 'failed' });
    answers = [503, 503, 503, 400, 200];
    of('first');
    await notifier.idle();
    of('second');
    await notifier.idle();
    of('third');
    await notifier.idle();
    const heard = server.requests.map(({ body }) => JSON.parse(body).subject).slice(3);
    expect(heard).toEqual(['first', 'second', 'first', 'third']);
    expect(lines).toHaveLength(2);
    await notifier.stop();
  });

  it('hears no more of a job that the settings do not have any more', async () => {
    for (const [jobs, heard] of [
      [['nightly'], 1],
      [['every-night'], 0],
    ] as const) {
      const store = memoryStore<NotifyState>({ 'job:nightly': failed });
      const { notifier } = notifying({ jobs, store });
      notifier.run({ ...someRun, job: 'other', outcome: 'done' });
      await notifier.idle();
      expect(server.requests.splice(0)).toHaveLength(heard);
      await notifier.stop();
    }
  });
});
