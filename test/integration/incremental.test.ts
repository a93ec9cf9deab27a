import { expect, test } from 'vitest';
import { batchOf, type Document } from '../../src/load/batch.js';
import type { Warehouse } from '../../src/load/warehouse.js';
import { Follower } from '../support/follower.js';
import { loadBatch } from '../support/load-batch.js';
import { at, doc, members, open } from '../support/open-warehouse.js';

const message = (id: string, second: number, more: object = {}) =>
  doc('messages', id, second, { content: `Text of ${id}`, author: { id: 'a' }, ...more }, 'g');
const account = (platformId: string, second: number) =>
  doc('person_identities', `mail:${platformId}`, second, { platform: 'mail', platformId }, 'p');
const person = { displayName: 'Kim Castellanos', primaryEmail: 'kim@mail.example' };

/** A run that stores some documents. */
async function night(warehouse: Warehouse, documents: readonly Document[], more = {}): Promise<string> {
  const start = { command: 'sync', startedAt: at(1), programVersion: 'test' };
  const run = await warehouse.startRun(start);
  await loadBatch(warehouse, batchOf(run, { documents, ...more }));
  await warehouse.refreshDerived();
  return run;
}

test('who copies what the marks name has every row as it is, whatever changed it, and copies nothing that did not change', async () => {
  const warehouse = await open();
  const follower = new Follower();
  const rows = async <T>(sql: string) =>
    (
      await warehouse.all<{ row: string }>(`SELECT to_json(answer)::VARCHAR AS row FROM (${sql}) AS answer`)
    ).map(({ row }) => JSON.parse(row) as T);
  const follow = async () => {
    await follower.follow(rows);
    expect(await follower.differences(rows)).toEqual([]);
    return follower.moved;
  };
  const first = [
    doc('topics', 't', 1, { title: 'One', priority: 'low' }),
    doc('topics', 'u', 1, { title: 'Two', priority: 'low' }),
    doc('topic_groups', 'g', 1, { group: { id: 'g' } }, 't'),
    doc('authors', 'a', 1, { sourceName: 'mail', sourceAuthorId: 'kim@mail.example' }),
    ...['m1', 'm2', 'm3'].map((id) => message(id, 1, { createdAt: at(1).toISOString() })),
    doc('people', 'p', 1, person),
    doc('people', 'q', 1, { displayName: 'Lee', lastSeenAt: at(1).toISOString() }),
    account('kim@mail.example', 1),
    account('other@mail.example', 1),
    doc('topic_people', 'p', 1, person, 't'),
  ];
  await night(warehouse, first);
  await follow();
  // The same again, a sibling of each list item, and something that no column has.
  const same = first.map((one) => ({ ...one, answerNo: 3, fetchedAt: at(3) }));
  await night(warehouse, [
    ...same,
    doc('topic', 't', 4, { title: 'One' }),
    message('m1', 4, { mood: 'odd' }),
  ]);
  expect(await follow()).toEqual([]);
  // A change of a version, a message less, an account that went.
  const sets = [
    members('messages', 'g', 5, ['m1', 'm3']),
    members('person_identities', 'p', 5, ['mail:kim@mail.example']),
  ];
  const third = await night(warehouse, [doc('topics', 't', 5, { title: 'One', priority: 'high' })], { sets });
  const went = () => warehouse.all('SELECT table_name, "key", run_id FROM ops.removed_rows ORDER BY ALL');
  expect(await went()).toEqual([
    { table_name: 'messages', key: ['m2'], run_id: third },
    { table_name: 'person_identities', key: ['p', 'mail'], run_id: third },
  ]);
  expect(await follow()).toEqual([]);
  // Too old.
  await night(warehouse, []);
  await warehouse.expireOld({ deleted: null, messages: at(50), people: at(50) }, at(60));
  await follow();
  // Forgotten.
  await warehouse.startRun({ command: 'forget', startedAt: at(70), programVersion: 'test' });
  const plan = await warehouse.planForget({ type: 'person', ids: ['p'], emails: [] });
  await warehouse.forget(plan, { requestedBy: 'it', reason: null }, at(71));
  await warehouse.refreshDerived();
  await follow();
  expect(JSON.stringify(await went())).not.toContain('@');
  await warehouse.rebuild();
  expect(await follow()).toEqual([]);
  await warehouse.close();
});
