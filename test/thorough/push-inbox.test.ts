import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { readSheet } from '../../src/sheet/read.js';
import type { Pulling } from '../support/pulling.js';
import { DropFolder, lineOf, outcomes, townForPushes } from '../support/pushing.js';

let sandbox: Sandbox;
let pulling: Pulling;
let inbox: DropFolder;
let topics: StoredTopic[];
townForPushes({ holds: 'everything' }, (made) => {
  ({ sandbox, pulling, topics } = made);
  inbox = new DropFolder(pulling);
});

describe('the drop folder', () => {
  it('keeps a file whose changes a cap left in the queue, and hands it back the night after', async () => {
    const some = topics.slice(4, 9);
    inbox.drop('capped.csv', `topic_id,priority\n${some.map(lineOf).join('')}`);
    inbox.drop('growing.csv', `topic_id,priority\n${lineOf(topics[10] as StoredTopic)}`);
    const first = await inbox.night(['--max-requests', '5']);
    expect(first.code).toBe(0);
    expect(outcomes(first.report)['capped.csv']).toBe('waiting');
    expect(first.report.push?.left.queued).toBeGreaterThan(0);
    const second = await inbox.night();
    expect(outcomes(second.report)).toEqual({ 'capped.csv': 'done', 'growing.csv': 'done' });
    for (const topic of some) expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
    const results = await readSheet({ path: join(inbox.path, 'done', 'capped.result.csv') });
    expect(results.rows.map(({ cells }) => cells[2])).toEqual(some.map(() => 'applied'));
  });
});

describe('two people in one night', () => {
  it('have a conflict that both results tell, and the rest of the night goes on', async () => {
    const [one, two] = topics.slice(15, 17) as [StoredTopic, StoredTopic];
    const [wanted, other] = ['very_low', 'very_high'].filter((value) => value !== one.priority);
    for (const name of ['anna', 'ben']) mkdirSync(join(inbox.path, name));
    inbox.drop('anna/plan.csv', `topic_id,priority\n${one.id},${wanted}\n${lineOf(two)}`);
    inbox.drop('ben/plan.csv', `topic_id,priority\n${one.id},${other ?? 'default'}\n`);
    mkdirSync(join(inbox.path, 'a.csv'));
    const before = sandbox.world.topics.get(one.id)?.priority;
    const { code, report } = await inbox.night();
    expect(code).toBe(3);
    expect(outcomes(report)).toEqual({
      'a.csv': 'rejected',
      [join('anna', 'plan.csv')]: 'done',
      [join('ben', 'plan.csv')]: 'done',
    });
    expect(report.push).toMatchObject({ applied: 1, conflict: 2, outcome: 'incomplete' });
    expect(sandbox.world.topics.get(one.id)?.priority).toBe(before);
    for (const { path } of report.inbox.filter(({ outcome }) => outcome === 'done')) {
      const { rows } = await readSheet({ path: path.replace(/\.csv$/, '.result.csv') });
      const [, , result, error] = rows[0]?.cells ?? [];
      expect(result).toBe('conflict');
      for (const part of ['anna', 'ben', wanted, other ?? 'default']) expect(error).toContain(part);
    }
    expect((await inbox.night()).code).toBe(0);
  });
});

describe('push --result', () => {
  it('hands the imported file back with what became of each row', async () => {
    const [one, two] = topics.slice(12, 14) as [StoredTopic, StoredTopic];
    const file = join(pulling.dataDir, 'mine.csv');
    writeFileSync(file, `Topic ID;Comment;Priority\n${one.id};keep me;high\n${two.id};;${two.priority}\n`);
    sandbox.change({ kind: 'patchTopic', topicId: one.id, fields: { priority: 'low' } });
    expect((await pulling.sync(['--only', 'topics'])).code).toBe(0);
    expect((await pulling.run(['changes', 'import', file, '--yes'])).code).toBe(0);
    sandbox.change({ kind: 'patchTopic', topicId: one.id, fields: { priority: 'very_low' } });
    const out = join(pulling.dataDir, 'back.csv');
    const pushed = await pulling.run(['push', '--result', out]);
    expect(pushed.code).toBe(3);
    expect(pushed.stdout).toContain(out);
    const { columns, rows } = await readSheet({ path: out });
    expect(columns).toEqual(['Topic ID', 'Comment', 'Priority', 'result', 'error', 'remote_value']);
    expect(rows.map(({ cells }) => [cells[1] ?? null, cells[3]])).toEqual([
      ['keep me', 'conflict'],
      [null, 'unchanged'],
    ]);
    expect(rows[0]?.cells[5]).toBe('priority: very_low');
    const wrong = await pulling.run(['push', '--result', 'back.pdf']);
    expect({ code: wrong.code, stderr: wrong.stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--result'),
    });
  });
});
