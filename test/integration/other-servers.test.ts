import { expect, it, onTestFinished } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/start.js';
import { Pulling, startTown } from '../support/pulling.js';

async function townOf(options: SandboxOptions = {}) {
  const sandbox = await startTown(options);
  onTestFinished(() => sandbox.stop());
  return { sandbox, pulling: Pulling.into(sandbox) };
}

/** Small, so that pages of few items are still few pages. */
const tiny = { sizes: { topics: 12, people: 14, companies: 4, messages: 120 } };

it('a history of a person with more records than one answer has is requested for each kind of actor', async () => {
  const { sandbox, pulling } = await townOf();
  const long = [...sandbox.world.people.values()].filter(({ id }) => {
    const records = sandbox.world.history.get(`person:${id}`) ?? [];
    return /^\d+$/.test(id) && records.some(({ changedBy }) => changedBy !== 'user');
  });
  const [complete, cut] = long.map(({ id }) => id) as [string, string];
  const isUser = ({ changedBy }: { changedBy: string }) => changedBy === 'user';
  for (const [personId, most] of [
    [complete, 50],
    [cut, 55],
  ] as const) {
    const records = () => sandbox.world.history.get(`person:${personId}`) ?? [];
    for (let count = 0; records().filter(isUser).length < most; count += 1)
      sandbox.change({ kind: 'patchPerson', personId, fields: { description: `version ${count}` } });
  }
  const { code, report, seen } = await pulling.sync(['--only', 'people']);
  expect(code).toBe(0);
  const stored = await pulling.rows<{ id: string; records: number }>(
    `SELECT entity_id AS id, count(*)::INT AS records FROM history WHERE entity_id IN ('${complete}', '${cut}') AND entity_type = 'person' GROUP BY 1`,
  );
  const recordsOf = (id: string) => sandbox.world.history.get(`person:${id}`)?.length ?? 0;
  expect(Object.fromEntries(stored.map(({ id, records }) => [id, records]))).toEqual({
    [complete]: recordsOf(complete),
    [cut]: recordsOf(cut) - 5,
  });
  // Three requests more for each of the two; what is still missing of one is noted.
  expect(seen.person_history).toBe(sandbox.world.people.size + 6);
  expect(report.notes.join()).toContain('1 histories have more records than the API returns');
});

it('addresses of pictures that are signed anew in each answer make nothing look changed', async () => {
  const { pulling } = await townOf({ ...tiny, signedUrls: true });
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  const second = await pulling.sync();
  expect(second.code).toBe(0);
  // No child is requested.
  expect(Object.keys(second.seen).sort()).toEqual(
    ['whoami', 'topics', 'companies', 'people', 'channels', 'stories', 'automation_templates'].sort(),
  );
  const pictures = [
    'authors.source_avatar_url',
    'people.avatar_url',
    'people.company_logo_url',
    'companies.logo_url',
    'company_employees.avatar_url',
    'topic_people.avatar_url',
    'topic_people.company_logo_url',
    'messages.reply_to',
    'messages.thread',
  ];
  expect(await pulling.differences({ except: pictures })).toEqual([]);
});

it('a bucket of stories that has more than it returns is said, whichever it is', async () => {
  const { sandbox, pulling } = await townOf({ sizes: { ...tiny.sizes, stories: 260 } });
  const stories = [...sandbox.world.stories.values()];
  const archive = (count: number) =>
    stories.forEach((story, at) => {
      const by = {
        actor: { type: 'agent', name: 'Archivist' },
        archivedAt: story.createdAt,
        reason: null,
      } as const;
      story.archive = at < count ? by : null;
    });
  const note = async () =>
    (await pulling.sync(['--only', 'stories'])).report.scans.find(({ endpoint }) => endpoint === 'stories');
  archive(110);
  expect(await note()).toMatchObject({
    verified: false,
    note: expect.stringContaining('everything has 150'),
  });
  // What the API does not return leaves no list incomplete for ever.
  const { freshness } = await pulling.json<{ freshness: unknown[] }>(['status'], 3);
  expect(freshness).toContainEqual(expect.objectContaining({ resource: 'stories', state: 'fresh' }));
  // As many stories were read as the bucket `everything` has, but other ones.
  archive(200);
  expect(await note()).toMatchObject({ verified: true, note: expect.stringContaining('archived has 200') });
});
