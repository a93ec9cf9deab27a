import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start.js';
import { groupIdsOfCompany } from '../../src/sandbox/world/counts.js';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
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

interface Conversation {
  readonly group: { readonly id: string; readonly startTimestamp: string };
}

/** Every conversation of a company or person. */
async function everyConversation(url: URL, ask: (path: string) => Promise<unknown>): Promise<Conversation[]> {
  const query = new URLSearchParams(url.searchParams);
  query.set('limit', '100');
  const all: Conversation[] = [];
  for (let page = 1; ; page += 1) {
    query.set('page', String(page));
    const { data } = (await ask(`/groups?${query}`)) as { data: Conversation[] };
    if (data.length === 0) return all;
    all.push(...data);
  }
}

describe('conversations', () => {
  it('listed by their start: a message in the oldest one is found in the next run', async () => {
    const limit = 10;
    const { sandbox, pulling } = await behind({ sizes: town }, async (url, ask) => {
      if (url.pathname !== '/v1/groups') return undefined;
      const all = await everyConversation(url, ask);
      all.sort((a, b) => (a.group.startTimestamp < b.group.startTimestamp ? 1 : -1));
      const page = numberIn(url, 'page', 1);
      return { data: all.slice((page - 1) * limit, page * limit), limit, page, totalCount: all.length };
    });
    expect(await pulling.sync()).toMatchObject({ code: 0 });

    const { world } = sandbox;
    const own = [...world.companies.values()].find(({ isOrgCompany }) => isOrgCompany)?.id ?? '';
    const startOf = (id: string) =>
      world.messages.get(world.groups.get(id)?.messageIds[0] ?? '')?.createdAt ?? 0;
    // Without a topic, so that no other answer brings the message.
    const oldest = groupIdsOfCompany(world, own)
      .filter((id) => world.groups.get(id)?.topicId === null)
      .sort((a, b) => startOf(a) - startOf(b))[0];
    const authorId = world.groups
      .get(oldest ?? '')
      ?.messageIds.map((id) => world.messages.get(id)?.authorId ?? '')
      .find((id) => world.people.get(world.authors.get(id)?.personId ?? '')?.companyId === own);
    expect(oldest).toBeDefined();
    sandbox.change({ kind: 'addMessage', groupId: oldest, authorId, content: 'One more thing' });

    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences({ lagging: false })).toEqual([]);
  });

  it('that never hold still are stored, and the summary names how many there are', async () => {
    let moves = true;
    let requests = 0;
    const { pulling } = await behind({}, async (url, ask) => {
      if (url.pathname !== '/v1/groups' || !moves) return undefined;
      const answer = (await ask(`/groups${url.search}`)) as { totalCount: number };
      requests += 1;
      return { ...answer, totalCount: answer.totalCount + 1 + (requests % 7) };
    });
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.notes.join('\n')).toMatch(/^\d+ lists of conversations changed while being read, twice;/m);
    // What a company's list does not show whole is asked of its people themselves.
    const isListed = (line: string) => line.includes('via is "listed", should be "author"');
    const differences = await pulling.differences({ most: 1_000 });
    expect(differences.filter((line) => !isListed(line))).toEqual([]);
    moves = false;
    const second = await pulling.sync();
    expect(second.seen.groups ?? 0).toBe(0);
    expect(second.report.notes.join('\n')).not.toMatch(/lists of conversations/);
  });
});

describe("a person's history with more records than one answer has", () => {
  it('is requested for each kind of actor', async () => {
    const sandbox = await startTown();
    running.push(() => sandbox.stop());
    const pulling = Pulling.into(folders, sandbox);
    const long = [...sandbox.world.people.values()].filter(({ id }) => {
      const records = sandbox.world.history.get(`person:${id}`) ?? [];
      return /^\d+$/.test(id) && records.some(({ changedBy }) => changedBy !== 'user');
    });
    const [complete, cut] = long.map(({ id }) => id) as [string, string];
    const isUser = ({ changedBy }: { changedBy: string }) => changedBy === 'user';
    for (const [personId, most] of [
      [complete, 50],
      [cut, 55],
    ] as const) {
      const records = () => sandbox.world.history.get(`person:${personId}`) ?? [];
      for (let count = 0; records().filter(isUser).length < most; count += 1)
        sandbox.change({ kind: 'patchPerson', personId, fields: { description: `version ${count}` } });
    }
    const { code, report, seen } = await pulling.sync();
    expect(code).toBe(0);
    expect(await pulling.differences()).toEqual([]);
    const stored = await read(pulling.dataDir, (reader) =>
      reader.rows<{ id: string; records: number }>(
        `SELECT entity_id AS id, count(*)::INT AS records FROM history WHERE entity_id IN ('${complete}', '${cut}') AND entity_type = 'person' GROUP BY 1`,
      ),
    );
    const recordsOf = (id: string) => sandbox.world.history.get(`person:${id}`)?.length ?? 0;
    expect(Object.fromEntries(stored.map(({ id, records }) => [id, records]))).toEqual({
      [complete]: recordsOf(complete),
      [cut]: recordsOf(cut) - 5,
    });
    // Three requests more for each of the two; what is still missing of one is noted.
    expect(seen.person_history).toBe(sandbox.world.people.size + 6);
    expect(report.notes.join()).toContain('1 histories have more records than the API returns');
  });
});
