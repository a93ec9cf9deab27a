import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Explanation } from '../../src/commands/explain.js';
import { openWarehouse } from '../../src/load/open.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { townOfFile } from '../support/pulling.js';
import { changeable } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/explain.js'));

const { sandbox, pulling } = await townOfFile();
const [gone, renamed] = changeable(sandbox) as [StoredTopic, StoredTopic];
const { title: oldTitle } = renamed;
beforeAll(async () => {
  sandbox.change({ kind: 'deleteTopic', topicId: gone.id });
  sandbox.change({ kind: 'patchTopic', topicId: renamed.id, fields: { title: "Kim's new title" } });
  const { spent } = await pulling.plan();
  // The lists, and the one request that shows what is gone.
  const { code, report } = await pulling.sync(['--max-requests', String(spent + 1)]);
  expect([code, report.stoppedBy !== null]).toEqual([0, true]);
  // What is left is listed by resource; how many more runs it takes cannot be told from one that read little but lists.
  expect(report.leftByResource.reduce((sum, { due }) => sum + due, 0)).toBe(report.left.due);
  expect(report.left.due).toBeGreaterThan(0);
  expect(report.left.runs).toBeNull();
});

const explain = (...args: string[]) => pulling.run(['explain', ...args]);
const explained = (...args: string[]) => pulling.json<Explanation>(['explain', ...args]);

describe('explain', () => {
  it('says which field makes a child due, and what it was fetched with', async () => {
    const { around, children, lastSync, timeline, requests, runs } = await explained('topic', renamed.id);
    expect(new Set(around.map(({ what }) => what))).toEqual(new Set(['company', 'person', 'message']));
    const said = [...sandbox.world.messages.values()].map(({ content }) => content);
    for (const { what, text } of around) if (what === 'message') expect(said).toContain(text);
    const detail = children.find(({ resource }) => resource === 'topic');
    expect(detail).toMatchObject({ isDue: true, reason: 'changed', why: 'changed', last: { status: 200 } });
    expect(detail?.changes).toContainEqual({ field: 'title', before: null, now: null, isKnown: false });
    expect(detail?.lastRequest).toMatchObject({ path: `/topics/${renamed.id}`, status: 200 });
    expect(lastSync).toMatchObject({ outcome: 'stopped', stoppedBy: expect.stringMatching(/max-requests/) });
    const [newest] = timeline.filter(({ kind }) => kind === 'seen');
    expect(newest?.fields).toContainEqual({ field: 'title', before: oldTitle, now: "Kim's new title" });
    expect(requests.newest.length).toBe(requests.total);
    expect(runs.length).toBe(2);
  });

  it('says what proved that a topic is gone', async () => {
    const { presence, children, timeline } = await explained('topic', gone.id);
    expect(presence).toMatchObject({ deletedReason: 'not_found', scanVerified: true });
    expect(presence?.evidence).toMatchObject({ path: `/topics/${gone.id}`, status: 404 });
    expect(children.map(({ isDue, why }) => [isDue, why])).toEqual(children.map(() => [false, 'deleted']));
    expect(timeline.map(({ kind }) => kind)).toContain('deleted');
  });

  it('fits 80 columns for each kind, and says the same as --json', async () => {
    const one = async (table: string) =>
      String((await pulling.rows(`SELECT id FROM ${table} ORDER BY id LIMIT 1`))[0]?.id);
    const ids = {
      topic: renamed.id,
      company: await one('companies'),
      person: await one('people'),
      conversation: await one('groups'),
    };
    for (const [kind, id] of Object.entries(ids)) {
      const { code, stdout, stderr } = await explain(kind, id);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
      const { children } = await explained(kind, id);
      expect(children.length).toBeGreaterThan(0);
      for (const { resource, isDue } of children)
        expect(stdout).toMatch(new RegExp(`^ +${resource} .*${isDue ? 'DUE' : 'not '}`, 'm'));
    }
  });

  it('takes a part of a title, and lists the commands where several match', async () => {
    expect((await explained('topic', "kim's NEW", 'title')).id).toBe(renamed.id);
    const { code, stdout, stderr } = await explain('topic', 'e');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const commands = stderr.match(/^ {2}signalhouse explain topic \S+$/gm) ?? [];
    expect(commands.length).toBeGreaterThan(1);
    const failure = JSON.parse((await explain('topic', 'e', '--json')).stdout).error;
    expect(failure).toMatchObject({ exitCode: 2, problems: expect.any(Array) });
    expect(failure.problems).toHaveLength(commands.length);
  });

  it.each([
    ['an id that nothing has', ['topic', 'nothing'], /no topic with the id or title "nothing"/],
    [
      'the id of another kind',
      ['company', renamed.id],
      /is the id of a topic[\s\S]*signalhouse explain topic/,
    ],
  ])('refuses %s with exit 2', async (_, args, message) => {
    expect(await explain(...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });

  it('needs no key and no network, and works while another process holds the warehouse', async () => {
    const { dataDir } = pulling;
    const warehouse = await openWarehouse({ dataDir, memoryLimit: '128MB', threads: 1 });
    try {
      const env = { SIGNALHOUSE_BASE_URL: '', SIGNALHOUSE_API_KEY: '' };
      const { code, stdout } = await pulling.run(['explain', 'topic', renamed.id], env);
      expect(code).toBe(0);
      expect(stdout).toMatch(/is working on a newer one/);
    } finally {
      await warehouse.close();
    }
  });

  it('says what to do when there is no warehouse, or a damaged one', async () => {
    const dataDir = testFolder();
    const ran = await pulling.run(['explain', 'topic', 'x', '--data-dir', dataDir]);
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Run signalhouse sync first') });
    writeFileSync(join(dataDir, 'signals.duckdb'), 'not a database');
    const damaged = await pulling.run(['explain', 'topic', 'x', '--data-dir', dataDir]);
    expect(damaged).toMatchObject({ code: 1, stderr: expect.stringContaining('signalhouse rebuild') });
  });
});
