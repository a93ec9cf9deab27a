import { expect, test } from 'vitest';
import { batchOf } from '../../src/load/batch.js';
import { openPublished } from '../../src/read/query.js';
import { loadBatch } from '../support/load-batch.js';
import { doc, limits, open, ready, runId } from '../support/open-warehouse.js';

const texts = {
  m1: 'Ruth Walter, in the Market: thanks Mark, Mark! ruth@x.example',
  m2: '感谢伍紫林的帮助',
  m3: 'Status: nothing',
  m4: "O'Hara Ltd wrote",
  m5: 'RUTH WALTER, ruth walter: leave a mark on the truth walterite',
  m6: 'Write to jane.doe@janedoe.com or janedoe',
};

test('names of people are replaced in the texts that stay, as whole words, and not in the live file', async () => {
  const dir = await ready();
  const mask = { 'people.display_name': 'initials', 'people.primary_email': 'domain' };
  const warehouse = await open(dir, {
    publications: { main: { profile: 'none', exclude: [], mask }, also: [] },
  });
  const people = ['Ruth Walter', 'Mark', '伍紫林', "O'Hara Ltd", 'janedoe'].map((displayName, index) =>
    doc('people', `p${index}`, 0, { displayName }),
  );
  const messages = Object.entries(texts).map(([id, content]) =>
    doc('messages', id, 0, { content, sourceThreadId: 'mail/ruth@x.example' }, 'g1'),
  );
  const documents = [
    ...people,
    ...messages,
    doc('authors', 'a1', 0, { displayName: 'Status', isBot: true }),
    doc('person_groups', 'g1', 0, { group: { id: 'g1' } }, 'p1'),
    doc('stories', 'ruth-walter-asks', 0, { slug: 'ruth-walter-asks', draft: { title: 'Ruth Walter asks' } }),
    doc('topics', 't1', 0, {
      title: 'Asked by Ruth Walter',
      keywords: ['Ruth Walter', '', 'ruth@x.example', 'login'],
      linkedTicket: { displayName: 'RUTH WALTER-1', url: 'https://tickets.example/?by=ruth@x.example' },
    }),
    doc('topics', 't2', 0, { title: 'Without keywords', keywords: [] }),
    doc('topic_history', 'h1', 0, { changes: { title: 'Asked by Ruth Walter' }, operation: 'INSERT' }, 't1'),
  ];
  await loadBatch(warehouse, batchOf(runId, { documents }));
  // The run goes on meanwhile, and reads the live file.
  const publishing = warehouse.publish();
  expect(await warehouse.all('SELECT count(*) AS n FROM raw.documents')).toEqual([{ n: documents.length }]);
  await publishing;
  const snapshot = await openPublished(dir, limits);
  expect(await snapshot.all('SELECT id, content FROM messages ORDER BY id')).toEqual([
    { id: 'm1', content: '[name], in the Market: thanks [name], [name]! [e-mail]' },
    { id: 'm2', content: '感谢[name]的帮助' },
    { id: 'm3', content: 'Status: nothing' },
    { id: 'm4', content: '[name] wrote' },
    { id: 'm5', content: '[name], [name]: leave a mark on the truth walterite' },
    { id: 'm6', content: 'Write to [e-mail] or [name]' },
  ]);
  expect(await snapshot.all('SELECT DISTINCT source_thread_id AS id FROM messages')).toEqual([
    { id: expect.stringMatching(/^[a-z]{32}$/) },
  ]);
  expect(
    await snapshot.all(
      'SELECT title, keywords, linked_ticket_display_name AS ticket, linked_ticket_url AS url FROM topics ORDER BY id',
    ),
  ).toEqual([
    {
      title: 'Asked by [name]',
      keywords: ['[name]', '', '[e-mail]', 'login'],
      ticket: '[name]-1',
      url: 'https:[e-mail]',
    },
    { title: 'Without keywords', keywords: [], ticket: null, url: null },
  ]);
  // The slug of a story is made from its title.
  expect(await snapshot.all('SELECT slug, title FROM stories')).toEqual([
    { slug: expect.stringMatching(/^[a-z]{32}$/), title: '[name] asks' },
  ]);
  expect(await snapshot.all('SELECT changes FROM history')).toEqual([
    { changes: { title: 'Asked by [name]' } },
  ]);
  expect(await snapshot.all('SELECT display_name FROM people ORDER BY id')).toEqual(
    ['R.W.', 'M.', '伍.', 'O.L.', 'J.'].map((display_name) => ({ display_name })),
  );
  snapshot.close();
  expect(await warehouse.all('SELECT content FROM messages ORDER BY id')).toEqual(
    Object.values(texts).map((content) => ({ content })),
  );
  await warehouse.close();
});
