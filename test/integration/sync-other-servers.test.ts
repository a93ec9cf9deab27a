import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start.js';
import { Pulling, startTown } from '../support/pulling.js';
import { json, type RawServer, rawServer } from '../support/raw-server.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});
afterAll(() => folders.remove());

/** What the server in front of the sandbox answers to one GET; undefined where it answers as the sandbox does. */
type Answers = (url: URL, ask: (path: string) => Promise<unknown>) => Promise<unknown>;

/** The sandbox behind a server that answers some requests in its own way. */
async function behind(options: SandboxOptions, answers: Answers) {
  const sandbox = await startTown(options);
  running.push(() => sandbox.stop());
  const server = await serverInFront(sandbox, answers);
  running.push(() => server.close());
  const pulling = Pulling.into(folders, sandbox);
  pulling.env.SIGNALHOUSE_BASE_URL = server.baseUrl;
  return { sandbox, server, pulling };
}

function serverInFront(sandbox: Sandbox, answers: Answers): Promise<RawServer> {
  return rawServer(async (response, { url, headers }) => {
    const path = `${url.pathname.replace(/^\/v1/, '')}${url.search}`;
    const get = (at: string) =>
      fetch(`${sandbox.baseUrl}${at}`, { headers: { authorization: headers.authorization ?? '' } });
    const own = await answers(url, async (at) => (await get(at)).json());
    if (own !== undefined) return json(response, 200, own);
    const answer = await get(path);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
}

const numberIn = (url: URL, name: string, otherwise: number) =>
  Number(url.searchParams.get(name) ?? otherwise);

describe('a list without a total', () => {
  it('is read completely from a server that caps its pages at a size of its own', async () => {
    const cap = 37;
    const { pulling } = await behind(
      { sizes: { people: 80 }, forms: { people: 'property' } },
      async (url, ask) => {
        if (url.pathname !== '/v1/people') return undefined;
        const { people } = (await ask('/people')) as { people: unknown[] };
        const start = (numberIn(url, 'page', 1) - 1) * cap;
        return { people: people.slice(start, start + Math.min(cap, numberIn(url, 'limit', cap))) };
      },
    );
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.scans.find(({ endpoint }) => endpoint === 'people')).toMatchObject({
      verified: true,
      attempts: 2,
    });
    expect(await pulling.differences()).toEqual([]);
  });
});
