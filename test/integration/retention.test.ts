import { expect, test } from 'vitest';
import { placesOf } from '../support/personal-strings.js';
import { read } from '../support/published.js';
import { Pulling, townOfFile } from '../support/pulling.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/sync.js'));

const { sandbox } = await townOfFile({ holds: 'nothing', sizes: { weeks: 60 } });

test('old content is counted first, dropped by the next sync, and not stored again, although the API still has it', async () => {
  const pulling = Pulling.into(sandbox);
  expect((await pulling.run(['sync'])).code).toBe(0);
  const planned = async () =>
    JSON.parse((await pulling.run(['sync', '--dry-run', '--json'])).stdout).retention;
  expect(await planned()).toMatchObject({ messages: 0, people: 0 });
  const settings = { retention: { messagesMonths: 3, peopleMonths: 3, deletedContentDays: 'never' } };
  pulling.set(settings);
  const preview = await planned();
  const { before } = preview;
  const messages = [...sandbox.world.messages.values()].filter(
    ({ createdAt }) => createdAt < Date.parse(before.messages),
  );
  expect(preview.messages).toBe(messages.length);
  expect(messages.length).toBeGreaterThan(20);
  const seen = await pulling.rows<{ id: string; display_name: string; is_old: boolean }>(
    `SELECT id, display_name, last_seen_at < '${before.people}' AS is_old FROM people WHERE deleted_at IS NULL`,
  );
  const old = seen.filter((one) => one.is_old);
  expect(preview.people).toBeGreaterThanOrEqual(old.length);
  expect(old.length).toBeGreaterThan(0);

  const counts = (one: Pulling) =>
    one.rows<object>(`SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM people) AS people,
                (SELECT sum(messages) FROM backlog) AS written`);
  const all = await counts(pulling);
  const { stdout } = await pulling.run(['plan']);
  expect(stdout).toMatch(new RegExp(`too old +drops the content of ${messages.length} messages and`));
  // What is stored is dropped; what comes is dropped on arrival.
  for (const one of [pulling, Pulling.into(sandbox, settings)]) {
    expect((await one.run(['sync'])).code).toBe(0);
    await read(one.dataDir, async ({ rows }) => {
      const left = `SELECT id FROM messages WHERE created_at < '${before.messages}' AND (content IS NOT NULL OR title IS NOT NULL)`;
      expect(await rows(left)).toEqual([]);
      const [young] = await rows<{ n: number }>(
        `SELECT count(*)::INTEGER AS n FROM messages WHERE created_at > '${before.messages}' AND content IS NOT NULL`,
      );
      expect(young?.n).toBeGreaterThan(20);
      const ids = old.map(({ id }) => `'${id}'`).join(', ');
      expect(await rows(`SELECT id FROM people WHERE id IN (${ids}) AND display_name IS NOT NULL`)).toEqual(
        [],
      );
    });
    expect(await counts(one)).toEqual(all);
  }
  // No file has a text of an old message that no young one has as well.
  const young = [...sandbox.world.messages.values()]
    .filter((one) => !messages.includes(one))
    .map(({ content }) => content);
  const [text] = messages.flatMap(({ content }) =>
    content && content.length > 60 && !young.some((one) => one?.includes(content)) ? content : [],
  );
  expect(text).toBeDefined();
  const places = await placesOf(pulling.dataDir, [text ?? '']);
  // Free blocks of the live file are written over with time, as after everything that is dropped by age.
  expect(places.filter((place) => !place.startsWith('worker.duckdb'))).toEqual([]);
  expect(await planned()).toMatchObject({ messages: 0, people: 0 });

  // A longer limit brings back what the API still has, when its conversations are fetched again.
  pulling.set({ retention: { deletedContentDays: 'never' } });
  await pulling.edit('UPDATE ops.coverage SET fetched_at = fetched_at - INTERVAL 100 DAY');
  expect((await pulling.run(['sync'])).code).toBe(0);
  expect(await pulling.differences()).toEqual([]);
});
