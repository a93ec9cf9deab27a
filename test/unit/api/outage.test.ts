import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { isSuspicious, OutageMonitor, probePauseMs } from '../../../src/api/outage.js';
import { OutageError, UnavailableError } from '../../../src/base/errors.js';
import { type Answering, json, type RawServer, rawServer, refuse } from '../../support/raw-server.js';
import { SimulatedClock } from '../../support/simulated-clock.js';
import { withApi } from './support.js';

describe('the pause between two probes', () => {
  test('grows from 1 to 2 seconds up to a minute, with jitter', () => {
    const limits = { limitMs: 1_800_000, leftMs: 1_800_000 };
    const most = [1, 2, 3, 4, 5, 6, 7].map((probe) => probePauseMs(probe, limits, 1));
    expect(most).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(probePauseMs(6, limits, 0)).toBe(30_000);
  });

  test('is as long as the server asks for, and never ends after the limit', () => {
    expect(probePauseMs(1, { limitMs: 1_800_000, leftMs: 90_000, retryAfterMs: 45_000 }, 0)).toBe(45_000);
    expect(probePauseMs(9, { limitMs: 1_800_000, leftMs: 700 }, 1)).toBe(700);
    expect(probePauseMs(1, { limitMs: 1_800_000, leftMs: 700, retryAfterMs: 45_000 }, 1)).toBe(700);
  });
});

test('a few failures are no reason to ask whoami; ten in a row are, and so are two in a long time', () => {
  expect(isSuspicious(9, 0, 1_800_000)).toBe(false);
  expect(isSuspicious(10, 0, 1_800_000)).toBe(true);
  expect(isSuspicious(2, 299_999, 1_800_000)).toBe(false);
  expect(isSuspicious(2, 300_000, 1_800_000)).toBe(true);
  expect(isSuspicious(2, 9_999, 0)).toBe(false);
  expect(isSuspicious(1, 3_600_000, 0)).toBe(false);
});

describe('the monitor', () => {
  /** An API that answers no attempt between `from` and `until`, and a monitor that probes it. */
  function monitored(limitMs: number, until: number) {
    const clock = new SimulatedClock();
    const told: string[] = [];
    const probes: number[] = [];
    const attempt = () => {
      const startedAt = clock.monotonic();
      const failure = startedAt < until ? ({ kind: 'server_error', message: '503' } as const) : undefined;
      monitor.record(startedAt, failure);
      return startedAt;
    };
    const monitor: OutageMonitor = new OutageMonitor({
      limitMs,
      clock,
      probe: async () => {
        probes.push(attempt());
        return { isFailed: probes.at(-1)! < until, retryAfterMs: undefined };
      },
      hold: (isHeld) => void told.push(isHeld ? 'held' : 'released'),
      onUnavailable: () => void told.push('unavailable'),
      onEnd: ({ isAnswered }) => void told.push(isAnswered ? 'answered' : 'gave up'),
    });
    return { clock, told, probes, monitor, attempt };
  }

  test('waits until the API answers, or exactly as long as the limit, with ever fewer probes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 3_600_000 }),
        fc.integer({ min: 1, max: 3_600_000 }),
        async (limitMs, outageMs) => {
          const { clock, told, probes, monitor, attempt } = monitored(limitMs, outageMs);
          attempt();
          const leave = monitor.enter();
          const ended = await clock.run(
            monitor.wait(new AbortController().signal).then(
              () => 'answered',
              (error: unknown) => (error instanceof OutageError ? 'gave up' : error),
            ),
          );
          leave();
          const now = clock.monotonic();
          expect(ended).toBe(outageMs <= limitMs ? 'answered' : 'gave up');
          if (ended === 'gave up') expect(now).toBe(limitMs);
          else expect(now - outageMs).toBeLessThanOrEqual(Math.min(60_000, limitMs / 4));
          expect(told.at(-1)).toBe(ended);
          // Doubling pauses, then at least half a minute each, or an eighth of a short limit.
          expect(probes.length).toBeLessThanOrEqual(
            10 + limitMs / Math.max(1, Math.min(30_000, limitMs / 8)),
          );
          expect(monitor.takeUnavailableMs()).toBe(now);
          expect(monitor.takeUnavailableMs()).toBe(0);
          expect(told.filter((one) => one === 'unavailable').length).toBeLessThanOrEqual(1 + now / 60_000);
        },
      ),
    );
  });

  test('an answer to an attempt that started before the outage does not end it', () => {
    const { clock, monitor } = monitored(1_000, 0);
    clock.skip(100);
    for (let count = 0; count < 10; count += 1)
      monitor.record(clock.monotonic(), { kind: 'reset', message: '' });
    monitor.record(50, undefined);
    expect(monitor.mustWait).toBe(true);
    monitor.record(100, undefined);
    expect(monitor.mustWait).toBe(false);
  });
});

