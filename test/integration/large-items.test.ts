import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Pulling, startTown } from '../support/pulling.js';

let sandbox: Sandbox;
let pulling: Pulling;
beforeEach(async () => {
  sandbox = await startTown();
  pulling = Pulling.into(sandbox);
});
afterEach(() => sandbox.stop());

/** Text that does not compress, of so many bytes. */
const text = (bytes: number) =>
  randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes);

it('a message of 20 MB is rejected with its size, and everything else is loaded, one of 1 MB as well', async () => {
  const [large, small] = [...sandbox.world.messages.values()];
  if (!large || !small) throw new Error('nobody said anything');
  large.content = text(20_000_000);
  small.content = text(1_000_000);
  sandbox.changed();
  const { code, report } = await pulling.sync();
  expect([code, report.failures]).toEqual([3, []]);
  const query = 'SELECT DISTINCT id, path, reason, strlen(body) < 100000 AS is_cut FROM ops.rejected_records';
  const { stdout } = await pulling.run(['sql', '--json', query]);
  const reason = expect.stringMatching(/^has 2000\d{4} bytes; at most 16777216 are stored/);
  expect(JSON.parse(stdout)).toEqual([{ id: large.id, path: 'content', reason, is_cut: true }]);
  const differences = await pulling.differences();
  // Its author may be seen in the conversation through this message alone.
  const isAbout = (one: string) => [large.id, large.groupId].some((id) => one.includes(id));
  expect(differences.filter((one) => !isAbout(one))).toEqual([]);
  expect(differences).not.toEqual([]);
  // The next night rejects it again, which is nothing new.
  expect((await pulling.sync()).code).toBe(0);
});

/** Where the conversations of a company are not whole, its people are asked for their own, which stay until it is read again. */
const isListed = (line: string) => line.includes('via is "listed", should be "author"');

it('an answer that is too large harms only itself, is rejected with its size, costs nothing while nothing changes, and comes once it is smaller', async () => {
  const limit = 300_000;
  pulling.tuning = { maxAnswerBytes: limit };
  const rejected = async () => {
    const columns = 'DISTINCT endpoint, id, parent_id, path, reason';
    const query = `SELECT ${columns} FROM ops.rejected_records WHERE resolved_at IS NULL`;
    return JSON.parse((await pulling.run(['sql', '--json', query])).stdout);
  };
  const { groups, messages } = sandbox.world;
  const group = [...groups.values()].find(({ topicId }) => topicId !== null);
  const message = messages.get(group?.messageIds.at(-1) ?? '');
  if (!group?.topicId || !message) throw new Error('the town has no conversation about a topic');
  message.content = text(400_000);
  sandbox.changed();
  const { topicId } = group;
  const ofTopic = [...groups.values()].filter((one) => one.topicId === topicId);
  /** All that its answer holds. */
  const ids = ofTopic.flatMap(({ id, messageIds }) => [id, ...messageIds]);

  const { code, report } = await pulling.sync();
  expect([code, report.outcome, report.failures]).toEqual([3, 'incomplete', []]);
  expect(report.left.due).toBe(0);
  expect(report.rejected.examples).toContainEqual(
    expect.objectContaining({ endpoint: 'topic_groups', entityId: topicId }),
  );
  const reason = expect.stringMatching(/^the answer has \d{6,} bytes; at most 300000 are read$/);
  const row = { endpoint: 'topic_groups', id: topicId, parent_id: null, path: '', reason };
  expect(await rejected()).toContainEqual(row);
  // The same conversation comes with companies, on one page of many.
  const isAbout = (line: string) => [topicId, ...ids].some((id) => line.includes(id));
  const differences = await pulling.differences({ most: 1_000 });
  expect(differences.filter((line) => !isAbout(line) && !isListed(line))).toEqual([]);
  expect(differences).not.toEqual([]);
  const { stdout } = await pulling.run(['status']);
  const status = stdout.replaceAll(/\s+/g, ' ');
  expect(status).toMatch(new RegExp(`topic_groups ${topicId}: .* \\d{6,} bytes; at most ${limit}`));
  const explained = await pulling.run(['explain', 'topic', topicId, '--json']);
  expect(JSON.parse(explained.stdout).children).toContainEqual(
    expect.objectContaining({ resource: 'topic_groups', isDue: false, why: 'too_large' }),
  );

  const next = await pulling.sync();
  expect([next.code, next.report.failures, next.report.rejected.new]).toEqual([0, [], 0]);
  expect([next.seen.topic_groups, next.seen.groups]).toEqual([undefined, undefined]);

  message.content = text(4_000);
  sandbox.changed();
  await pulling.age();
  const read = await pulling.sync();
  expect([read.code, read.report.failures]).toEqual([0, []]);
  expect((await pulling.differences({ most: 1_000 })).filter((line) => !isListed(line))).toEqual([]);
  expect(await rejected()).toEqual([]);
});
