import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readSheet } from '../../src/sheet/read.js';
import { townOfFile } from '../support/pulling.js';
import { changeable, other } from '../support/pushing.js';
import { type Served, serve, terminate, until } from '../support/serving.js';
import { people, textOf, Visitor } from '../support/visiting.js';

const { sandbox, pulling } = await townOfFile();
const topics = changeable(sandbox);

const started: Served[] = [];
afterEach(() => {
  for (const { running } of started.splice(0)) running.child.kill('SIGKILL');
});

async function served(settings: object = {}): Promise<Served> {
  const jobs = [{ name: 'yearly', run: 'push', cron: '0 0 1 1 *', catchUp: false }];
  pulling.set({ serve: { users: people, jobs }, ...settings });
  const now = await serve(pulling);
  started.push(now);
  return now;
}

const priorityOf = (id: string) => String(sandbox.world.topics.get(id)?.priority);

/** The topics of the list that may be changed, in its order. */
function listed({ page }: Visitor): string[] {
  const ids = [...page.matchAll(/name="topic" value="([^"]+)"/g)].map(([, id]) => id ?? '');
  return ids.filter((id) => topics.some((one) => one.id === id));
}

/** What the page shows of a topic, as its form sends it. */
function seen({ page }: Visitor, id: string): Record<string, string> {
  const [, value = ''] = new RegExp(`name="seen/${id}" value="([^"]*)"`).exec(page) ?? [];
  return { [`seen/${id}`]: value };
}

/** Looks at a page until it says this. */
const shows = (visitor: Visitor, path: string, says: string | RegExp) =>
  until(
    () => visitor.get(path),
    (page) => textOf(page).search(says) !== -1,
  );

const importsOf = (ending: string) => {
  const folder = join(pulling.dataDir, 'imports');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(ending)) : [];
};

it('from the list to the undo, without a script: what was reviewed is sent, once, and nothing else', async () => {
  const first = await served();
  const anna = await Visitor.of(first.url, 'anna');
  await anna.get('/topics');
  const [one = '', two = ''] = listed(anna);
  const before = [priorityOf(one), priorityOf(two)];
  const to = other(before[0] ?? '');
  const form = { ...seen(anna, one), ...seen(anna, two), [`priority/${one}`]: to };
  await anna.send('/topics/draft?next=/topics', { action: 'save', ...form });
  expect(textOf(anna.page)).toContain('Draft: 1 change');
  expect(priorityOf(one)).toBe(before[0]);

  // The draft is on the disk, and ben sees whose it is.
  first.running.child.kill('SIGKILL');
  await first.running.ended;
  const { url } = await served();
  const ben = await Visitor.of(url, 'ben');
  expect(textOf(await ben.get('/topics'))).toContain(`anna drafts priority ${to.replaceAll('_', ' ')}`);
  expect(textOf(ben.page)).not.toContain('Draft: 1 change');
  const again = await Visitor.of(url, 'anna');
  await again.get('/topics');
  await again.send('/topics/draft', { action: 'review', reason: 'planning' });
  expect(again.path).toMatch(/^\/sheets\//);
  expect(textOf(again.page)).toContain(`priority: ${before[0]} → ${to}`.replaceAll('_', ' '));
  await again.press('confirm');
  await shows(again, '/topics', /Your last changes ✓?\s*applied 1/);
  expect([priorityOf(one), priorityOf(two)]).toEqual([to, before[1]]);
  expect(textOf(again.page)).not.toContain('Draft:');
  expect(importsOf('.draft')).toEqual([]);
  const [, sheet = ''] =
    /href="(\/sheets\/[^"]+)"/.exec(again.page.slice(again.page.indexOf('id="sent"'))) ?? [];
  await again.get(sheet);
  await again.press('undo');
  await again.press('confirm');
  await shows(again, '/topics', 'applied 1');
  await until(
    async () => priorityOf(one),
    (now) => now === before[0],
  );
  const { changes } = await pulling.json<{ changes: { requestedReason: string | null }[] }>([
    'changes',
    'list',
  ]);
  expect(changes.map(({ requestedReason }) => requestedReason)).toContain('planning');
  expect(sandbox.writes()).toHaveLength(2);
});