describe('a client', () => {
  let server: RawServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });
  const whoami = { organization: { id: 'o' } };
  const retry = { attempts: 2, baseMs: 1, maxMs: 1, rateLimitedMs: 60 };

  async function serve(answer: Answering): Promise<RawServer> {
    server = await rawServer(answer);
    return server;
  }

  const outages: [string, Answering][] = [
    ['503', (response) => refuse(response, 503, 'DOWN')],
    ['502 with a page', (response) => void response.writeHead(502).end('<html>')],
    ['resets', (response) => void response.socket?.destroy()],
    ['429', (response) => refuse(response, 429, 'RATE_LIMITED', { headers: { 'retry-after': '0' } })],
  ];

  test('waits out an outage, and all calls continue', async () => {
    let probes = 0;
    const { baseUrl, requests } = await serve((response, { url }) => {
      if (url.pathname.endsWith('/whoami')) probes += 1;
      if (probes > 2) json(response, 200, whoami);
      else refuse(response, 503, 'DOWN');
    });
    const told: string[] = [];
    await withApi(
      baseUrl,
      async (api) => {
        api.events.on('unavailable', ({ reason }) => void told.push(reason));
        api.events.on('outageEnd', ({ isAnswered }) => void told.push(String(isAnswered)));
        const calls = Array.from({ length: 20 }, (_, index) =>
          api.call('topic', { params: { topicId: `t${index}` } }),
        );
        await expect(Promise.all(calls)).resolves.toHaveLength(20);
        expect(api.takeUnavailableMs()).toBeGreaterThan(0);
      },
      { retry, outageMs: 4_000 },
    );
    expect(told).toEqual([expect.stringContaining('GET /'), 'true']);
    // One probe at a time while nobody is answered: far fewer than the calls would have made.
    expect(requests.length).toBeLessThan(20 + 25);
  });

  test.each(outages)('ends every call with an OutageError after the limit: %s', async (_, down) => {
    const { baseUrl } = await serve(down);
    await withApi(
      baseUrl,
      async (api) => {
        const calls = [1, 2, 3, 4, 5, 6].map((id) => api.call('topic', { params: { topicId: `t${id}` } }));
        const ended = await Promise.allSettled(calls);
        for (const one of ended) expect(one).toMatchObject({ reason: expect.any(OutageError) });
        await expect(api.call('topics')).rejects.toBeInstanceOf(OutageError);
      },
      { retry, outageMs: 100 },
    );
  });

  test('one endpoint that fails is no outage: whoami is asked once, and the call fails', async () => {
    const { baseUrl, requests } = await serve((response, { url }) =>
      url.pathname.endsWith('/whoami') ? json(response, 200, whoami) : refuse(response, 500, 'BROKEN'),
    );
    await withApi(
      baseUrl,
      async (api) => void (await expect(api.call('topics')).rejects.toBeInstanceOf(UnavailableError)),
      { retry, outageMs: 60_000 },
    );
    expect(requests.map(({ url }) => url.pathname)).toEqual(['/v1/topics', '/v1/topics', '/v1/whoami']);
  });

  test('a web page instead of the first answer is a wrong address, and not an outage', async () => {
    const { baseUrl, requests } = await serve((response) => void response.writeHead(200).end('<html>'));
    await withApi(
      baseUrl,
      async (api) => void (await expect(api.call('whoami')).rejects.toBeInstanceOf(UnavailableError)),
      { retry, outageMs: 60_000 },
    );
    expect(requests).toHaveLength(2);
  });

  test('a write that must not be repeated, or that is answered 5xx, is thrown at once', async () => {
    const { baseUrl } = await serve((response) => refuse(response, 503, 'DOWN'));
    const change = { params: { topicId: 't' }, body: { priority: 'high' } } as const;
    await withApi(
      baseUrl,
      async (api) => {
        await expect(api.call('update_topic', change)).rejects.toBeInstanceOf(UnavailableError);
        await expect(
          api.call('update_topic', { ...change, idempotencyKey: 'k' }, { retryInDoubt: false }),
        ).rejects.toBeInstanceOf(UnavailableError);
      },
      { retry, outageMs: 60_000 },
    );
  });
});
