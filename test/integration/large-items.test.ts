import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { townOfFile } from '../support/pulling.js';

const { sandbox, pulling } = await townOfFile({ holds: 'nothing' });

/** Text that does not compress, of so many bytes. */
const text = (bytes: number) =>
  randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes);

/** Where the conversations of a company are not whole, its people are asked for their own, which stay until it is read again. */
const isListed = (line: string) => line.includes('via is "listed", should be "author"');

it('a container with less than 1 GiB is refused before anything is written, and doctor says so', async () => {
  pulling.tuning = { memory: 512 * 1024 ** 2 };
  const text = 'has 512 MiB of memory, and Signalhouse needs 1 GiB';
  const { code, stderr } = await pulling.run(['sync']);
  expect([code, stderr.replaceAll(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(text)]);
  expect(existsSync(pulling.dataDir)).toBe(false);
  const doctor = await pulling.run(['doctor', '--json']);
  expect(doctor.code).toBe(2);
  expect(JSON.parse(doctor.stdout).checks).toContainEqual(
    expect.objectContaining({ name: 'memory', state: 'fail', text: expect.stringContaining(text) }),
  );
  pulling.tuning = undefined;
});

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
