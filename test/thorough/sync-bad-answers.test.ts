import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredMessage, StoredTopic } from '../../src/sandbox/world/types.js';
import { listedTopics } from '../support/expected/topics.js';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

interface Rejected {
  readonly endpoint: string;
  readonly id: string | null;
  readonly path: string;
  readonly reason: string;
  readonly resolved: boolean;
}

const rejected = (dataDir: string) =>
  read(dataDir, (reader) =>
    reader.rows<Rejected>(
      `SELECT endpoint, id, path, reason, resolved_at IS NOT NULL AS resolved
       FROM ops.rejected_records ORDER BY endpoint, id`,
    ),
  );

describe('records that are not as documented', () => {
  let sandbox: Sandbox;
  let pulling: Pulling;
  let topic: StoredTopic;
  let message: StoredMessage;
  let nameless: string;
  let repair: () => void;

  beforeAll(async () => {
    sandbox = await startTown({ sizes: town });
    pulling = Pulling.into(folders, sandbox);
    const { world } = sandbox;
    topic = listedTopics({ world } as never).find(
      (one) => !one.migrated && one.groupIds.length > 2,
    ) as StoredTopic;
    const other = [...world.topics.values()].find(
      (one) => one !== topic && !one.migrated && one.groupIds.length > 1,
    ) as StoredTopic;
    message = world.messages.get(
      world.groups.get(other.groupIds[0] ?? '')?.messageIds[0] ?? '',
    ) as StoredMessage;
    const before = { priority: topic.priority, isInternal: message.isInternal };
    Object.assign(topic, { priority: 'urgent' });
    Object.assign(message, { isInternal: 'sometimes' });
    sandbox.changed();
    // The last in the list, whom topics and companies name all the same.
    nameless = [...world.people.keys()].at(-1) ?? '';
    sandbox.addFaults([{ match: { route: 'people' }, kind: 'replace', delete: ['data.39.id'] }]);
    repair = () => {
      sandbox.clearFaults();
      Object.assign(topic, { priority: before.priority });
      Object.assign(message, { isInternal: before.isInternal });
      sandbox.changed();
    };
  });
  afterAll(() => sandbox.stop());

  it('are set aside with their path and reason, and everything else is loaded', async () => {
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    expect(report.outcome).toBe('incomplete');
    expect(report.failures).toEqual([]);
    const found = await rejected(pulling.dataDir);
    const facts = found.map(({ endpoint, id, path }) => ({ endpoint, id, path }));
    expect(facts).toContainEqual({ endpoint: 'topics', id: topic.id, path: 'priority' });
    expect(facts).toContainEqual({ endpoint: 'messages', id: message.id, path: 'isInternal' });
    expect(facts).toContainEqual({ endpoint: 'people', id: null, path: 'id' });
    expect(found.every(({ reason, resolved }) => reason !== '' && !resolved)).toBe(true);
    expect(report.rejected.new).toBe(found.length);

    const others = (await pulling.differences()).filter(
      // The conversations of the topic come by companies and people alone, who do not say everything of them.
      (line) => ![topic.id, message.id, nameless, ...topic.groupIds].some((id) => line.includes(id)),
    );
    expect(others).toEqual([]);
  });

  it('do not fail every night', async () => {
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.rejected).toMatchObject({ new: 0, examples: [] });
    expect(report.rejected.known).toBeGreaterThan(1);
  });

  it('load once they are repaired, and are resolved', async () => {
    repair();
    await pulling.age();
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences()).toEqual([]);
    expect((await rejected(pulling.dataDir)).filter(({ resolved }) => !resolved)).toEqual([]);
  });
});

