import { expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, open, runId } from '../../support/open-warehouse.js';

const deletedAt = at(100).toISOString();
const text = (content: string) => ({ content, title: `About ${content}`, metadata: { note: content } });

test('what the API deleted long ago loses its content; its row, its times and its counts stay', async () => {
  const warehouse = await open();
  const person = { displayName: 'Kim Castellanos', primaryEmail: 'kim@mail.example', messageCount: 2 };
  const documents = [
    doc('topic_groups', 'g', 1, { group: { id: 'g' } }, 't'),
    doc(
      'messages',
      'gone',
      1,
      { ...text('Secret'), deletedAt, sourceUrl: 'https://s', author: { id: 'a' } },
      'g',
    ),
    doc(
      'messages',
      'kept',
      1,
      {
        ...text('Mine'),
        deletedAt: null,
        replyToId: 'gone',
        sourceReplyToId: 's-1',
        replyTo: { id: 'gone', deletedAt, ...text('Secret') },
      },
      'g',
    ),
    doc('people', 'p', 1, person),
    doc('topic_people', 'p', 1, person, 't'),
    doc('person_presence', 'p', 2, { deletedAt, deletedReason: 'not_found' }),
    doc('people', 'q', 1, { ...person, displayName: 'Lee', primaryEmail: 'lee@mail.example' }),
  ];
  // Nothing says whose text these quote.
  const odd = {
    endpoint: 'topic_groups',
    path: 'group.mood',
    body: '{"messages":["Secret"]}',
    seenAt: at(100),
  };
  const rejections = [{ ...odd, id: 'g2', parentId: 't', reason: 'is odd' }];
  const drift = [{ ...odd, kind: 'unknown_field' as const, example: '"Secret"', count: 1 }];
  await loadBatch(warehouse, batchOf(runId, { documents, rejections, drift }));
  const rows = () =>
    warehouse.all<{ row: string }>(`
      SELECT to_json(m)::VARCHAR AS row FROM messages m UNION ALL SELECT to_json(p)::VARCHAR FROM people p
      UNION ALL SELECT to_json(v)::VARCHAR FROM people_versions v UNION ALL SELECT to_json(d)::VARCHAR FROM raw.documents d
      UNION ALL SELECT to_json(t)::VARCHAR FROM topic_people t UNION ALL SELECT body::VARCHAR FROM ops.rejected_records
      UNION ALL SELECT example FROM ops.schema_drift`);
  const groups = () => warehouse.all('SELECT topic_id, group_id, first_seen_at FROM topic_group_versions');
  await warehouse.refreshDerived();
  await warehouse.run("UPDATE topic_group_versions SET first_seen_at = TIMESTAMPTZ '2025-01-01'");
  const since = await groups();
  const before = await rows();
  expect(await warehouse.expireOld({ deleted: at(100), messages: null, people: null }, at(200))).toEqual({});
  expect(await rows()).toEqual(before);

  expect(
    await warehouse.expireOld({ deleted: at(101), messages: null, people: null }, at(200)),
  ).toMatchObject({
    messages: 2,
    people: 1,
    people_versions: expect.any(Number),
    'ops.rejected_records': 1,
    'ops.schema_drift': 1,
  });
  // Since when a conversation is in its topic only this table knows.
  expect(await groups()).toEqual(since);
  expect(since).toHaveLength(1);
  const after = await rows();
  expect(after.length).toBe(before.length);
  expect(after.map(({ row }) => row).join('\n')).not.toMatch(/Secret|Castellanos|kim@/);
  expect(
    await warehouse.all(
      'SELECT id, content, deleted_at, source_url, source_reply_to_id FROM messages ORDER BY id',
    ),
  ).toEqual([
    { id: 'gone', content: null, deleted_at: at(100), source_url: 'https://s', source_reply_to_id: null },
    { id: 'kept', content: 'Mine', deleted_at: null, source_url: null, source_reply_to_id: 's-1' },
  ]);
  expect(
    await warehouse.all('SELECT id, display_name, message_count, deleted_reason FROM people ORDER BY id'),
  ).toEqual([
    { id: 'p', display_name: null, message_count: 2, deleted_reason: 'not_found' },
    { id: 'q', display_name: 'Lee', message_count: 2, deleted_reason: null },
  ]);
  // Nothing is due any more, and what was done is in the audit.
  expect(await warehouse.expireOld({ deleted: at(101), messages: null, people: null }, at(200))).toEqual({});
  expect(await warehouse.all('SELECT action, entities, requested_by FROM ops.audit')).toEqual([
    { action: 'expire', entities: 2, requested_by: null },
  ]);
  // A topic, and the company of a colleague, may name the person again.
  const copy = { displayName: 'Kim Castellanos', name: 'Kim Castellanos' };
  for (const again of [
    doc('topic_people', 'p', 300, copy, 't'),
    doc('company_employees', 'p', 301, copy, 'c'),
  ]) {
    await loadBatch(warehouse, batchOf(runId, { documents: [again] }));
    await warehouse.expireOld({ deleted: at(101), messages: null, people: null }, at(200));
    expect((await rows()).map(({ row }) => row).join('\n')).not.toMatch(/Castellanos/);
  }
  expect(await warehouse.all('FROM company_employees WHERE name IS NOT NULL')).toEqual([]);
  await warehouse.close();
});

test('of each person everything that is left goes, whatever column it is in', async () => {
  const warehouse = await open();
  const left: readonly (readonly [endpoint: string, id: string, body: object])[] = [
    ['people', 'p1', { description: 'Kim Castellanos' }],
    ['people', 'p2', { expertiseTags: ['Castellanos'] }],
    ['people', 'p3', { connections: { title: 'Castellanos' } }],
    ['topic_people', 'p4', { avatarUrl: 'https://a/Castellanos' }],
    ['person_identities', 'p5', { platform: 'x', platformId: '1', platformUsername: 'Castellanos' }],
  ];
  const documents = left.flatMap(([endpoint, id, body]) => [
    ...(endpoint === 'people' ? [] : [doc('people', id, 1, { messageCount: 2 })]),
    endpoint === 'person_identities' ? doc(endpoint, 'x:1', 1, body, id) : doc(endpoint, id, 1, body, 't'),
    doc('person_presence', id, 2, { deletedAt, deletedReason: 'not_found' }),
  ]);
  await loadBatch(warehouse, batchOf(runId, { documents }));
  await warehouse.refreshDerived();
  const expired = await warehouse.expireOld({ deleted: at(101), messages: null, people: null }, at(200));
  expect(expired).toMatchObject({ people: 3, topic_people: 1, person_identities: 1 });
  const rows =
    await warehouse.all(`SELECT body::VARCHAR AS text FROM raw.documents UNION ALL SELECT to_json(p)::VARCHAR FROM people p
    UNION ALL SELECT to_json(i)::VARCHAR FROM person_identities i UNION ALL SELECT to_json(t)::VARCHAR FROM topic_people t`);
  expect(JSON.stringify(rows)).not.toContain('Castellanos');
  expect(await warehouse.expireOld({ deleted: at(101), messages: null, people: null }, at(200))).toEqual({});
  await warehouse.close();
});
