import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../../src/base/clock.js';
import type { Facts } from '../../../../src/base/facts.js';
import { cacheFacts } from '../../../../src/serve/facts-cache.js';

import { Notifier, type NotifierOptions } from '../../../../src/serve/notify/notifier.js';
import type { NotifyState } from '../../../../src/serve/notify/state.js';
import { webhook } from '../../../../src/serve/notify/webhook.js';
import type { Store } from '../../../../src/serve/store.js';
import { now, someFacts, someRun } from '../serving.js';

/** Answers of the other side, one an attempt; the last one stays. `hang` is none. */
let answers: (number | 'hang')[];
let heard: { readonly text: string; readonly event: string; readonly subject: string }[];
let paths: string[];
let server: Server;
let url: string;
/** Waits between attempts are over at once. */
const clock: Clock = { ...systemClock, now: () => now, sleep: (_, signal) => systemClock.sleep(0, signal) };

beforeEach(async () => {
  [answers, heard, paths] = [[200], [], []];
  server = createServer(async (request, response) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    paths.push(request.url!);
    let body = '';
    for await (const chunk of request) body += chunk;
    if (answer === 'hang') return;
    if (answer === 200) heard.push(JSON.parse(body));
    response.writeHead(answer!, { location: '/elsewhere' }).end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/SECRET`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function memory(): Store<NotifyState> {
  let value: NotifyState | null = null;
  return {
    load: () => Promise.resolve(value),
    save: async (saved) => {
      value = saved;
    },
  };
}

function notifying(more: Partial<NotifierOptions> & { read?: () => Facts } = {}) {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
  const { read = () => ({ ...someFacts, freshness: [] }), ...rest } = more;
  const facts = cacheFacts({ facts: async () => read(), log, clock, maxAgeMs: 0 });
  // Only a side that never answers is given up, however busy the machine is.
  const deliver: NotifierOptions['deliver'] = (...given) =>
    webhook({ url, clock, timeoutMs: answers[0] === 'hang' ? 200 : 60_000 })(...given);
  const notifier = new Notifier({ name: 'webhook', deliver, store: memory(), facts, log, clock, ...rest });
  return { notifier, lines };
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
      expect(paths).toEqual(Array(attempts).fill('/services/T0/SECRET'));
      expect(lines).toHaveLength(1);
      expect(lines.join()).toContain('did not accept a notification');
      expect(lines.join()).not.toMatch(/SECRET|127\.0\.0\.1/);
      // What did not arrive is told with the next occasion.
      answers = [200];
      notifier.run({ ...someRun, outcome: 'failed', message: 'still' });
      await notifier.idle();
      expect(heard).toMatchObject([{ event: 'failed', detail: 'still' }]);
      await notifier.stop();
    },
  );
});
