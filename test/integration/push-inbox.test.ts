import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
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
  pulling = Pulling.into(folders, sandbox);
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
const priorityOf = (topic: StoredTopic) => sandbox.world.topics.get(topic.id)?.priority;
const drop = (name: string, text: string) => writeFileSync(join(inbox, name), text);
const lineOf = (topic: StoredTopic) => `${topic.id},${topic.priority === 'high' ? 'low' : 'high'}\n`;

/** The cells of a text as an OpenDocument. */
function openDocument(text: string): Uint8Array {
  const rows = text
    .trim()
    .split('\n')
    .map((line) => line.split(',').map((cell) => `<t:table-cell><x:p>${cell}</x:p></t:table-cell>`))
    .map((cells) => `<t:table-row>${cells.join('')}</t:table-row>`);
  const content = `<o:content><o:spreadsheet><t:table>${rows.join('')}</t:table></o:spreadsheet></o:content>`;
  return zipSync({ 'content.xml': strToU8(content) });
}

describe('the drop folder', () => {
  it('of the first night waits for the warehouse to be filled, and is pushed then', async () => {
    topics = changeable(sandbox);
    const [topic] = topics as [StoredTopic];
    const line = lineOf(topic);
    drop('first.csv', `topic_id,priority\n${line}`);
    const { code, report } = await night();
    expect(code).toBe(0);
    expect(outcomes(report)).toEqual({ 'first.csv': 'done' });
    expect(`${topic.id},${priorityOf(topic)}\n`).toBe(line);
    expect(readdirSync(join(inbox, 'done')).sort()).toEqual(['first.csv', 'first.result.csv']);
    expect(existsSync(join(inbox, 'first.csv'))).toBe(false);
  });

  it('hands each file back: good ones done, bad ones with their reasons, unfinished ones left alone', async () => {
    const [, second, third, fourth] = topics as [StoredTopic, StoredTopic, StoredTopic, StoredTopic];
    const before = third.priority;
    writeFileSync(join(inbox, 'open.ods'), openDocument(`topic_id,priority\n${lineOf(fourth)}`));
    drop('good.csv', `topic_id,priority\n${lineOf(second)}`);
    drop('bad.csv', `topic_id,priority\n${lineOf(third)}no-such-topic,high\n`);
    drop('photo.xlsx', '\xff\xd8\xff\xe0 not a sheet at all');
    drop('notes.txt', 'not ours');
    drop('growing.csv', 'topic_id,priority\n');
    const writing = setInterval(() => appendFileSync(join(inbox, 'growing.csv'), lineOf(third)), 50);
    const { code, report } = await night().finally(() => clearInterval(writing));
    expect(code).toBe(3);
    expect(outcomes(report)).toEqual({
      'good.csv': 'done',
      'open.ods': 'done',
      'bad.csv': 'rejected',
      'photo.xlsx': 'rejected',
      'notes.txt': 'rejected',
      'growing.csv': 'being_written',
    });
    expect(report.push?.applied).toBe(2);
    expect(priorityOf(third)).toBe(before);
    expect(readdirSync(inbox).sort()).toEqual(['done', 'growing.csv', 'rejected']);
    expect(readdirSync(join(inbox, 'rejected')).sort()).toEqual([
      'bad.csv',
      'bad.result.csv',
      'notes.txt',
      'notes.txt.reason.txt',
      'photo.xlsx',
      'photo.xlsx.reason.txt',
    ]);
    expect(readFileSync(join(inbox, 'rejected', 'photo.xlsx.reason.txt'), 'utf8')).toContain('photo.xlsx');
    const reasons = await readSheet({ path: join(inbox, 'rejected', 'bad.result.csv') });
    expect(reasons.columns).toEqual(['topic_id', 'priority', 'result', 'error', 'remote_value']);
    expect(reasons.rows[1]?.cells.slice(2, 4)).toEqual(['invalid', expect.stringContaining('no-such-topic')]);
    // What is read as .ods is written as .xlsx.
    for (const name of ['good.result.csv', 'open.result.xlsx']) {
      const results = await readSheet({ path: join(inbox, 'done', name) });
      expect(results.rows.map(({ cells }) => cells[2])).toEqual(['applied']);
    }
  });
});
