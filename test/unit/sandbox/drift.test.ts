import { afterEach, describe, expect, it } from 'vitest';
import { type DriftList, type DriftRuleInput, driftLists } from '../../../src/sandbox/drift.js';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { defaultSizes, generate } from '../../../src/sandbox/world/generate.js';
import { call, control } from './call-api.js';

const sandboxes: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of sandboxes.splice(0)) await sandbox.stop();
});

const size = 5;
const untouched = generate({
  ...defaultSizes,
  seed: 3,
  topics: 30,
  people: 40,
  companies: 20,
  messages: 300,
  channels: 4,
  stories: 1,
  templates: 1,
});

async function startDrifting(drift?: DriftRuleInput, pageBase: 0 | 1 = 1): Promise<Sandbox> {
  const rate = { requests: 100_000, windowMs: 1000 };
  const options = { rate, pageSize: size, pageBase, ...(drift ? { drift } : {}) };
  const sandbox = await launch(options, structuredClone(untouched));
  sandboxes.push(sandbox);
  return sandbox;
}

interface Listed {
  readonly data: { id?: string; group?: { id: string } }[];
  readonly totalCount: number;
}

/** The path of a list; conversations are those of the company with the most of them. */
async function pathOf(sandbox: Sandbox, list: DriftList): Promise<string> {
  if (list !== 'groups') return `/${list}?`;
  const { data } = (await call(sandbox, '/companies?limit=100')).body;
  const [most] = data.sort((a: Counted, b: Counted) => b.messageCount - a.messageCount);
  return `/groups?companyId=${most.id}&`;
}
interface Counted {
  readonly messageCount: number;
}

async function page(sandbox: Sandbox, path: string, number: number): Promise<Listed> {
  const { status, body } = await call(sandbox, `${path}page=${number}`);
  expect(status).toBe(200);
  return body;
}

const idsOf = ({ data }: Listed) => data.map((item) => item.id ?? item.group?.id);
const still = { insert: 0, remove: 0, hide: 0, move: 0 };
/** Every id of a list, read in one page, which never drifts. */
async function whole(sandbox: Sandbox, path: string) {
  return idsOf((await call(sandbox, `${path}limit=100`)).body);
}

describe.each(driftLists)('drift of %s', (list) => {
  it('changes a list before every page but the first', async () => {
    const sandbox = await startDrifting({ ...still, insert: 1 });
    const path = await pathOf(sandbox, list);
    const { totalCount } = await page(sandbox, path, 1);
    expect((await page(sandbox, path, 1)).totalCount).toBe(totalCount);
    expect((await page(sandbox, path, 2)).totalCount).toBe(totalCount + 1);
    expect((await page(sandbox, path, 3)).totalCount).toBe(totalCount + 2);
    expect(sandbox.drift()).toMatchObject({ turns: { [list]: 2 }, done: { insert: 2 } });
  });

  it('removes items for good', async () => {
    const sandbox = await startDrifting({ ...still, remove: 3, times: 1 });
    const path = await pathOf(sandbox, list);
    const before = await whole(sandbox, path);
    await page(sandbox, path, 2);
    const after = await whole(sandbox, path);
    const gone = before.filter((id) => !after.includes(id));
    // The organization itself is not removed even when it is drawn.
    expect(gone).toHaveLength(sandbox.drift().done.remove);
    expect(gone.length).toBeGreaterThan(1);
    for (const id of gone) {
      if (list === 'groups') expect(sandbox.world.groups.has(id ?? '')).toBe(false);
      else expect((await call(sandbox, `/${list}/${id}`)).status).toBe(404);
    }
  });

  it('hides items for some turns, which can still be read by id', async () => {
    const sandbox = await startDrifting({ ...still, hide: 2, hiddenFor: 3 });
    const path = await pathOf(sandbox, list);
    const before = await whole(sandbox, path);
    const shown = await page(sandbox, path, 2);
    expect(shown.totalCount).toBe(before.length - 2);
    const hidden = sandbox.drift().hidden[list];
    expect(hidden).toHaveLength(2);
    const without = await whole(sandbox, path);
    expect([...without, ...hidden].sort()).toEqual([...before].sort());
    for (const id of list === 'groups' ? [] : hidden) {
      expect((await call(sandbox, `/${list}/${id}`)).status).toBe(200);
    }
    for (let turn = 2; turn <= 4; turn += 1) await page(sandbox, path, 2);
    expect(sandbox.drift().done).toMatchObject({ hide: 8, return: 2 });
    expect(await whole(sandbox, path)).toHaveLength(before.length - 6);
  });

  it('moves items to the front, so that a reader sees some of them again', async () => {
    const sandbox = await startDrifting({ ...still, move: 1, times: 1 });
    const path = await pathOf(sandbox, list);
    const before = await whole(sandbox, path);
    await page(sandbox, path, 2);
    const after = await whole(sandbox, path);
    expect(after).not.toEqual(before);
    expect([...after].sort()).toEqual([...before].sort());
    expect(after.slice(1)).toEqual(before.filter((id) => id !== after[0]));
  });

  it('leaves the other lists alone', async () => {
    const sandbox = await startDrifting({ lists: driftLists.filter((other) => other !== list), insert: 1 });
    const path = await pathOf(sandbox, list);
    await page(sandbox, path, 2);
    expect(sandbox.drift().turns).toEqual({ topics: 0, companies: 0, people: 0, groups: 0 });
  });
});

