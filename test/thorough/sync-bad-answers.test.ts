import { afterAll, describe, expect, it } from 'vitest';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

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
