import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { readSheet } from '../../src/sheet/read.js';
import { townOfFile } from '../support/pulling.js';
import { changeable, DropFolder, lineOf, outcomes } from '../support/pushing.js';

const { sandbox, pulling } = await townOfFile({ holds: 'nothing' });
const topics = changeable(sandbox);
const inbox = new DropFolder(pulling);

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
  it('of the first night waits for the warehouse, and hands each file back: good ones done, bad ones with reasons, unfinished ones alone', async () => {
    const [, second, third, fourth] = topics as [StoredTopic, StoredTopic, StoredTopic, StoredTopic];
    const before = third.priority;
    inbox.drop('open.ods', openDocument(`topic_id,priority\n${lineOf(fourth)}`));
    const good = `topic_id,priority\n${lineOf(second)}`;
    inbox.drop('good.csv', good);
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
    expect(`topic_id,priority\n${second.id},${priorityOf(second)}\n`).toBe(good);
    expect(readdirSync(inbox.path).sort()).toEqual(['done', 'growing.csv', 'rejected']);
    expect(readdirSync(join(inbox.path, 'rejected')).sort()).toEqual([
      'bad.csv',
      'bad.result.csv',
      'notes.txt',
      'notes.txt.reason.txt',
      'photo.xlsx',
      'photo.xlsx.reason.txt',
    ]);
    const reasons = await readSheet({ path: join(inbox.path, 'rejected', 'bad.result.csv') });
    expect(reasons.columns).toEqual(['topic_id', 'title', 'result', 'reason', 'priority']);
    expect(reasons.rows[1]?.cells.slice(2, 4)).toEqual(['invalid', expect.stringContaining('no-such-topic')]);
    // What is read as .ods is written as .xlsx.
    for (const name of ['good.result.csv', 'open.result.xlsx']) {
      const results = await readSheet({ path: join(inbox.path, 'done', name) });
      expect(results.rows.map(({ cells }) => cells[2])).toEqual(['applied']);
    }
  });

  it('keeps a file whose changes a cap left in the queue, and hands it back the night after', async () => {
    const some = topics.slice(4, 9);
    inbox.drop('capped.csv', `topic_id,priority\n${some.map(lineOf).join('')}`);
    const first = await inbox.night(['--max-requests', '5']);
    expect(first.code).toBe(0);
    // What was saved earlier is sent first.
    expect(outcomes(first.report)).toEqual({ 'capped.csv': 'waiting', 'growing.csv': 'done' });
    expect(first.report.push?.left.queued).toBeGreaterThan(0);
    const second = await inbox.night();
    expect(outcomes(second.report)).toEqual({ 'capped.csv': 'done' });
    for (const topic of some) expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
    const results = await readSheet({ path: join(inbox.path, 'done', 'capped.result.csv') });
    expect(results.rows.map(({ cells }) => cells[2])).toEqual(some.map(() => 'applied'));
  });
});