describe('drift', () => {
  it('is the same for the same seed', async () => {
    const rule = { insert: 0.7, remove: 0.6, hide: 1.3, move: 0.9, seed: 12 };
    const read = async (given: DriftRuleInput) => {
      const sandbox = await startDrifting(given);
      const seen: unknown[] = [];
      for (const list of ['topics', 'people', 'companies'] as const) {
        for (let number = 1; number < 6; number += 1)
          seen.push(idsOf(await page(sandbox, `/${list}?`, number)));
      }
      return { seen, done: sandbox.drift().done };
    };
    const first = await read(rule);
    expect(await read(rule)).toEqual(first);
    expect(await read({ ...rule, seed: 13 })).not.toEqual(first);
  });

  it('counts pages from 0 where the service does', async () => {
    const sandbox = await startDrifting({ insert: 1 }, 0);
    await page(sandbox, '/topics?', 0);
    expect(sandbox.drift().turns.topics).toBe(0);
    await page(sandbox, '/topics?', 1);
    expect(sandbox.drift().turns.topics).toBe(1);
  });

  it('comes before every n-th page, and only a limited number of times', async () => {
    const sandbox = await startDrifting({ ...still, insert: 1, everyRequests: 3, times: 2 });
    const totals: number[] = [];
    for (let number = 2; number <= 12; number += 1)
      totals.push((await page(sandbox, '/topics?', 2)).totalCount);
    const [start = 0] = totals;
    expect(totals.map((total) => total - start)).toEqual([0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
  });

  it('never removes the company that is the organization itself', async () => {
    const sandbox = await startDrifting({ ...still, remove: 10 });
    for (let turn = 0; turn < 5; turn += 1) await page(sandbox, '/companies?', 2);
    expect([...sandbox.world.companies.values()].map(({ isOrgCompany }) => isOrgCompany)).toEqual([true]);
    expect(sandbox.drift().done.remove).toBe(19);
  });

  it('does not touch another organization', async () => {
    const sandbox = await startDrifting({ insert: 1 });
    const key = 'svc_other_organization';
    const { body } = await call(sandbox, '/topics?page=2', { key });
    expect(body).toMatchObject({ data: [], totalCount: 0 });
    expect(sandbox.drift().turns.topics).toBe(0);
  });

  it('starts and stops by request; hidden items are listed again', async () => {
    const sandbox = await startDrifting();
    const before = await whole(sandbox, '/topics?');
    await page(sandbox, '/topics?', 2);
    expect(await whole(sandbox, '/topics?')).toEqual(before);

    const started = await control(sandbox, '/drift', { body: { ...still, hide: 4 } });
    expect(started.body).toMatchObject({ rule: { hide: 4, everyRequests: 1 }, turns: { topics: 0 } });
    await page(sandbox, '/topics?', 2);
    expect(await whole(sandbox, '/topics?')).toHaveLength(before.length - 4);
    expect((await control(sandbox, '/drift')).body).toMatchObject({ done: { hide: 4 } });

    const stopped = await control(sandbox, '/drift', { method: 'DELETE' });
    expect(stopped.body).toMatchObject({ rule: null, done: { hide: 4 }, hidden: { topics: [] } });
    await page(sandbox, '/topics?', 2);
    expect(await whole(sandbox, '/topics?')).toEqual(before);
  });

  it('has a default for every field, and refuses unknown fields', async () => {
    const sandbox = await startDrifting();
    expect((await control(sandbox, '/drift', { method: 'POST' })).body.rule).toMatchObject({
      lists: ['topics', 'companies', 'people', 'groups'],
      insert: 0.5,
    });
    for (const body of [{ storms: 1 }, { insert: -1 }, { lists: ['stories'] }, { everyRequests: 0 }]) {
      expect((await control(sandbox, '/drift', { body })).status).toBe(400);
    }
  });
});
