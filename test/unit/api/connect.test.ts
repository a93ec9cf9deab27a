import type { lookup as systemLookup } from 'node:dns';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { connectorWithin } from '../../../src/api/connect.js';

/** A server that accepts nothing: what fits into its queue connects, and later handshakes are dropped and tried again. */
const server = `
  const { parentPort } = require('node:worker_threads');
  const { createServer } = require('node:net');
  const listening = createServer(() => undefined).listen(0, '127.0.0.1', 1, () => {
    const wait = new Int32Array(new SharedArrayBuffer(4));
    parentPort.once('message', (ms) => { Atomics.wait(wait, 0, 0, ms); });
    parentPort.postMessage(listening.address().port);
  });`;
const workers: Worker[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
});

/** The port of a server whose handshakes take more than a second: it accepts nothing for so long, and its queue is full. */
async function slowServer(): Promise<number> {
  const worker = new Worker(server, { eval: true });
  workers.push(worker);
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  worker.postMessage(700);
  await new Promise((resolve) => setTimeout(resolve, 100));
  for (let count = 0; count < 4; count++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  return port;
}

it('reaches a host whose handshake is slow and whose other address is dead', async () => {
  const port = await slowServer();
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.99', family: 4 },
  ];
  const lookup = ((_: string, __: object, done: (error: null, all: typeof addresses) => void) =>
    done(null, addresses)) as unknown as typeof systemLookup;
  const connecting = connectorWithin(20_000, lookup);
  const socket = await new Promise<Socket>((resolve, reject) => {
    const to = { hostname: 'api.example', protocol: 'http:', port: String(port) };
    connecting(to, (error, made) => (error ? reject(error) : resolve(made as Socket)));
  });
  sockets.push(socket);
  expect(socket.remoteAddress).toBe('127.0.0.1');
});
