import { afterEach, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/serve/http/server.js';
import type { Sheets } from '../../../../src/serve/http/sheets.js';
import type { PageEdit, Topics } from '../../../../src/serve/http/topics.js';
import type { TopicFilter, TopicLine } from '../../../../src/serve/page/topics.js';
import { people, textOf, Visitor } from '../../../support/visiting.js';
import { serving } from '../serving.js';

let server: RunningServer | undefined;
afterEach(async () => {
  await server?.close();
});

const topic = (id: string): TopicLine => ({
  id,
  title: `Topic "${id}" & more`,
  priority: 'high',
  lifecycleState: null,
  isOpen: true,
  isArchived: false,
  companies: [{ id: 'c1', name: 'Acme', isVip: true }],
  vipPeople: 0,
  conversations: 3,
  weeks: [0, 1, 2],
  momentum: 1,
  sources: ['slack'],
  waitingSince: null,
  isDecided: false,
  attributes: [],
});

/** Topics that note what was asked of them. */
function noted() {
  const edits: PageEdit[][] = [];
  const filters: TopicFilter[] = [];
  const all = [topic('t1'), topic('t2'), topic('t/3')];
  const topics: Topics = {
    canEdit: true,
    async list(filter) {
      filters.push(filter);
      return {
        filter,
        companyName: filter.company === 'c1' ? 'Acme' : null,
        topics: all.slice(0, 2),
        total: 3,
        pages: 2,
        attributes: [],
        sources: ['slack'],
        drafts: { own: [], reason: '', others: [] },
        waiting: new Map(),
        sent: null,
        note: null,
      };
    },
    async matching(filter) {
      filters.push(filter);
      return all;
    },
    async edit(made) {
      edits.push(made.filter(({ seen, wanted }) => seen !== wanted));
    },
    async pasted(column, text, shown) {
      return shown.slice(0, 1).map(({ id, values }) => {
        const seen = values[column] ?? '';
        return { entityType: 'topic', entityId: id, field: column, seen, wanted: text };
      });
    },
    async settle() {},
    review: async () => 'p1',
    topic: async () => null,
    company: async () => null,
    told: async () => null,
    toldFile: async () => null,
    async tell() {},
  };
  return { topics, edits, filters };
}

async function served(
  topics: Topics,
  access: readonly string[] = ['anna', 'rita'],
  sheets?: Sheets,
): Promise<string> {
  const some = people.filter(({ name }) => access.includes(name));
  const needed = some.length > 0 ? { users: some, proxies: [], userHeader: null } : undefined;
  server = await startServer({ ...serving({ topics, sheets, access: needed }), port: 0 });
  return server.url;
}

it('has the list in its address, and shows it to those who only read without a control', async () => {
  const { topics, filters } = noted();
  const rita = await Visitor.of(await served(topics), 'rita');
  await rita.get('/topics?q=export&in=messages&vip=1&state=archived&sort=-vips&page=2&priority=nonsense');
  expect(filters[0]).toMatchObject({ q: 'export', in: 'messages', vip: true, state: 'archived', page: 2 });
  expect(filters[0]).toMatchObject({ priority: '', sort: '-vips' });
  expect(rita.page).toContain('Topic &quot;t1&quot; &amp; more');
  expect(rita.page).toContain('/topics?q=export&amp;in=messages&amp;state=archived&amp;vip=1&amp;sort=-vips');
  expect(rita.page).not.toMatch(/name="action"|name="topic"|name="seen/);
  await rita.send('/topics/draft', { action: 'save', 'seen/t1': 'high//false', 'priority/t1': 'low' });
  expect([rita.status, textOf(rita.page)]).toEqual([403, expect.stringContaining('You may look')]);
});

it('keeps the filter when a time zone is chosen, and the time zone when something else is', async () => {
  const { topics } = noted();
  const anna = await Visitor.of(await served(topics), 'anna');
  await anna.get('/topics?q=export&vip=1&zone=Asia/Tokyo');
  expect(anna.page).toContain('href="?q=export&amp;vip=1&amp;zone=UTC"');
  for (const kept of [
    'href="/topics?q=export&amp;vip=1&amp;sort=title&amp;zone=Asia%2FTokyo"',
    'href="/topics?q=export&amp;vip=1&amp;page=2&amp;zone=Asia%2FTokyo"',
    '<input type="hidden" name="zone" value="Asia/Tokyo">',
  ])
    expect(anna.page).toContain(kept);
});

it('edits nothing where the published file has other ids', async () => {
  const { topics } = noted();
  const anna = await Visitor.of(await served({ ...topics, canEdit: false }), 'anna');
  expect(await anna.get('/topics')).not.toContain('name="action"');
  await anna.send('/topics/draft', { action: 'clear' });
  expect([anna.status, textOf(anna.page)]).toEqual([400, expect.stringContaining('has other ids')]);
});

it('shows sheets, which have the ids, only to those who may change something where the published file has others', async () => {
  const { topics } = noted();
  const sheets = { history: async () => [] } as unknown as Sheets;
  for (const canEdit of [true, false]) {
    const url = await served({ ...topics, canEdit }, ['anna', 'rita'], sheets);
    const statuses = [];
    for (const name of ['anna', 'rita']) {
      const visitor = await Visitor.of(url, name);
      await visitor.get('/sheets');
      statuses.push(visitor.status);
    }
    expect(statuses).toEqual([200, canEdit ? 200 : 403]);
    await server?.close();
  }
});

it('without a login on this machine, it is read and nothing is edited', async () => {
  const { topics } = noted();
  const url = await served(topics, []);
  expect(await (await fetch(`${url}/topics`)).text()).not.toContain('name="action"');
  const answer = await fetch(`${url}/topics/draft`, { method: 'POST', body: new FormData() });
  expect(answer.status).toBeGreaterThanOrEqual(400);
});

it('takes what was changed in the menus, with what the page showed', async () => {
  const { topics, edits } = noted();
  const anna = await Visitor.of(await served(topics), 'anna');
  await anna.get('/topics');
  const rows = { 'seen/t1': 'high//false', 'seen/t/3': 'low/open/false' };
  await anna.send('/topics/draft?next=/topics?vip=1', {
    action: 'save',
    ...rows,
    'priority/t1': 'low',
    'lifecycle_state/t1': '',
    'priority/t/3': 'low',
    'lifecycle_state/t/3': 'completed',
  });
  expect(anna.path).toBe('/topics?vip=1');
  expect(edits).toEqual([
    [
      { entityType: 'topic', entityId: 't1', field: 'priority', seen: 'high', wanted: 'low' },
      { entityType: 'topic', entityId: 't/3', field: 'lifecycle_state', seen: 'open', wanted: 'completed' },
    ],
  ]);
});

it.for([
  ['the selected ones', { topic: 't2' }, ['t2']],
  ['all of the list, on other pages too', { all: '1' }, ['t1', 't2', 't/3']],
] as const)('archives %s, with the reason', async ([, chosen, ids]) => {
  const { topics, edits, filters } = noted();
  const anna = await Visitor.of(await served(topics), 'anna');
  await anna.get('/topics');
  const rows = { 'seen/t1': 'high//false', 'seen/t2': 'high//false' };
  await anna.send('/topics/draft?next=/topics?source=slack', {
    action: 'archive',
    archive_reason: ' old ',
    ...rows,
    ...chosen,
  });
  expect(edits[0]?.map(({ entityId, field, wanted }) => `${entityId} ${field} ${wanted}`)).toEqual(
    ids.flatMap((id) => [`${id} archived true`, `${id} archived_reason old`]),
  );
  expect(filters.every(({ source }, at) => at === 0 || source === 'slack')).toBe(true);
});

it('archives nothing without a reason, and leads back to where that was asked', async () => {
  const { topics, edits } = noted();
  const anna = await Visitor.of(await served(topics), 'anna');
  const form = await anna.get('/topics?vip=1');
  expect(form).toMatch(/name="archive_reason"[^>]* required>/);
  await anna.send('/topics/draft?next=/topics?vip=1', {
    action: 'archive',
    archive_reason: ' ',
    topic: 't1',
    'seen/t1': 'high//false',
  });
  expect([anna.status, textOf(anna.page)]).toEqual([400, expect.stringContaining('Say why')]);
  expect(anna.page).toContain('<a href="/topics?vip=1">Back to the topics</a>');
  expect(edits).toEqual([]);
});

it('the filter has the name of its company, and a review keeps the page that it leads back to', async () => {
  const { topics } = noted();
  const anna = await Visitor.of(await served(topics), 'anna');
  await anna.get('/topics?company=c1');
  expect(anna.page).toContain('name="company" value="Acme"');
  await anna.send('/topics/draft?next=/topics?company=c1', { action: 'review', reason: '' });
  expect(anna.path).toBe('/sheets/p1?next=%2Ftopics%3Fcompany%3Dc1');
});

it('says when nothing is selected, and takes no other page for the next one', async () => {
  const { topics } = noted();
  const anna = await Visitor.of(await served(topics), 'anna');
  await anna.get('/topics');
  await anna.send('/topics/draft', { action: 'apply', bulk_priority: 'low', 'seen/t1': 'high//false' });
  expect([anna.status, textOf(anna.page)]).toEqual([400, expect.stringContaining('No topic is selected.')]);
  await anna.get('/topics');
  await anna.send('/topics/draft?next=//evil.example/topics', { action: 'save' });
  expect(anna.path).toBe('/topics');
});
