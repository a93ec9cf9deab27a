import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../../src/base/clock.js';
import { DeliveryError, type Message } from '../../../../src/serve/notify/deliver.js';
import { type EmailSettings, email, emailProblems } from '../../../../src/serve/notify/email.js';
import { type MailServer, mailServer } from '../../../support/mail-server.js';
import { now } from '../serving.js';

const message: Message = {
  event: 'stale',
  kind: 'resource',
  subject: 'topics',
  from: 'Acme\r\nBcc: everybody@example.com',
  title: 'topics is stale',
  detail: 'was last complete 2 d 7 h ago (objective: 1 d 2 h)\n.\nMAIL FROM:<x@example.com>',
  since: new Date(now).toISOString(),
};
const password = 'SECRET-password';
const login = 'SECRET-user';
const settings = {
  server: `smtp://${login}@127.0.0.1?ignoreTLS=true`,
  from: 'Signalhouse <signalhouse@example.com>',
  to: ['kim@example.com', 'lee@example.com'],
} satisfies EmailSettings;
/** Waits between attempts are over at once. */
const clock: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(0, signal) };

let server: { close(): unknown } | undefined;
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await server?.close();
  server = undefined;
});

async function smtp(options?: SMTPServerOptions): Promise<MailServer> {
  const started = await mailServer(login, password, options);
  server = started;
  return started;
}

/** The settings of a local server, without encryption unless `query` is empty. */
function local(port: number, query = '?ignoreTLS=true') {
  return { ...settings, server: `smtp://${login}@127.0.0.1:${port}${query}` };
}

function deliver({ port, query }: { port: number; query?: string }, secret = password) {
  const send = email({ settings: local(port, query), password: secret, clock, timeoutMs: 60_000 });
  return send(message, new AbortController().signal);
}

/** An error as a server gives it, with a text that must not be repeated. */
function answer(code: number): Error {
  return Object.assign(new Error(`SECRET ${login} and kim@example.com`), { responseCode: code });
}

describe('an e-mail', () => {
  it('arrives at everybody, with a subject of one line and no header but ours', async () => {
    const { port, mails } = await smtp();
    await expect(deliver({ port })).resolves.toBeNull();
    expect(mails.map(({ to }) => to)).toEqual([settings.to]);
    const [head = '', body = ''] = (mails[0]?.text ?? '').split(/\r\n\r\n(.*)/s);
    expect(head).toMatch(/^Subject: \[Acme Bcc: everybody@example.com\] topics is stale\r?$/m);
    expect(head).toMatch(/^Auto-Submitted: auto-generated\r?$/m);
    expect(head).not.toMatch(/^(Bcc|X-Mailer):/m);
    expect(body).toContain('was last complete 2 d 7 h ago');
    expect(body).toContain('MAIL FROM:<x@example.com>');
  });

  it('is tried again where that may help', async () => {
    let attempts = 0;
    const { port, mails } = await smtp({
      onMailFrom: (_address, _session, done) => done(++attempts < 3 ? answer(451) : null),
    });
    await expect(deliver({ port })).resolves.toBeNull();
    expect([attempts, mails.length]).toEqual([3, 1]);
  });

  it.each([
    [
      'a refused sender',
      { onMailFrom: (_a, _s, done) => done(answer(550)) },
      'it answered 550 (EENVELOPE)',
      {},
    ],
    ['a wrong password', {}, 'it answered 535 (EAUTH)', { secret: 'SECRET-wrong' }],
    [
      'no encryption',
      { disabledCommands: ['STARTTLS'] },
      /^it answered 50[02] |^no encrypted/,
      { query: '' },
    ],
    ['a certificate that is not trusted', {}, /ESOCKET|ETLS/, { query: '' }],
  ] as [string, SMTPServerOptions, string | RegExp, { query?: string; secret?: string }][])(
    'with %s is not delivered, and the reason tells no secret',
    async (_, options, reason, { secret, ...more }) => {
      const { port, mails } = await smtp(options);
      const error = await deliver({ port, ...more }, secret).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(DeliveryError);
      const text = String((error as Error).message);
      if (typeof reason === 'string') expect(text).toBe(reason);
      else expect(text).toMatch(reason);
      expect(text).not.toMatch(/SECRET|example\.com|127\.0\.0\.1/);
      expect(mails).toEqual([]);
    },
  );

  it('is given up when nobody answers, and at once at the end', async () => {
    const silent = createServer((socket) => void sockets.add(socket));
    server = silent;
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const impatient = email({ settings: local(port), password, clock, timeoutMs: 100 });
    await expect(impatient(message, new AbortController().signal)).rejects.toThrow(/^no answer \(/);
    expect(sockets.size).toBe(3);
    const stop = new AbortController();
    const patient = email({ settings: local(port), password, clock, timeoutMs: 600_000 });
    const waiting = patient(message, stop.signal);
    while (sockets.size < 4) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('the end'));
    await expect(waiting).rejects.toThrow('the end');
  });
});

describe('the settings', () => {
  const none: EmailSettings = { to: [] };
  const of = (given: EmailSettings, secret?: string) =>
    emailProblems(given, secret, (path) => path.replace('serve.notify.email.', '')).map(
      ({ setting }) => setting,
    );

  it.each([
    ['nothing at all', none, undefined, []],
    ['all of it', { ...settings, server: 'smtps://anna%40example.com@mail.example.com' }, password, []],
    ['addresses without a server', { ...none, to: ['kim@example.com'] }, undefined, ['server']],
    ['a server without addresses', { ...none, server: 'smtp://mail.example.com' }, undefined, ['from', 'to']],
    ['a user without a password', settings, undefined, ['SIGNALHOUSE_SMTP_PASSWORD']],
    ['a password without a user', { ...settings, server: 'smtp://mail.example.com' }, password, ['server']],
    [
      'a password in the clear',
      { ...settings, server: 'smtp://anna@mail.example.com?ignoreTLS=true' },
      password,
      ['server'],
    ],
    ['a password in the clear on this machine', settings, password, []],
  ] as [string, EmailSettings, string | undefined, string[]][])('%s', (_, given, secret, expected) => {
    expect(of(given, secret)).toEqual(expected);
  });
});
