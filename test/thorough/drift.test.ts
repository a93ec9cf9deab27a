import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DriftRuleInput, driftLists } from '../../src/sandbox/drift.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const lists = ['topics', 'companies', 'people'] as const;
type ListName = (typeof lists)[number];

/** As much comes as goes, so that a total often says the same at the end of a reading as at its start. */
const balanced = { insert: 0.5, remove: 0.5, hide: 0.5, move: 0.3, hiddenFor: 2, everyRequests: 3 };
/** No page is where it was. */
const restless = { insert: 0.3, remove: 0.2, hide: 1, move: 1.5, hiddenFor: 5 };
/** What each pull meets, and how much of it is read: lists come first, so that a cap leaves them whole. */
const pulls: readonly { drift: DriftRuleInput; args: readonly string[] }[] = [
  { drift: { ...restless, lists: ['groups'] }, args: ['--only', 'companies'] },
  { drift: { ...balanced, seed: 5 }, args: ['--max-requests', '150'] },
  { drift: { ...restless, seed: 5 }, args: ['--max-requests', '150'] },
];

describe('lists that drift while they are read', () => {
  const folders = new Folders();
  let sandbox: Sandbox;
  let pulling: Pulling;
  beforeAll(async () => {
    // Small pages, so that many turns fall into one reading.
    const sizes = { topics: 40, people: 30, companies: 20, messages: 200 };
    sandbox = await startTown({ sizes, maxPageSize: 5, pageBase: 0 });
    pulling = Pulling.into(folders, sandbox, { sync: { scanAttempts: 4 } });
  });
  afterAll(async () => {
    await sandbox.stop();
    folders.remove();
  });

  it('nothing that is there is marked as deleted, however often a reading is believed that missed it', async () => {
    let misled = 0;
    const turns = { topics: 0, companies: 0, people: 0, groups: 0 };
    for (const { drift, args } of pulls) {
      sandbox.setDrift(drift);
      const { code, stdout, stderr, report } = await pulling.sync(args);
      expect(code, stderr + stdout).toBe(0);
      for (const list of lists) {
        const deleted = await idsWhere(list, 'deleted_at IS NOT NULL');
        expect(deleted.filter((id) => sandbox.world[list].has(id))).toEqual([]);
      }
      for (const list of driftLists) turns[list] += sandbox.drift().turns[list];
      misled += report.scans.reduce((sum, { missing, tombstoned }) => sum + missing - tombstoned, 0);
    }
    // Otherwise nothing was put to the test.
    expect(misled).toBeGreaterThan(0);
    for (const list of driftLists) expect(turns[list], list).toBeGreaterThan(0);
  });

  it('one pull after it gives exactly the ids that the API has', async () => {
    sandbox.setDrift(undefined);
    const { code, stdout, stderr, report } = await pulling.sync(['--max-requests', '150']);
    expect(code, stderr + stdout).toBe(0);
    expect(report.scans.filter(({ verified }) => !verified)).toEqual([]);
    for (const list of lists) {
      expect(await idsWhere(list, 'deleted_at IS NULL')).toEqual(await listed(list));
      const deleted = await idsWhere(list, 'deleted_at IS NOT NULL');
      expect(deleted.length).toBeGreaterThan(0);
      for (const id of deleted) expect((await ask(`/${list}/${id}`)).status).toBe(404);
    }
  });

  function idsWhere(list: ListName, condition: string): Promise<string[]> {
    return read(pulling.dataDir, async ({ rows }) => {
      const found = await rows<{ id: string }>(`SELECT id FROM ${list} WHERE ${condition}`);
      return found.map(({ id }) => id).sort();
    });
  }

  function ask(path: string): Promise<Response> {
    return fetch(`${sandbox.baseUrl}${path}`, { headers: { authorization: `Bearer ${sandbox.apiKey}` } });
  }

  /** The ids of a list that holds still, page by page. */
  async function listed(list: ListName): Promise<string[]> {
    const ids: string[] = [];
    for (let page = 0; ; page += 1) {
      const { data } = (await (await ask(`/${list}?page=${page}`)).json()) as { data: { id: string }[] };
      if (data.length === 0) return ids.sort();
      ids.push(...data.map(({ id }) => id));
    }
  }
});
