import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { readSheet } from '../../src/sheet/read.js';
import { DropFolder, lineOf, outcomes, townForPushes } from '../support/pushing.js';

let sandbox: Sandbox;
let inbox: DropFolder;
let topics: StoredTopic[];
townForPushes({ holds: 'nothing' }, (made) => {
  ({ sandbox, topics } = made);
  inbox = new DropFolder(made.pulling);
});

const priorityOf = (topic: StoredTopic) => sandbox.world.topics.get(topic.id)?.priority;

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
    const [topic] = topics as [StoredTopic];
    const line = lineOf(topic);
    inbox.drop('first.csv', `topic_id,priority\n${line}`);
    const { code, report } = await inbox.night();
    expect(code).toBe(0);
    expect(outcomes(report)).toEqual({ 'first.csv': 'done' });
    expect(`${topic.id},${priorityOf(topic)}\n`).toBe(line);
    expect(readdirSync(join(inbox.path, 'done')).sort()).toEqual(['first.csv', 'first.result.csv']);
    expect(existsSync(join(inbox.path, 'first.csv'))).toBe(false);
  });

  it('hands each file back: good ones done, bad ones with their reasons, unfinished ones left alone', async () => {
    const [, second, third, fourth] = topics as [StoredTopic, StoredTopic, StoredTopic, StoredTopic];
    const before = third.priority;
    inbox.drop('open.ods', openDocument(`topic_id,priority\n${lineOf(fourth)}`));
    inbox.drop('good.csv', `topic_id,priority\n${lineOf(second)}`);
    inbox.drop('bad.csv', `topic_id,priority\n${lineOf(third)}no-such-topic,high\n`);
    inbox.drop('photo.xlsx', '\xff\xd8\xff\xe0 not a sheet at all');
    inbox.drop('notes.txt', 'not ours');
    inbox.drop('growing.csv', 'topic_id,priority\n');
    const writing = setInterval(() => appendFileSync(join(inbox.path, 'growing.csv'), lineOf(third)), 50);
    const { code, report } = await inbox.night().finally(() => clearInterval(writing));
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
    expect(readdirSync(inbox.path).sort()).toEqual(['done', 'growing.csv', 'rejected']);
    expect(readdirSync(join(inbox.path, 'rejected')).sort()).toEqual([
      'bad.csv',
      'bad.result.csv',
      'notes.txt',
      'notes.txt.reason.txt',
      'photo.xlsx',
      'photo.xlsx.reason.txt',
    ]);
    expect(readFileSync(join(inbox.path, 'rejected', 'photo.xlsx.reason.txt'), 'utf8')).toContain(
      'photo.xlsx',
    );
    const reasons = await readSheet({ path: join(inbox.path, 'rejected', 'bad.result.csv') });
    expect(reasons.columns).toEqual(['topic_id', 'priority', 'result', 'error', 'remote_value']);
    expect(reasons.rows[1]?.cells.slice(2, 4)).toEqual(['invalid', expect.stringContaining('no-such-topic')]);
    // What is read as .ods is written as .xlsx.
    for (const name of ['good.result.csv', 'open.result.xlsx']) {
      const results = await readSheet({ path: join(inbox.path, 'done', name) });
      expect(results.rows.map(({ cells }) => cells[2])).toEqual(['applied']);
    }
  });
});