describe('answers in another form', () => {
  it('unknown fields, a changed type and texts that cannot be stored: kept, counted, and the rest is loaded', async () => {
    const sandbox = await startTown({ sizes: town });
    const { world } = sandbox;
    const pulling = Pulling.into(folders, sandbox);
    const [said] = [...world.messages.values()].filter(({ groupId }) => {
      const topic = world.topics.get(world.groups.get(groupId)?.topicId ?? '');
      return topic !== undefined && !topic.migrated && topic.graphStatus === 'active';
    });
    if (!said) throw new Error('nobody said anything');
    said.content = 'cut \ud83d here, and \u0000 there: \\u0000 \u2028 🙂';
    sandbox.changed();
    sandbox.addFaults([
      {
        match: { route: 'companies' },
        kind: 'replace',
        set: [
          { path: 'data.*.tier', value: 'gold' },
          { path: 'data.*.personCount', value: 'a dozen' },
        ],
      },
    ]);
    const { code, report } = await pulling.sync();
    expect(report.rejected.new).toBe(0);
    expect(code).toBe(0);

    const drift = await read(pulling.dataDir, (reader) =>
      reader.rows<{ endpoint: string; path: string; kind: string; example: string; occurrences: number }>(
        'SELECT endpoint, path, kind, example, occurrences FROM ops.schema_drift ORDER BY ALL',
      ),
    );
    expect(drift).toContainEqual({
      endpoint: 'companies',
      path: 'tier',
      kind: 'unknown_field',
      example: '"gold"',
      occurrences: 7,
    });
    expect(drift).toContainEqual({
      endpoint: 'companies',
      path: 'personCount',
      kind: 'changed_type',
      example: expect.any(String),
      occurrences: 7,
    });
    expect(drift).toContainEqual(expect.objectContaining({ endpoint: 'messages', kind: 'repaired_text' }));
    const [text] = await read(pulling.dataDir, (reader) =>
      reader.rows<{ content: string }>(`SELECT content FROM messages WHERE id = '${said.id}'`),
    );
    expect(text?.content).toBe('cut \ufffd here, and \ufffd there: \\u0000 \u2028 🙂');
    const rest = (await pulling.differences({ except: ['companies.person_count'] })).filter(
      (line) => !line.includes(said.id) && !line.startsWith('messages'),
    );
    expect(rest).toEqual([]);

    // The same again is no news.
    const again = await pulling.sync();
    expect([again.code, again.report.drift, again.report.rows]).toEqual([0, [], {}]);
    await sandbox.stop();
  });
});

it('an id that is not valid in a path costs no request and harms nothing else', async () => {
  const sandbox = await startTown();
  try {
    const pulling = Pulling.into(folders, sandbox);
    for (const route of ['topics', 'companies', 'people']) {
      const set = ['.', '..'].map((value, index) => ({ path: `data.${index}.id`, value }));
      sandbox.addFaults([{ match: { route }, kind: 'replace', set }]);
    }
    const first = await pulling.sync();
    expect([first.code, first.report.outcome]).toEqual([3, 'incomplete']);
    expect(new Set(first.report.failures.map(({ entityId }) => entityId))).toEqual(new Set(['.', '..']));
    expect(first.report.failures.map(({ endpoint }) => endpoint)).toContain('topic_history');
    expect(first.report.left.due).toBe(0);

    // Nothing is due but the lists: these ids are not tried again, and are not taken for an outage.
    const second = await pulling.sync();
    expect([second.code, second.report.failures]).toEqual([0, []]);
  } finally {
    await sandbox.stop();
  }
});

it('500 for some children: the rest is done, and the next run fetches them', async () => {
  const sandbox = await startTown({ sizes: town });
  const pulling = await Pulling.filled(folders, sandbox);
  await pulling.age();
  // DuckDB's JSON reader refuses a lone surrogate.
  const body = { code: 'BROKEN', message: 'no \ud83d weather', status: 500, defined: true };
  sandbox.addFaults([{ match: { route: 'company_activity' }, kind: 'status', status: 500, body }]);
  const hurt = await pulling.sync();
  expect(hurt.code).toBe(3);
  expect(hurt.report.failures[0]?.message).toContain('no \ufffd weather');
  expect(hurt.report.failures.map(({ endpoint }) => endpoint)).toEqual(Array(7).fill('company_activity'));
  expect(hurt.report.left).toMatchObject({ due: 7 });
  sandbox.clearFaults();
  const next = await pulling.sync();
  expect(next.code).toBe(0);
  expect(next.seen.company_activity).toBe(7);
  expect(next.seen.company).toBeUndefined();
  expect(await pulling.differences()).toEqual([]);
  await sandbox.stop();
});
