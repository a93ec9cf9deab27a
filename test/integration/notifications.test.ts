import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Pulling, townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

/** The program against a real webhook, and a real SMTP server that wants encryption and a login. */

const secrets = { path: 'SECRET-path', password: 'SECRET-password', user: 'SECRET-user' };
const mails: string[] = [];
const posts: unknown[] = [];
const { sandbox } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 3, people: 3, companies: 1, messages: 10, stories: 1, templates: 1, channels: 1 },
});
let smtp: SMTPServer;
let hook: Server;
let hookStatus = 200;
let certificate: string;
let keys: { key: Buffer; cert: Buffer };

beforeAll(async () => {
  const folder = testFolder();
  certificate = join(folder, 'certificate.pem');
  const key = join(folder, 'key.pem');
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=mail.example'],
      ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  keys = { key: readFileSync(key), cert: readFileSync(certificate) };
  smtp = await mailServer({});
  hook = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    posts.push([request.url, JSON.parse(body)]);
    response.writeHead(hookStatus).end();
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  hook.closeAllConnections();
  hook.close();
  await new Promise<void>((resolve) => smtp.close(resolve));
});

/** An SMTP server that wants a login, and collects the mails. */
async function mailServer(options: SMTPServerOptions): Promise<SMTPServer> {
  const server = new SMTPServer({
    ...keys,
    onAuth: ({ username, password }, _session, done) =>
      username === secrets.user && password === secrets.password
        ? done(null, { user: username })
        : done(new Error('no')),
    onData: (stream, _session, done) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      stream.on('end', () => {
        mails.push(text);
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const portOf = (server: Server | SMTPServer['server']) => (server.address() as AddressInfo).port;

function notified() {
  const email = {
    server: `smtp://${secrets.user}@localhost:${portOf(smtp.server)}`,
    ...{ from: 'Signalhouse <signalhouse@example.com>', to: ['kim@example.com'] },
  };
  const settings = (webhookFormat: string, more: object = {}) => ({
    serve: { notify: { webhookFormat, email }, ...more },
  });
  const pulling = Pulling.into(sandbox, settings('teams'));
  const env = {
    SIGNALHOUSE_WEBHOOK_URL: `http://127.0.0.1:${portOf(hook)}/${secrets.path}`,
    SIGNALHOUSE_SMTP_PASSWORD: secrets.password,
    SIGNALHOUSE_LOG_LEVEL: 'trace',
    NODE_EXTRA_CA_CERTS: certificate,
  };
  return { pulling, env, settings };
}

it('serve --test-notification sends one by each channel, and says which did not arrive', async () => {
  const { pulling, env } = notified();
  const sent = await pulling.start(['serve', '--test-notification', '--json'], env).ended;
  expect([sent.code, JSON.parse(sent.stdout)]).toEqual([
    0,
    {
      channels: [
        { channel: 'webhook', delivered: true, problem: null },
        { channel: 'e-mail', delivered: true, problem: null },
      ],
    },
  ]);
  expect(mails.splice(0)).toEqual([expect.stringContaining('[Signalhouse] test notification')]);
  expect(posts.splice(0)).toEqual([[`/${secrets.path}`, expect.objectContaining({ type: 'message' })]]);

  hookStatus = 403;
  const untrusted = { ...env, NODE_EXTRA_CA_CERTS: '' };
  const failed = await pulling.start(['serve', '--test-notification'], untrusted).ended;
  hookStatus = 200;
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('webhook: NOT delivered: it answered 403');
  expect(failed.stdout).toMatch(/e-mail: NOT delivered: no answer \(.*SELF_SIGNED/);
  expect(mails).toEqual([]);
  posts.splice(0);
  for (const { stdout, stderr } of [sent, failed]) expect(stdout + stderr).not.toContain('SECRET');
});

it('without a channel it says what to set, and a password is never sent in the clear', async () => {
  const pulling = Pulling.into(sandbox);
  const { code, stderr } = await pulling.start(['serve', '--test-notification']).ended;
  expect([code, stderr]).toEqual([2, expect.stringContaining('SIGNALHOUSE_WEBHOOK_URL')]);
  const email = {
    server: 'smtp://u@mail.example.com?ignoreTLS=true',
    from: 'a@b.example',
    to: ['c@d.example'],
  };
  pulling.set({ serve: { notify: { email } } });
  const clear = await pulling.start(['serve'], { SIGNALHOUSE_SMTP_PASSWORD: secrets.password }).ended;
  expect([clear.code, clear.stderr]).toEqual([2, expect.stringContaining('serve.notify.email.server')]);
});

it('a job that fails is told of by every channel, once, and the log tells no secret', async () => {
  const { pulling, env } = notified();
  const refused = await pulling.start(['serve', '--once'], { ...env, SIGNALHOUSE_API_KEY: 'svc_nobody' })
    .ended;
  expect(refused.code).toBe(5);
  expect(mails.splice(0)).toEqual([
    expect.stringMatching(/^Subject: \[Signalhouse\] job nightly failed\r?$/m),
  ]);
  expect(posts.splice(0)).toHaveLength(1);
  const fine = await pulling.start(['sync'], env).ended;
  expect(fine.code).toBe(0);
  // The failed run has settled the night: the next one is a day later.
  const again = await pulling.start(['serve', '--once'], { ...env, SIGNALHOUSE_API_KEY: 'svc_nobody' }).ended;
  expect([again.stdout, mails, posts]).toEqual([expect.stringContaining('Nothing is due'), [], []]);
  for (const { stdout, stderr } of [refused, fine, again]) expect(stdout + stderr).not.toContain('SECRET');
});

it('a digest goes to the people of its job and shows what its file shows; the next one begins where it ended', async () => {
  const { pulling, env, settings } = notified();
  const digest = {
    ...{ name: 'weekly', run: 'digest', cron: '0 8 * * 1', file: 'signals-strict.duckdb' },
    ...{ to: ['product@example.com'], webhook: true },
  };
  const publish = { also: [{ file: 'signals-strict.duckdb', profile: 'strict' }] };
  const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }, digest];
  pulling.set({ publish, ...settings('slack', { jobs }) });
  const done = await pulling.start(['serve', '--once'], env).ended;
  expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/sent by e-mail and\s+webhook/)]);
  const [mail = ''] = mails.splice(0);
  expect(mail).toMatch(/^To: product@example.com\r?$/m);
  expect(mail).toMatch(/^Content-Type: text\/plain/m);
  expect(mail).toMatch(/^Content-Type: text\/html/m);
  const [[, { text }] = [null, { text: '' }]] = posts.splice(0) as [string, { text: string }][];
  expect(text).toMatch(/digest of [\s\S]*\n\nNew topics: /);
  // The strict profile has no titles and names.
  const titles = [...sandbox.world.topics.values()].map(({ title }) => title);
  expect(titles.filter((title) => mail.includes(title) || text.includes(title))).toEqual([]);
  const [, end] = /Data up to (\S+)\./.exec(text) ?? [];
  const kept = readFileSync(join(pulling.dataDir, 'reports', 'weekly', 'digest.html'), 'utf8');
  expect(kept).toContain(`Data up to ${end}.`);

  // One that did not arrive is not the last one.
  pulling.set({ publish, ...settings('slack', { jobs: [{ ...digest, name: 'second' }] }) });
  hookStatus = 403;
  const failed = await pulling.start(['serve', '--once'], env).ended;
  hookStatus = 200;
  expect([failed.code, failed.stdout]).toEqual([3, expect.stringMatching(/webhook:\s+it\s+answered\s+403/)]);
  expect(existsSync(join(pulling.dataDir, 'reports', 'second', 'digest.html'))).toBe(false);
  posts.splice(0);
  mails.splice(0);

  pulling.set({ serve: { jobs: [{ ...digest, run: 'export', file: 'other.duckdb' }] } });
  const wrong = await pulling.start(['serve', '--once'], env).ended;
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('serve.jobs[0].to')]);
});