it('says what a colleague has changed since, to overwrite or discard, one by one', async () => {
  const { url } = await served();
  const anna = await Visitor.of(url, 'anna');
  await anna.get('/topics');
  const [, , one = '', two = ''] = listed(anna);
  const [a, b] = [priorityOf(one), priorityOf(two)];
  const wanted = ['very_high', 'high', 'low'].find((value) => value !== a && value !== b) ?? '';
  const theirs =
    ['very_low', 'default', 'high'].find((value) => value !== a && value !== b && value !== wanted) ?? '';
  const form = {
    ...seen(anna, one),
    ...seen(anna, two),
    [`priority/${one}`]: wanted,
    [`priority/${two}`]: wanted,
  };
  await anna.send('/topics/draft', { action: 'save', ...form });
  for (const topicId of [one, two])
    sandbox.change({ kind: 'patchTopic', topicId, fields: { priority: theirs as 'low' } });
  expect((await pulling.run(['sync', '--wait'])).code).toBe(0);
  await shows(anna, '/topics', '2 conflicts');
  expect(textOf(anna.page)).toContain(`now ${theirs.replaceAll('_', ' ')}`);
  await anna.send('/topics/draft', { action: 'overwrite', edit: `topic/priority/${one}` });
  await anna.send('/topics/draft', { action: 'discard', edit: `topic/priority/${two}` });
  expect(textOf(anna.page)).toContain('Draft: 1 change');
  expect(textOf(anna.page)).not.toContain('conflict');
  await anna.send('/topics/draft', { action: 'review', reason: '' });
  await anna.press('confirm');
  await shows(anna, '/topics', 'applied 1');
  expect([priorityOf(one), priorityOf(two)]).toEqual([wanted, theirs]);
});

it('has a page for each topic and company, whose names the profile masks, and edits a company', async () => {
  const first = await served();
  const anna = await Visitor.of(first.url, 'anna');
  await anna.get('/topics');
  const [topic = ''] = listed(anna);
  const [, company = ''] = /href="\/companies\/([^"?]+)"/.exec(anna.page) ?? [];
  const page = textOf(await anna.get(`/topics/${topic}`));
  for (const part of ['Who asked', 'Most telling messages', 'What happened', 'history of the API'])
    expect(page).toContain(part);
  expect(page).not.toContain('leaves this out');
  const [, duplicate = ''] =
    /name="topic" value="([^"]+)">(?:(?!<form).)*Archive as a duplicate/s.exec(anna.page) ?? [];
  await anna.send(`/topics/draft?next=/topics/${topic}`, {
    action: 'archive',
    topic: duplicate,
    [`seen/${duplicate}`]: new RegExp(`name="seen/${duplicate}" value="([^"]*)"`).exec(anna.page)?.[1] ?? '',
    archive_reason: `duplicate of ${sandbox.world.topics.get(topic)?.title}`,
  });
  expect([anna.path, textOf(anna.page)]).toEqual([
    `/topics/${topic}`,
    expect.stringContaining('will be archived'),
  ]);
  await anna.send('/topics/draft', { action: 'clear' });
  const archived = await pulling.rows<{ id: string; by: string; at: string }>(`
    SELECT entity_id AS id, coalesce(user_name, changed_by) AS by, strftime(changed_at, '%H:%M') AS at
      FROM history JOIN topics ON topics.id = entity_id AND archived_at = changed_at AND detail_unavailable_reason IS NULL
     ORDER BY entity_id LIMIT 3`);
  expect(archived).not.toEqual([]);
  for (const { id, by, at } of archived) {
    const state = textOf(await anna.get(`/topics/${id}`));
    const [, told] = /archived by (.*?\d\d:\d\d)/.exec(state) ?? [];
    expect([id, told]).toEqual([id, expect.stringContaining(`${by}, `)]);
    expect(told).toContain(at);
  }
  const [migrated] = await pulling.rows<{ id: string }>(
    'SELECT id FROM topics WHERE detail_unavailable_reason IS NOT NULL AND merged_into_id IS NULL AND successor_topic_id IS NULL ORDER BY id',
  );
  const unchangeable = await anna.get(`/topics/${migrated?.id}`);
  expect(textOf(unchangeable)).toContain('The API lists it, and does not return it');
  expect(unchangeable).not.toMatch(/value="(?:archive|save)"|<select name="priority/);
  await anna.get('/topics/nothing');
  expect([anna.status, textOf(anna.page)]).toEqual([
    404,
    expect.stringContaining('nothing with this address'),
  ]);

  const [, open = ''] =
    /Edit its (\d+ open topic)/.exec(textOf(await anna.get(`/companies/${company}`))) ?? [];
  expect(textOf(await anna.get(`/topics?company=${company}`))).toContain(open.replace('open ', ''));
  expect(textOf(await anna.get(`/companies/${company}`))).toContain('What else it asked for and is open');
  const told = await pulling.rows<{ topic_id: string; text: string }>(`
    SELECT topic_id, arg_max(content, said.created_at) AS text
      FROM message_senders AS said
      JOIN messages ON messages.id = message_id
      JOIN topic_groups ON topic_groups.group_id = said.group_id
      JOIN company_topics USING (topic_id)
      JOIN group_companies ON group_companies.group_id = said.group_id AND group_companies.company_id = company_topics.company_id
     WHERE company_topics.company_id = '${company}' AND side = 'staff' AND NOT said.is_internal
       -- Not what was said while only others were there.
       AND EXISTS (FROM message_senders AS own WHERE own.group_id = said.group_id AND own.company_id = '${company}' AND own.side = 'external')
       AND (
         SELECT coalesce(bool_or(other.company_id IS NOT DISTINCT FROM '${company}'), true)
           FROM message_senders AS other
          WHERE other.group_id = said.group_id AND other.side = 'external' AND other.created_at <= said.created_at
       )
     GROUP BY topic_id`);
  const lines = anna.page.split('<tr>').map(textOf);
  expect(told).not.toEqual([]);
  for (const { topic_id: about, text } of told) {
    const title = sandbox.world.topics.get(about)?.title ?? about;
    expect(lines.find((one) => one.includes(title))).toContain(text.slice(0, 40));
  }
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(anna.page)?.[1] ?? '';
  const isVip = sandbox.world.companies.get(company)?.isVip === true;
  await anna.send(`/topics/draft?next=/companies/${company}`, {
    action: 'save',
    company,
    seen_name: field('seen_name').replaceAll('&amp;', '&').replaceAll('&#39;', "'"),
    name: 'Renamed Ltd',
    seen_is_vip: field('seen_is_vip'),
    is_vip: String(!isVip),
  });
  expect([anna.path, textOf(anna.page)]).toEqual([
    `/companies/${company}`,
    expect.stringContaining('Draft: 1 change'),
  ]);
  await anna.send('/topics/draft', { action: 'review', reason: '' });
  await anna.press('confirm');
  await shows(anna, '/topics', 'applied 1');
  expect(sandbox.world.companies.get(company)).toMatchObject({ name: 'Renamed Ltd', isVip: !isVip });

  await terminate(first);
  pulling.set({ publish: { profile: 'analysts' } });
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  const masked = await served({ publish: { profile: 'analysts' } });
  const ben = await Visitor.of(masked.url, 'ben');
  const names = [...sandbox.world.people.values()].map(({ displayName }) => displayName);
  const shown = textOf(await ben.get(`/topics/${topic}`));
  expect(names.filter((name) => name !== null && name.length > 5 && shown.includes(name))).toEqual([]);
});

