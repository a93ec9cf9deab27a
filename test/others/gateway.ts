import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/start.js';

/** What an API that as a whole does not answer looks like. */
export const outages = ['refused', '503', 'html', 'hang'] as const;
export type Outage = (typeof outages)[number];

export interface Request {
  readonly method: string;
  /** Below /v1, with its query. */
  readonly path: string;
}

export interface Breakdown {
  readonly how: Outage;
  /** The outage begins with request number `nth` of these. */
  readonly at: (request: Request) => boolean;
  readonly nth: number;
  /** The request that it begins with is executed, and its answer lost. */
  readonly isExecuted?: boolean;
  /** It ends by itself once it was noticed; otherwise with `restore`. */
  readonly isShort: boolean;
}

/** How long a refused connection lasts in a short outage: nobody sees whether whoami was asked. */
const refusedMs = 600;

/** A server in front of a sandbox that passes every request on, until it breaks down. */
export class Gateway {
  /** The requests that were answered, in order. */
  answered: Request[] = [];
  /** Replaces the answer to a request that the sandbox has executed. */
  replace: ((request: Request) => unknown) | undefined;
  #breakdown: Breakdown | undefined;
  #seen = 0;
  #probes = 0;
  #isDown = false;
  #ended: Promise<unknown> = Promise.resolve();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server;
  #port = 0;

  private constructor(readonly sandbox: Sandbox) {
    this.#server = createServer((incoming, response) => void this.#take(incoming, response));
  }

  static async start(sandbox: Sandbox): Promise<Gateway> {
    const gateway = new Gateway(sandbox);
    await gateway.#listen();
    return gateway;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Whether the outage has begun and not ended. */
  get isDown(): boolean {
    return this.#isDown;
  }

  breakDown(breakdown: Breakdown): void {
    this.#breakdown = breakdown;
    this.#seen = 0;
    this.#probes = 0;
  }

  /** Ends the outage, or takes back one that has not begun. */
  async restore(): Promise<void> {
    this.#breakdown = undefined;
    this.#isDown = false;
    await this.#ended;
    if (!this.#server.listening) await this.#listen();
  }

  async stop(): Promise<void> {
    this.#breakdown = undefined;
    await this.#ended;
    this.#agent.destroy();
    await this.#close();
  }

  async #take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const one = { method: incoming.method ?? '', path: (incoming.url ?? '').slice('/v1'.length) };
    const breakdown = this.#breakdown;
    let isFirst = false;
    if (breakdown && !this.#isDown && breakdown.at(one)) {
      this.#seen += 1;
      isFirst = this.#seen === breakdown.nth;
      if (isFirst) this.#isDown = true;
    }
    if (!this.#isDown || (isFirst && breakdown?.isExecuted)) {
      const answer = await this.#pass(incoming, Buffer.concat(chunks));
      if (!this.#isDown) {
        const other = this.replace?.(one);
        const body = other === undefined ? answer.body : Buffer.from(JSON.stringify(other));
        response.writeHead(answer.status, { 'content-type': answer.type }).end(body);
        this.answered.push(one);
        return;
      }
    }
    if (!breakdown) return void response.destroy();
    if (breakdown.how === 'refused') this.#refuse(breakdown);
    else if (breakdown.how === 'html') response.writeHead(503, { 'content-type': 'text/html' }).end('<html>');
    else if (breakdown.how === '503') response.writeHead(503).end();
    if (one.path === '/whoami' && !isFirst) this.#probes += 1;
    if (breakdown.isShort && this.#probes > 0 && breakdown.how !== 'refused') await this.restore();
  }

  #pass(incoming: IncomingMessage, body: Buffer): Promise<{ status: number; type: string; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const { 'accept-encoding': _, ...headers } = incoming.headers;
      const outgoing = request(
        `${this.sandbox.origin}${incoming.url}`,
        { method: incoming.method ?? 'GET', headers, agent: this.#agent },
        async (answer) => {
          const chunks: Buffer[] = [];
          for await (const chunk of answer) chunks.push(chunk as Buffer);
          const type = answer.headers['content-type'] ?? 'application/json';
          resolve({ status: answer.statusCode ?? 0, type, body: Buffer.concat(chunks) });
        },
      );
      outgoing.on('error', reject).end(body);
    });
  }

  /** Closes the port, so that the machine itself refuses to connect. */
  #refuse({ isShort }: Breakdown): void {
    if (!this.#server.listening) return;
    this.#ended = this.#close();
    if (isShort) void delay(refusedMs).then(() => this.restore());
  }

  #close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }
}
