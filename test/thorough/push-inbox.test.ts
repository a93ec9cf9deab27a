import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SyncPushReport } from '../../src/app/runs.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { readSheet } from '../../src/sheet/read.js';
import { Pulling, startTown } from '../support/pulling.js';
import { changeable } from '../support/pushing.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
let inbox: string;
let topics: StoredTopic[];

beforeAll(async () => {
  sandbox = await startTown();
  pulling = await Pulling.filled(folders, sandbox);
  topics = changeable(sandbox);
  inbox = join(pulling.dataDir, 'inbox');
  mkdirSync(inbox, { recursive: true });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

async function night(args: readonly string[] = []): Promise<{ code: number | null; report: SyncPushReport }> {
  const ran = await pulling.run(['sync', '--push', '--json', ...args]);
  try {
    return { code: ran.code, report: JSON.parse(ran.stdout) as SyncPushReport };
  } catch {
    throw new Error(`it printed no JSON: ${ran.stdout}${ran.stderr}`);
  }
}

const outcomes = (report: SyncPushReport) =>
  Object.fromEntries(report.inbox.map(({ name, outcome }) => [name, outcome]));
const drop = (name: string, text: string) => writeFileSync(join(inbox, name), text);
const lineOf = (topic: StoredTopic) => `${topic.id},${topic.priority === 'high' ? 'low' : 'high'}\n`;

describe('the drop folder', () => {
  it('keeps a file whose changes a cap left in the queue, and hands it back the night after', async () => {
    const some = topics.slice(4, 9);
    drop('capped.csv', `topic_id,priority\n${some.map(lineOf).join('')}`);
    drop('growing.csv', `topic_id,priority\n${lineOf(topics[10] as StoredTopic)}`);
    const first = await night(['--max-requests', '5']);
    expect(first.code).toBe(0);
    expect(outcomes(first.report)['capped.csv']).toBe('waiting');
    expect(first.report.push?.left.queued).toBeGreaterThan(0);
    const second = await night();
    expect(outcomes(second.report)).toEqual({ 'capped.csv': 'done', 'growing.csv': 'done' });
    for (const topic of some) expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
    const results = await readSheet({ path: join(inbox, 'done', 'capped.result.csv') });
    expect(results.rows.map(({ cells }) => cells[2])).toEqual(some.map(() => 'applied'));
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
