import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Server as NetServer } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Pulling, townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

const { sandbox } = await townOfFile({ holds: 'nothing' });
let certificate: string;
let tls: NetServer;
let proxy: Server;
/** What the proxy was asked for, and with which login. */
const asked: [string | undefined, string | undefined][] = [];
/** The status with which the proxy refuses everything; null while it lets everything through. */
let refusal: number | null = null;

async function portOf(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function link(one: Duplex, other: Duplex): void {
  one.pipe(other).pipe(one);
  one.on('error', () => other.destroy());
  other.on('error', () => one.destroy());
}

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
      '/CN=api.example',
      '-addext',
      'subjectAltName=DNS:api.example,IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'ignore' },
  );
  const { port } = new URL(sandbox.baseUrl);
  tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) =>
    link(socket, connect(Number(port), '127.0.0.1')),
  );
  const tlsPort = await portOf(tls);
  proxy = createServer().on('connect', (request: IncomingMessage, socket: Duplex) => {
    asked.push([request.url, request.headers['proxy-authorization']]);
    if (refusal !== null) return socket.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    return link(socket, connect(tlsPort, '127.0.0.1'));
  });
  await portOf(proxy);
});
afterAll(async () => {
  for (const server of [tls, proxy]) server.close();
});

const portNow = (server: NetServer) => (server.address() as AddressInfo).port;
const direct = () => `https://127.0.0.1:${portNow(tls)}/v1`;
const proxyUrl = () => `http://kim:se%20cret@127.0.0.1:${portNow(proxy)}`;

/** Reads the short lists in a process of its own. */
async function sync(env: Record<string, string>) {
  const pulling = Pulling.into(sandbox, { api: { outageMinutes: 0 } });
  asked.length = 0;
  const ran = await pulling.start(['sync', '--only', 'channels'], env).ended;
  expect(ran.stdout + ran.stderr).not.toMatch(/se%20cret|se cret|a2ltOn/);
  // The lines of an error are as wide as a terminal.
  return { ...ran, stderr: ran.stderr.replace(/\s+/g, ' ') };
}

it('an untrusted certificate is an error that names NODE_EXTRA_CA_CERTS, and with it the certificate is trusted', async () => {
  const untrusted = await sync({ SIGNALHOUSE_BASE_URL: direct() });
  expect(untrusted.code).toBe(1);
  expect(untrusted.stderr).toContain('the certificate is not accepted (DEPTH_ZERO_SELF_SIGNED_CERT)');
  expect(untrusted.stderr).toContain('NODE_EXTRA_CA_CERTS');

  const proxies = { HTTPS_PROXY: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' };
  const trusted = { SIGNALHOUSE_BASE_URL: direct(), NODE_EXTRA_CA_CERTS: certificate };
  // Loopback is direct, whatever the environment says of proxies.
  expect(await sync({ ...trusted, ...proxies })).toMatchObject({ code: 0 });
  const other = { ...trusted, SIGNALHOUSE_BASE_URL: direct().replace('127.0.0.1', 'localhost') };
  expect(await sync(other)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/ERR_TLS_CERT_ALTNAME_INVALID.*check SIGNALHOUSE_BASE_URL/),
  });
});

const remote = () => ({
  SIGNALHOUSE_BASE_URL: 'https://api.example/v1',
  NODE_EXTRA_CA_CERTS: certificate,
});

it('the proxy of the environment carries the requests, with its login', async () => {
  for (const name of ['HTTPS_PROXY', 'http_proxy']) {
    expect(await sync({ ...remote(), [name]: proxyUrl() })).toMatchObject({ code: 0 });
    const login = `Basic ${Buffer.from('kim:se cret').toString('base64')}`;
    expect(new Set(asked.map((one) => one.join(' ')))).toEqual(new Set([`api.example:443 ${login}`]));
  }
});

it('a webhook goes through the proxy as well', async () => {
  const pulling = Pulling.into(sandbox);
  asked.length = 0;
  const env = {
    SIGNALHOUSE_WEBHOOK_URL: 'https://hooks.example/secret',
    HTTPS_PROXY: proxyUrl(),
    NODE_EXTRA_CA_CERTS: certificate,
  };
  const { stdout } = await pulling.start(['serve', '--test-notification'], env).ended;
  expect(asked.map(([host]) => host)).toContain('hooks.example:443');
  // What is behind this proxy has the certificate of another host.
  expect(stdout).toContain('webhook: NOT delivered: no answer (ERR_TLS_CERT_ALTNAME_INVALID)');
});

it('a host of NO_PROXY is reached directly', async () => {
  for (const name of ['NO_PROXY', 'no_proxy']) {
    const ran = await sync({ ...remote(), HTTPS_PROXY: proxyUrl(), [name]: 'localhost,.example' });
    expect([ran.code, ran.stderr, asked]).toEqual([1, expect.stringMatching(/ENOTFOUND|EAI_AGAIN/), []]);
  }
});

it.each([' * ', 'other,*', 'corp.example.', '10.0.0.0/8'])(
  'NO_PROXY=%j would be ignored, and is refused before anything is sent',
  async (form) => {
    const ran = await sync({ ...remote(), HTTPS_PROXY: proxyUrl(), NO_PROXY: form });
    expect([ran.code, ran.stderr, asked]).toEqual([2, expect.stringContaining('is not supported'), []]);
  },
);

it('a key is not sent where certificates are not checked, except to this machine', async () => {
  const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const ran = await sync({ ...remote(), HTTPS_PROXY: proxyUrl(), ...unchecked });
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('NODE_TLS_REJECT_UNAUTHORIZED')]);
  expect(asked).toEqual([]);
  expect(await sync({ SIGNALHOUSE_BASE_URL: direct(), ...unchecked })).toMatchObject({ code: 0 });
});

it('a proxy that refuses, does not answer or is misspelt is an error that names it without its password', async () => {
  const { origin } = new URL(proxyUrl());
  refusal = 407;
  try {
    const refused = await sync({ ...remote(), HTTPS_PROXY: proxyUrl() });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`was refused by the proxy ${origin} (407)`);
    expect(asked).toHaveLength(1);
  } finally {
    refusal = null;
  }
  const absent = await sync({ ...remote(), HTTPS_PROXY: 'http://kim:se%20cret@127.0.0.1:1' });
  expect(absent.code).toBe(1);
  expect(absent.stderr).toContain('could not be sent through the proxy http://127.0.0.1:1 (ECONNREFUSED)');
  const misspelt = await sync({ ...remote(), HTTPS_PROXY: 'kim:se%20cret@127.0.0.1:1' });
  expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringContaining('HTTPS_PROXY')]);
});
