import { createServer, request as forward, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A catalog of its own: a branch of Nessie, which clients take for the whole catalog. */
export interface OwnCatalog {
  readonly address: string;
  /** Sends the next request that matches on, and drops its answer. `lost` counts such requests. */
  loseAnswerTo(request: RegExp): void;
  lost(): number;
}

/**
 * Makes a branch, and a proxy in front of it. Nessie says in its configuration which branch a client uses, and takes it in all
 * other requests from there.
 */
export async function ownCatalog(nessie: string, branch: string): Promise<OwnCatalog> {
  const api = new URL('/api/v2/trees', nessie);
  const main = (await (await fetch(`${api}/main`)).json()) as { reference: object };
  const created = await fetch(`${api}?name=${branch}&type=BRANCH`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(main.reference),
  });
  if (!created.ok) throw new Error(`the branch ${branch} is not made: ${await created.text()}`);
  let awaited: RegExp | undefined;
  let lost = 0;
  const server = createServer((request, response) => {
    const { method, url = '' } = request;
    // Nessie tells clients to ask the host that they ask here.
    const { host: _, ...headers } = request.headers;
    const path = url.startsWith('/v1/config') ? `/${branch}${url}` : url;
    const isLosing = awaited?.test(`${method} ${url}`) === true;
    if (isLosing) awaited = undefined;
    const answered = (answer: IncomingMessage) => {
      if (isLosing) {
        lost += 1;
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    };
    const onward = forward(`${nessie}${path}`, { method, headers }, answered);
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  server.on('connection', (socket) => socket.unref());
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswerTo(request) {
      awaited = request;
    },
    lost: () => lost,
  };
}
