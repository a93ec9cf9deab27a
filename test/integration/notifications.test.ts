import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type MailServer, mailServer } from '../support/mail-server.js';
import { Pulling, townOfFile } from '../support/pulling.js';
import { type RawServer, rawServer } from '../support/raw-server.js';
import { testFolder } from '../support/test-folders.js';

/** The program against a real webhook, and a real SMTP server that wants encryption and a login. */

const secrets = { path: 'SECRET-path', password: 'SECRET-password', user: 'SECRET-user' };
const posts: unknown[] = [];
const { sandbox } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 3, people: 3, companies: 1, messages: 10, stories: 1, templates: 1, channels: 1 },
});
let smtp: MailServer;
const mails = () => smtp.mails.splice(0).map(({ text }) => text);
let hook: RawServer;
let hookStatus = 200;
let certificate: string;

beforeAll(async () => {
  const folder = testFolder();
  certificate = join(folder, 'certificate.pem');
  const key = join(folder, 'key.pem');
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=mail.example',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'ignore' },
  );
  smtp = await mailServer(secrets.user, secrets.password, {
    key: readFileSync(key),
    cert: readFileSync(certificate),
    allowInsecureAuth: false,
  });
  hook = await rawServer((response, { url, body }) => {
    posts.push([url.pathname, JSON.parse(body)]);
    response.writeHead(hookStatus).end();
  });
});
afterAll(async () => {
  await hook.close();
  await smtp.close();
});

function notified() {
  const email = {
    server: `smtp://${secrets.user}@localhost:${smtp.port}`,
    from: 'Signalhouse <signalhouse@example.com>',
    to: ['kim@example.com'],
  };
  const settings = (webhookFormat: string, more: object = {}) => ({
    serve: { notify: { webhookFormat, email }, ...more },
  });
  const pulling = Pulling.into(sandbox, settings('teams'));
  const env = {
    SIGNALHOUSE_WEBHOOK_URL: `${hook.baseUrl}/${secrets.path}`,
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
  expect(mails()).toEqual([expect.stringContaining('[Signalhouse] test notification')]);
  expect(posts.splice(0)).toEqual([[`/v1/${secrets.path}`, expect.objectContaining({ type: 'message' })]]);

  hookStatus = 403;
  const untrusted = { ...env, NODE_EXTRA_CA_CERTS: '' };
  const failed = await pulling.start(['serve', '--test-notification'], untrusted).ended;
  hookStatus = 200;
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('webhook: NOT delivered: it answered 403');
  expect(failed.stdout).toMatch(/e-mail: NOT delivered: no answer \(.*SELF_SIGNED/);
  expect(mails()).toEqual([]);
  posts.splice(0);
  for (const { stdout, stderr } of [sent, failed]) expect(stdout + stderr).not.toContain('SECRET');
});

it('a job that fails is told of by every channel, once, and the log tells no secret', async () => {
  const { pulling, env } = notified();
  const refused = await pulling.start(['serve', '--once'], { ...env, SIGNALHOUSE_API_KEY: 'svc_nobody' })
    .ended;
  expect(refused.code).toBe(5);
  expect(mails()).toEqual([expect.stringMatching(/^Subject: \[Signalhouse\] job nightly failed\r?$/m)]);
  expect(posts.splice(0)).toHaveLength(1);
  const fine = await pulling.start(['sync'], env).ended;
  expect(fine.code).toBe(0);
  // The failed run has settled the night: the next one is a day later.
  const again = await pulling.start(['serve', '--once'], { ...env, SIGNALHOUSE_API_KEY: 'svc_nobody' }).ended;
  expect([again.stdout, mails(), posts]).toEqual([expect.stringContaining('Nothing is due'), [], []]);
  for (const { stdout, stderr } of [refused, fine, again]) expect(stdout + stderr).not.toContain('SECRET');
});

it('a digest goes to the people of its job and shows what its file shows; the next one begins where it ended', async () => {
  const { pulling, env, settings } = notified();
  const digest = {
    name: 'weekly',
    run: 'digest',
    cron: '0 8 * * 1',
    file: 'signals-strict.duckdb',
    to: ['product@example.com'],
    webhook: true,
  };
  const publish = { also: [{ file: 'signals-strict.duckdb', profile: 'strict' }] };
  const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }, digest];
  pulling.set({ publish, ...settings('slack', { jobs }) });
  const done = await pulling.start(['serve', '--once'], env).ended;
  expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/sent by e-mail and\s+webhook/)]);
  const [mail = ''] = mails();
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
  mails();

  pulling.set({ serve: { jobs: [{ ...digest, run: 'export', file: 'other.duckdb' }] } });
  const wrong = await pulling.start(['serve', '--once'], env).ended;
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('serve.jobs[0].to')]);
});
