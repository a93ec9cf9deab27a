import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/serve/http/server.js';
import { serving } from '../serving.js';

const token = 'a-token-of-some-length';
let server: RunningServer;
let taken = 0;

beforeAll(async () => {
  const intake = async () => {
    taken++;
    return { queued: 1, problems: [] };
  };
  // Short for a test; who is served in the meantime sends all at once.
  const limits = { headersMs: 700, requestMs: 900, maxSheetBytes: 10_000 };
  server = await startServer({ ...serving({ token, intake, limits }), port: 0 });
});
afterAll(() => server.close());

/** Sends bytes as they are and gives back everything that comes until the other side hangs up. */
async function raw(bytes: string, and?: (socket: Socket) => void): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString('latin1');
  });
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  // The other side may hang up while we still talk.
  socket.on('error', () => undefined);
  socket.write(bytes, 'latin1');
  and?.(socket);
  await ended;
  return answer;
}

const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
const post = (headers: string, body = '') =>
  `POST /changes HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n${headers}\r\n\r\n${body}`;
const shown = `Authorization: Bearer ${token}\r\n`;
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

/** Writes a byte now and then until the other side has had enough. */
function dribble(socket: Socket): void {
  const timer = setInterval(() => socket.write('x'), 20);
  socket.on('close', () => clearInterval(timer));
}

it('hangs up on who never ends the headers, and on who never ends the body', async () => {
  const [slowHeaders, slowBody, silent] = await Promise.all([
    raw('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', dribble),
    raw(post(`${shown}Content-Length: 9000`), dribble),
    raw('G'),
    // Everybody else is served meanwhile.
    ...Array.from({ length: 5 }, async () => expect((await fetch(`${server.url}/healthz`)).status).toBe(200)),
  ]);
  expect(statusOf(slowHeaders)).toBe(408);
  expect(JSON.parse(slowHeaders.slice(slowHeaders.indexOf('\r\n\r\n')))).toMatchObject({ code: 'timeout' });
  expect(statusOf(slowBody)).toBe(408);
  expect(statusOf(silent)).toBe(408);
  expect(taken).toBe(0);
});

it('answers although one client holds as many unfinished connections as there may be', async () => {
  const limits = { headersMs: 60_000, requestMs: 60_000, connections: 20 };
  const other = await startServer({ ...serving({ token, limits }), port: 0 });
  const open = Array.from({ length: 60 }, (_, index) => {
    const socket = connect(other.port, '127.0.0.1');
    socket.on('error', () => undefined);
    const head = 'Host: localhost\r\nContent-Type: text/csv\r\nContent-Length: 9000\r\n';
    socket.write(
      index % 2 === 0 ? 'GET / HTTP/1.1\r\nHost: lo' : `POST /changes HTTP/1.1\r\n${head}${shown}\r\n1`,
    );
    return new Promise<Socket>((resolve) => socket.once('connect', () => resolve(socket)));
  });
  const sockets = await Promise.all(open);
  for (let count = 0; count < 40; count += 1)
    expect((await fetch(`${other.url}/healthz`, { headers: { connection: 'close' } })).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await other.close();
});

it('does not read what is too large, announced or not', async () => {
  const big = 'a'.repeat(20_000);
  expect(statusOf(await raw(post(`${shown}Content-Length: ${big.length}`, big)))).toBe(413);
  const chunk = `${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`;
  expect(statusOf(await raw(post(`${shown}Transfer-Encoding: chunked`, chunk)))).toBe(413);
  expect(statusOf(await raw(post('Authorization: Bearer wrong\r\nContent-Length: 900000000')))).toBe(401);
  expect(statusOf(await raw(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`))).toBe(
    431,
  );
  expect(taken).toBe(0);
});

it.each([
  '/../../../../etc/passwd',
  '/assets/../../../package.json',
  '/assets/%2e%2e/%2e%2e/page.ts',
  '/assets/..%2f..%2fpackage.json',
  '/assets/..%5c..%5cpackage.json',
  '/assets//page.css',
  '//assets/page.css',
  '/assets/page.css/',
  '/assets/page.css%00.js',
  '/%00',
  '/%',
  '/%ff%fe',
  '/assets',
  '/assets/',
  '/.git/config',
  '/jobs/..%2f..%2fhealthz/run',
  `/${'a'.repeat(9_000)}`,
  `/jobs/${'a'.repeat(200)}/run`,
])('finds nothing by tricks with the path: %s', async (path) => {
  const answer = await raw(get(path));
  expect([400, 404, 414]).toContain(statusOf(answer));
  expect(answer).toContain('content-type: application/json');
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ code: expect.any(String) });
  expect(answer.toLowerCase()).not.toContain('<html');
});

it('still answers after all that, and hangs up on everybody when it is closed', async () => {
  expect((await fetch(`${server.url}/`)).status).toBe(200);
  const other = await startServer({ ...serving(), port: 0 });
  const socket = connect(other.port, '127.0.0.1');
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  await other.close();
  await ended;
  await expect(fetch(`${other.url}/healthz`)).rejects.toThrow();
});

it('names the setting when the port is taken', async () => {
  await expect(startServer({ ...serving(), port: server.port })).rejects.toMatchObject({
    name: 'UsageError',
    problems: [{ setting: 'serve.port', problem: expect.stringContaining('in use') }],
  });
});
