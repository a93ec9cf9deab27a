import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { quietDay } from '../../src/sandbox/world/advance.js';
import { listItems } from '../support/list-items.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

/** What a run costs that finds nothing new: whoami, each list in one page, and the bucket of archived stories. */
const listsOnly = {
  whoami: 1,
  topics: 1,
  companies: 1,
  people: 1,
  channels: 1,
  stories: 2,
  automation_templates: 1,
};

describe('pull after pull', () => {
  const rate = { requests: 60, windowMs: 300 };
  let sandbox: Sandbox;
  let pulling: Pulling;
  beforeAll(async () => {
    sandbox = await startTown({ rate });
    pulling = Pulling.into(folders, sandbox);
    pulling.env.SIGNALHOUSE_RATE_LIMIT_REQUESTS = String(rate.requests);
    pulling.env.SIGNALHOUSE_RATE_LIMIT_WINDOW_MS = String(rate.windowMs);
  });
  afterAll(() => sandbox.stop());

  it('the first one gives exactly what the API says, table by table', async () => {
    const plan = await pulling.plan();
    const { code, stderr, report, requests } = await pulling.sync();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(report).toMatchObject({ outcome: 'done', stoppedBy: null, failures: [], drift: [] });
    expect(report.left).toEqual({ due: 0, requests: 0, minutes: 0 });
    expect(report.requests.total).toBe(requests);
    expect(Math.abs(plan.requests.total - requests) / requests).toBeLessThanOrEqual(0.05);
    expect(await pulling.differences()).toEqual([]);
  });

  it('the next one costs its lists, and changes no row', async () => {
    const { code, report, seen } = await pulling.sync();
    expect(code).toBe(0);
    expect(seen).toEqual(listsOnly);
    expect(report.rows).toEqual({});
  });

  it('after a day, it costs its lists and the children of what changed, as planned', async () => {
    const before = listItems(sandbox);
    const counts = sandbox.advance(1, {
      ...quietDay,
      activeTopics: 0.1,
      newTopics: 0.04,
      priorityChanges: 0.1,
    });
    expect(counts).toMatchObject({ activeTopics: 3, newTopics: 1, priorityChanges: 2, stories: 1 });
    const moved = listItems(sandbox).movedSince(before);
    const plan = await pulling.plan();
    const { code, report, requests } = await pulling.sync();
    expect(code).toBe(0);
    expect(await pulling.differences({ lagging: false })).toEqual([]);

    expect(Math.abs(plan.requests.total - requests) / requests).toBeLessThanOrEqual(0.05);
    const asked = await read(pulling.dataDir, (reader) =>
      reader.rows<{ path: string }>(`SELECT path FROM ops.requests WHERE run_id = '${report.runId}'`),
    );
    const children = asked.flatMap(({ path }) => entityOf(path) ?? []);
    expect(children.length).toBeGreaterThan(20);
    expect(children.filter((id) => !moved.has(id))).toEqual([]);
  });

  it('what changed in silence is seen by the sweep', async () => {
    sandbox.advance(1, { ...quietDay, edits: 0.02, deletions: 0.02, reactions: 0.02 });
    await pulling.age();
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences()).toEqual([]);
  });

  it('the limit was never passed', () => {
    const { tooManyRequests, mostInAnyWindow } = sandbox.stats();
    expect(tooManyRequests).toBe(0);
    expect(mostInAnyWindow).toBeLessThanOrEqual(rate.requests);
    expect(mostInAnyWindow).toBeGreaterThan(rate.requests / 2);
  });
});

/** Whose child a path asks for; undefined for a list. */
function entityOf(path: string): string | undefined {
  const [, entity] =
    path.match(/^\/(?:topics|companies|people|channels|stories|automation-templates)\/([^/?]+)/) ?? [];
  return entity ?? path.match(/(?:companyId|personId)=([^&]+)/)?.[1];
}

describe('addresses of pictures that are signed anew in each answer', () => {
  it('make nothing look changed', async () => {
    const sandbox = await startTown({ signedUrls: true });
    try {
      const pulling = Pulling.into(folders, sandbox);
      expect(await pulling.sync()).toMatchObject({ code: 0 });
      const second = await pulling.sync();
      expect(second.code).toBe(0);
      expect(second.seen).toEqual(listsOnly);
      const pictures = [
        'authors.source_avatar_url',
        'people.avatar_url',
        'people.company_logo_url',
        'companies.logo_url',
        'company_employees.avatar_url',
        'topic_people.avatar_url',
        'topic_people.company_logo_url',
        'messages.reply_to',
        'messages.thread',
      ];
      expect(await pulling.differences({ except: pictures })).toEqual([]);
    } finally {
      await sandbox.stop();
    }
  });
});
