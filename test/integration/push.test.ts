import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { townOfFile } from '../support/pulling.js';
import { changeable, enqueue, other, push, raise } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';

const { sandbox, pulling } = await townOfFile({ sizes: { topics: 60 } });
const topics = changeable(sandbox);
/** Each test takes topics of its own. */
let taken = 0;

function some(count: number): StoredTopic[] {
  const found = topics.slice(taken, taken + count);
  taken += count;
  expect(found).toHaveLength(count);
  return found;
}

/** Differences from the API, except for the history of the push, which the next sync fetches. */
const differences = async () => (await pulling.differences()).filter((one) => !one.startsWith('history '));

const of = (one: { id: string }) => sandbox.world.topics.get(one.id) as StoredTopic;

describe('push', () => {
  it('applies each change once, publishes it, and leaves an empty queue', async () => {
    const chosen = some(6);
    const wanted = new Map(chosen.map((one) => [one.id, other(one.priority)]));
    await enqueue(pulling.dataDir, chosen.map(raise));
    const { code, report, stderr } = await push(pulling);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const none = { unchanged: 0, conflict: 0, left: { queued: 0 } };
    expect(report).toMatchObject({ outcome: 'done', applied: 6, ...none });
    for (const one of chosen) {
      expect(of(one).priority).toBe(wanted.get(one.id));
      expect(sandbox.applied()[`topic:${one.id}`]).toEqual({ priority: 1 });
    }
    const shown = await pulling.rows<{
      id: string;
      priority: string;
      status: string;
      attempts: number;
    }>(`SELECT id, priority, status, change_attempts FROM topics JOIN
           (SELECT topic_id, c.status, count(a.change_id) AS change_attempts FROM ops.changes c
              LEFT JOIN ops.change_attempts a ON a.change_id = c.id GROUP BY ALL) ON topic_id = id`);
    for (const row of shown) expect(row).toMatchObject({ priority: wanted.get(row.id), status: 'applied' });
    expect(shown).toHaveLength(6);
    // The list's pages are cheaper than six reads: whoami, the list, and a PATCH each.
    expect(report.requests.byEndpoint).toEqual({ whoami: 1, topics: 1, update_topic: 6 });
    expect(await differences()).toEqual([]);
    // A push of nothing publishes nothing, and nothing follows it.
    const ran = join(pulling.dataDir, 'ran');
    pulling.set({ publish: { after: [['touch', ran]] } });
    const publishedAt = () => statSync(join(pulling.dataDir, 'signals.duckdb')).mtimeMs;
    const before = publishedAt();
    const { report: empty } = await push(pulling);
    expect(empty).toMatchObject({ applied: 0, requests: { total: 1 }, published: null });
    expect([publishedAt(), existsSync(ran)]).toEqual([before, false]);
    pulling.set({});
    const { code: done, report: both } = await pulling.sync(['--push']);
    expect({ done, both }).toMatchObject({
      done: 0,
      both: { push: { published: null }, published: { path: expect.any(String) } },
    });
    expect(await pulling.differences()).toEqual([]);
  });

  it('a value that a colleague changed is a conflict with both values, unless it is overwritten', async () => {
    const [first, third] = some(2) as [StoredTopic, StoredTopic];
    const wish = (one: StoredTopic) => ({
      topic: one.id,
      wanted: { priority: 'very_high' },
      base: { priority: one.priority },
    });
    const meddle = (one: StoredTopic) =>
      sandbox.change({ kind: 'patchTopic', topicId: one.id, fields: { priority: 'very_low' } });
    await enqueue(pulling.dataDir, [wish(first)]);
    const seen = first.priority;
    meddle(first);
    const reported = await push(pulling);
    expect(reported.code).toBe(3);
    expect(reported.report).toMatchObject({ conflict: 1, applied: 0, outcome: 'incomplete' });
    expect(reported.report.changes[0]).toMatchObject({
      status: 'conflict',
      error: expect.stringContaining('very_low'),
      base: { priority: seen },
      remoteBefore: { priority: 'very_low' },
      wanted: { priority: 'very_high' },
    });
    // A sheet that is written now has the colleague's value.
    const [shown] = await pulling.rows<{ priority: string }>(
      `SELECT priority FROM topics WHERE id = '${first.id}'`,
    );
    expect(shown).toEqual({ priority: 'very_low' });

    await enqueue(pulling.dataDir, [wish(third)]);
    meddle(third);
    const overwritten = await push(pulling, ['--on-conflict', 'overwrite']);
    expect(overwritten.code).toBe(0);
    expect(of(third).priority).toBe('very_high');
    expect(of(first).priority).toBe('very_low');
  });

  it('changes of one topic are sent in one request, and an unchanged topic costs no request', async () => {
    const [one, same] = some(2) as [StoredTopic, StoredTopic];
    const wished = other(one.priority);
    const state = one.lifecycleState === 'completed' ? 'open' : 'completed';
    await enqueue(pulling.dataDir, [
      raise(one),
      { topic: one.id, wanted: { lifecycle_state: state }, base: { lifecycle_state: one.lifecycleState } },
      { topic: same.id, wanted: { priority: same.priority }, base: { priority: 'low' } },
    ]);
    const { report, code } = await push(pulling);
    expect(code).toBe(0);
    expect(report).toMatchObject({ applied: 2, unchanged: 1 });
    expect(of(one).priority).toBe(wished);
    expect(report.requests.byEndpoint.update_topic).toBe(1);
    expect(sandbox.writes()).toHaveLength(1);
    expect(sandbox.applied()[`topic:${one.id}`]).toEqual({ priority: 1, lifecycleState: 1 });
  });

  it('a deleted or migrated topic fails with its reason, the others are applied', async () => {
    const [deleted, migrated, fine] = some(3) as [StoredTopic, StoredTopic, StoredTopic];
    await enqueue(pulling.dataDir, [deleted, migrated, fine].map(raise));
    sandbox.change({ kind: 'deleteTopic', topicId: deleted.id });
    sandbox.change({ kind: 'migrateTopic', topicId: migrated.id });
    const { report, code } = await push(pulling);
    expect(code).toBe(3);
    expect(report).toMatchObject({ applied: 1, failed: { total: 2 } });
    expect(report.failed.byReason).toEqual({ NOT_FOUND: 1, archived_in_v1_to_v2_migration: 1 });
  });

  it('a result file that cannot be written is refused before the run starts', async () => {
    const folder = testFolder();
    mkdirSync(join(folder, 'folder.csv'));
    const [topic] = some(1) as [StoredTopic];
    const [change] = await enqueue(pulling.dataDir, [raise(topic)]);
    for (const [name, problem] of [
      ['done.txt', 'does not end in .xlsx, .csv or .tsv'],
      [join('nowhere', 'done.csv'), 'does not exist'],
      ['folder.csv', 'is a folder'],
    ] as const) {
      const refused = await pulling.run(['push', '--result', join(folder, name)]);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('--result');
      expect(refused.stderr.replaceAll(/\s+/g, ' ')).toContain(problem);
      expect(readdirSync(folder)).toEqual(['folder.csv']);
    }
    expect(sandbox.stats().requests).toBe(0);
    expect((await push(pulling)).report.changes.map(({ id, status }) => [id, status])).toEqual([
      [change?.id, 'applied'],
    ]);
  });
});
