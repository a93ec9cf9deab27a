import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server saw of one request. */
export interface Seen {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers one request by hand: any bytes, any status, or none at all. */
export type Answering = (response: ServerResponse, seen: Seen, count: number) => void | Promise<void>;

export interface RawServer {
  /** Ends in /v1. */
  readonly baseUrl: string;
  readonly requests: Seen[];
  close(): Promise<void>;
}

/** A bare HTTP server on a free port of loopback, for answers that no well-behaved server gives. */
export async function rawServer(answer: Answering): Promise<RawServer> {
  const requests: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen = {
      method: request.method ?? '',
      url: new URL(request.url ?? '/', 'http://raw'),
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    requests.push(seen);
    await answer(response, seen, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Answers with the documented error body. */
export function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  more: { data?: unknown; message?: string; headers?: Record<string, string> } = {},
) {
  const { data, message = `about ${code}`, headers } = more;
  json(
    response,
    status,
    { code, message, status, defined: true, ...(data !== undefined && { data }) },
    headers,
  );
}
