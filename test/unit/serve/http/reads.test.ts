import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.js';
import { buildServer } from '../../../../src/serve/http/server.js';
import { emptySchedule, now, serving, someDetails, someFacts, someSchedule } from '../serving.js';

/** Asks a server of its own, under a name that it knows. */
async function ask(
  url: string,
  more: Parameters<typeof serving>[0] = {},
  headers: Record<string, string> = {},
) {
  const app = buildServer(serving(more));
  try {
    return await app.inject({ url, headers: { host: 'localhost:8080', ...headers } });
  } finally {
    await app.close();
  }
}

describe('probes', () => {
  it('is alive whatever the facts do', async () => {
    const answer = await ask('/healthz', { facts: () => Promise.reject(new Error('no disk')) });
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('is ready once there are facts, and not while it stops', async () => {
    let release = () => {};
    const read = new Promise<void>((resolve) => {
      release = resolve;
    });
    const app = buildServer(serving({ facts: () => read.then(() => someFacts) }));
    const headers = { host: 'localhost' };
    const early = await app.inject({ url: '/readyz', headers });
    expect([early.statusCode, early.json().message]).toEqual([503, 'The warehouse is being read.']);
    release();
    await read;
    expect((await app.inject({ url: '/readyz', headers })).statusCode).toBe(200);
    await app.close();

    const stopping = await ask('/readyz', {
      schedule: { view: () => ({ ...someSchedule, stopping: true }) },
    });
    expect([stopping.statusCode, stopping.json()]).toEqual([
      503,
      { code: 'not_ready', message: 'The worker is shutting down.' },
    ]);
  });
});

describe('what is shown', () => {
  it('gives the page before there are facts, and with none planned', async () => {
    const answer = await ask('/', {
      facts: () => Promise.reject(new Error('no disk')),
      schedule: { view: () => emptySchedule },
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toMatch(/The warehouse cannot be read<\/h3>\s*<p[^>]*>no disk/);
  });

  it.each(['/', '/runs', '/status.json', '/metrics', '/assets/page.css', '/healthz', '/nowhere'])(
    'sends the headers that keep strangers out: %s',
    async (url) => {
      const { headers } = await ask(url);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
    },
  );
});

describe('the report', () => {
  const report = async (since: string | null) => ({
    html: `<p>since ${since}</p>`,
    policy: "default-src 'none'; style-src 'sha256-x'",
  });

  it('is a page with a policy of its own, since the date that is asked for', async () => {
    const answer = await ask('/report?since=2026-11-01', { report });
    expect([answer.statusCode, answer.body]).toEqual([200, '<p>since 2026-11-01</p>']);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'sha256-x'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    });
    expect((await ask('/report', { report })).body).toBe('<p>since null</p>');
    expect((await ask('/', { report })).body).toContain('href="/report"');
  });

  it('says when nothing was published yet, and why it is not shown', async () => {
    const early = await ask('/report', { report: async () => null });
    expect([early.statusCode, early.json().code]).toEqual([503, 'not_ready']);
    const hidden = await ask('/report');
    expect([hidden.statusCode, hidden.json().message]).toEqual([404, expect.stringContaining('serve.users')]);
    expect((await ask('/')).body).not.toContain('href="/report"');
  });
});

describe('runs', () => {
  const [night] = someFacts.contents.runs;

  it('has a page for each run that is listed, and reads no other', async () => {
    const read: string[] = [];
    const run = async (id: string) => {
      read.push(id);
      return someDetails;
    };
    const clock = { ...systemClock, now: () => now };
    const shown = await ask(`/runs/${night?.run_id}?zone=Asia/Tokyo`, { run, clock });
    expect([shown.statusCode, shown.body]).toEqual([200, expect.stringContaining('today 12:01')]);
    expect((await ask('/runs')).body).toContain(`/runs/${night?.run_id}`);
    for (const path of ['/runs/x', "/runs/'%20OR%201=1", `/runs/${night?.run_id}/x`]) {
      const answer = await ask(path, { run });
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
    }
    expect(read).toEqual([night?.run_id]);
  });

  it('has a page for people who follow an address that leads nowhere, and JSON for programs', async () => {
    for (const path of ['/nowhere', '/runs/x']) {
      const answer = await ask(path, {}, { accept: 'text/html,*/*' });
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
      expect(answer.body).toMatch(/There is no (page|run) .*<a href="\/">/s);
      expect((await ask(path)).json().code).toBe('not_found');
    }
  });

  it.each(['Europe/Nowhere', '%00', 'x'.repeat(5_000), 'UTC&zone=UTC', '..%2F..'])(
    'a time zone that does not exist counts as none: %.20s',
    async (zone) => {
      const { statusCode, body } = await ask(`/?zone=${zone}`);
      expect(statusCode).toBe(200);
      expect(body).toContain('aria-current="true">Europe/Berlin<');
    },
  );
});

describe('names', () => {
  it.each(['127.0.0.1:8080', '[::1]:8080', 'localhost', 'LOCALHOST:1', 'status.internal'])(
    'is asked as %s',
    async (host) => {
      expect((await ask('/runs', { allowedHosts: ['status.internal'] }, { host })).statusCode).toBe(200);
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', '0.0.0.0'])(
    'is not asked as %s while it listens on loopback',
    async (host) => {
      const answer = await ask('/status.json', {}, { host });
      expect([answer.statusCode, answer.json().code]).toEqual([421, 'misdirected']);
    },
  );

  it('takes every name where it listens to the network, unless it is told which', async () => {
    const open = { host: '0.0.0.0' };
    expect((await ask('/runs', open, { host: '10.0.0.1:8080' })).statusCode).toBe(200);
    const named = { ...open, allowedHosts: ['status.internal'] };
    expect((await ask('/runs', named, { host: '10.0.0.1:8080' })).statusCode).toBe(421);
  });

  it.each(['/healthz', '/readyz', '/metrics'])(
    'are of no matter to %s: Kubernetes and Prometheus ask a pod by its address',
    async (path) => {
      const named = { host: '0.0.0.0', allowedHosts: ['status.internal'] };
      expect((await ask(path, named, { host: '10.0.0.1:8080' })).statusCode).not.toBe(421);
    },
  );
});