it('lists who asked for a completed topic, keeps who was told, and forgets it with the person', async () => {
  pulling.set({});
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  const { url } = await served();
  const completed = await pulling.rows<{ id: string }>(
    "SELECT id FROM topics WHERE lifecycle_state = 'completed' AND deleted_at IS NULL AND merged_into_id IS NULL AND detail_unavailable_reason IS NULL AND coalesce(graph_status, 'active') = 'active' ORDER BY total_group_count DESC",
  );
  const [{ id }] = completed as [{ id: string }];
  const anna = await Visitor.of(url, 'anna');
  expect(await anna.get(`/topics/${id}`)).toContain(`/topics/${id}/told`);
  await anna.get(`/topics/${id}/told`);
  const listedPeople = [...anna.page.matchAll(/name="listed" value="([^"]+)"/g)].map(([, one]) => one ?? '');
  const person = listedPeople.find((one) => sandbox.world.people.has(one)) ?? '';
  await anna.send(`/topics/${id}/told`, { listed: listedPeople.join('\n'), told: person });
  expect(textOf(anna.page)).toContain(`1 of ${listedPeople.length}`);
  expect(textOf(anna.page)).toContain('told by anna');
  // A page from before changes only what was changed on it.
  const ben = await Visitor.of(url, 'ben');
  await ben.get(`/topics/${id}/told`);
  await ben.send(`/topics/${id}/told`, { listed: listedPeople.join('\n'), told: '' });
  expect(textOf(ben.page)).toContain('told by anna');
  await ben.send(`/topics/${id}/told`, { listed: person, told: '', shown_told: person });
  expect(textOf(ben.page)).toContain(`0 of ${listedPeople.length}`);
  await anna.send(`/topics/${id}/told`, { listed: person, told: person });
  const bytes = new Uint8Array(await (await anna.ask(`/topics/${id}/told.csv`)).arrayBuffer());
  const { columns, rows } = await readSheet({ bytes, name: 'told.csv' });
  expect(rows).toHaveLength(listedPeople.length);
  expect(rows.filter(({ cells }) => cells[columns.indexOf('told_by')] === 'anna')).toHaveLength(1);
  expect(JSON.stringify(sandbox.writes())).not.toContain('told');

  const rita = await Visitor.of(url, 'rita');
  expect(await rita.get(`/topics/${id}/told`)).not.toContain('name="told"');
  await rita.send(`/topics/${id}/told`, { listed: person, told: '' });
  expect(rita.status).toBe(403);
  expect(importsOf('.told')).toHaveLength(1);
  expect((await pulling.run(['forget', 'person', person, '--yes', '--reason', 'asked', '--wait'])).code).toBe(
    0,
  );
  expect(importsOf('.told')).toEqual([]);
});
