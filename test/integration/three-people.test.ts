import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { townOfFile } from '../support/pulling.js';
import { changeable, DropFolder, lineOf } from '../support/pushing.js';
import { serve, terminate, until } from '../support/serving.js';
import { people, Visitor } from '../support/visiting.js';

const { sandbox, pulling } = await townOfFile({ sizes: { topics: 560 } });
const topics = changeable(sandbox);

const token = 'a-token-of-a-good-length';
const sheet = (lines: readonly string[]) => `topic_id,priority\n${lines.join('')}`;

interface Listed {
  readonly changes: readonly {
    status: string;
    entityId: string;
    wanted: { priority: string };
    requestedBy: string | null;
    source: string;
    error: string | null;
  }[];
}

it('500 changes by three people through page, folder and command line, under faults and a kill: each once, each conflict told', async () => {
  expect(topics.length).toBeGreaterThan(400);
  const never = { cron: '0 0 1 1 *', catchUp: false };
  const jobs = [
    { name: 'sync', run: 'sync', ...never },
    { name: 'push', run: 'sync+push', ...never },
  ];
  pulling.set({ serve: { users: await people(), jobs } });
  const start = () => serve(pulling, [], { SIGNALHOUSE_SERVE_TOKEN: token });
  let served = await start();
  const run = async (job: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${served.url}/jobs/${job}/run`, { method: 'POST', headers })).status;
  };

  // Two of them want something else for each of 50 topics, twice.
  const third = (one: StoredTopic) => `${one.id},${one.priority === 'very_low' ? 'low' : 'very_low'}\n`;
  const wishes = {
    page: topics.slice(0, 200).map(lineOf),
    folder: [...topics.slice(150, 200).map(third), ...topics.slice(200, 300).map(lineOf)],
    command: [...topics.slice(250, 300).map(third), ...topics.slice(300, 400).map(lineOf)],
  };
  const contested = new Set([...topics.slice(150, 200), ...topics.slice(250, 300)].map(({ id }) => id));
  const file = join(pulling.dataDir, 'command.csv');
  writeFileSync(file, sheet(wishes.command));

  // All three ask while a pull holds the warehouse.
  sandbox.addFaults([{ match: { route: 'whoami' }, kind: 'status', status: 503 }]);
  expect(await run('sync')).toBe(202);
  await until(
    async () => (await fetch(`${served.url}/metrics`)).text(),
    (text) => /^signalhouse_running\{job="sync"[^}]*\} 1$/m.test(text),
  );
  const anna = await Visitor.of(served.url, 'anna');
  await anna.upload('page.csv', sheet(wishes.page));
  await anna.press('confirm');
  new DropFolder(pulling).drop('folder.csv', sheet(wishes.folder));
  const command = pulling.start(['changes', 'import', file, '--yes', '--wait', '--by', 'Joe']);
  const doubts = { match: { method: 'PATCH' }, probability: 0.1, commit: true } as const;
  sandbox.clearFaults();
  sandbox.addFaults([
    { ...doubts, kind: 'status', status: 502 },
    { ...doubts, kind: 'status', status: 500, commit: false },
    { ...doubts, kind: 'reset' },
  ]);

  const executed = () => Object.keys(sandbox.applied()).length;
  await until(
    async () => [executed(), await run('push')],
    ([count]) => Number(count) >= 60,
  );
  served.running.child.kill('SIGKILL');
  await served.running.ended;
  // 3: some of its rows are in conflict with what others had asked for before.
  expect([0, 3]).toContain((await command.ended).code);
  served = await start();
  const changes = await until(
    async () => {
      await run('push');
      const { stdout } = await pulling.run(['changes', 'list', '--limit', '1000', '--json']);
      return (JSON.parse(stdout) as Listed).changes;
    },
    (changes) =>
      changes.length >= 500 && changes.every(({ status }) => status !== 'queued' && status !== 'sending'),
  );
  expect(changes).toHaveLength(500);
  for (const [topic, made] of Object.entries(sandbox.applied()))
    expect([topic, made]).toEqual([topic, { priority: 1 }]);
  for (const { status, entityId, wanted, error, source } of changes) {
    const told = { source, entityId, status, error };
    if (!contested.has(entityId)) {
      expect(told).toEqual({ ...told, status: 'applied' });
      expect(sandbox.world.topics.get(entityId)?.priority).toBe(wanted.priority);
    } else if (status === 'applied')
      expect(sandbox.world.topics.get(entityId)?.priority).toBe(wanted.priority);
    else
      expect(told).toEqual({
        ...told,
        status: 'conflict',
        error: expect.stringMatching(/wants priority|is now/),
      });
  }
  await terminate(served);
});
