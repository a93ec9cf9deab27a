import { afterEach, beforeEach, expect, test } from 'vitest';
import { batchOf, type Document } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { columnClasses } from '../../../src/privacy/policy.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, members, open, ready, runId } from '../../support/open-warehouse.js';

// One for each test: it keeps what it has forgotten in memory.
let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await open();
});
afterEach(() => warehouse.close());

const ids = { person: '90210', author: 'author-1', company: '4007', group: 'group-1' };
let marks = 0;
/** A value that stands nowhere else. */
const mark = () => {
  marks += 1;
  return `Quetzal ${10_000 + marks} Zanzibar`;
};

const company = () => ({ id: ids.company, name: mark(), domain: mark(), logoUrl: mark() });
const connections = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, mark()]));
const account = { sourceName: 'slack', sourceAuthorId: mark() };
const text = () => ({ content: mark(), title: mark(), metadata: { note: mark() }, sourceUrl: mark() });
const message = () => ({
  ...text(),
  sourceMessageId: mark(),
  sourceThreadId: mark(),
  sourceReplyToId: mark(),
  quoteHighlights: [{ confidence: 1, content: mark() }],
  author: { id: ids.author },
  channel: { id: 'c', channelName: 'general', serverName: 'home' },
});

function ofCompany(): Document[] {
  const contacts = connections(['email', 'github', 'linkedin', 'phone', 'twitter']);
  return [
    doc('companies', ids.company, 1, {
      name: mark(),
      primaryDomain: mark(),
      logoUrl: mark(),
      connections: contacts,
    }),
    doc('people', '1', 1, { company: company() }),
    doc('topic_people', '1', 1, { company: company() }, 't'),
    doc(
      'company_identities',
      'crm:x',
      1,
      { id: mark(), platform: 'crm', platformId: mark(), platformUsername: mark() },
      ids.company,
    ),
    doc(
      'company_history',
      'h2',
      1,
      { operation: 'UPDATE', changes: { name: mark() }, previousValues: {} },
      ids.company,
    ),
    doc('company_merges', '9', 1, {
      merges: [{ id: 'm', sourceCompanies: [{ id: ids.company, name: mark() }] }],
    }),
  ];
}

function ofConversation(): Document[] {
  const { author: _, ...rest } = message();
  return [
    doc('topic_groups', ids.group, 1, { group: { id: ids.group, title: mark() } }, 't'),
    doc(
      'messages',
      'm1',
      1,
      { ...rest, replyTo: { ...rest, id: 'm2' }, thread: { ...rest, id: 'm2' } },
      ids.group,
    ),
    doc('messages', 'm2', 1, rest, ids.group),
  ];
}

const anId = /_id$|^id$/;

/** The columns of these relations that say something personal: those that a company has, or the others. */
function personalColumns(relations: readonly string[], ofCompanies: boolean): string[] {
  return columnClasses()
    .filter(({ relation, kind, class: one, column }) => {
      const isCompany = kind.startsWith('company_') || (ofCompanies && relation.startsWith('compan'));
      const isNeutral =
        kind.startsWith('channel') || kind.startsWith('server') || column.startsWith('topic_');
      const isPersonal =
        one === 'personal' || one === 'content' || kind === 'source_url' || kind === 'account_id';
      return (
        relations.includes(relation) &&
        isPersonal &&
        !isNeutral &&
        isCompany === ofCompanies &&
        !(kind === 'account_id' && anId.test(column) && column === 'id')
      );
    })
    .map(({ relation, column }) => `${relation}.${column}`);
}

/** The columns in which a mark is left. */
async function columnsWithMarks(): Promise<string[]> {
  const tables = await warehouse.all<{ name: string; columns: string[] }>(
    `SELECT schema_name || '.' || table_name AS name, list(column_name) AS columns FROM duckdb_columns()
      WHERE table_oid IN (SELECT table_oid FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary)
        AND schema_name IN ('main', 'raw', 'ops') GROUP BY name`,
  );
  const rows = tables.map(
    ({ name }) => `SELECT '${name}' AS name FROM ${name} AS t WHERE t::VARCHAR ILIKE '%Quetzal%'`,
  );
  const marked = await warehouse.all<{ name: string }>(rows.join(' UNION '));
  const found: string[] = [];
  for (const { name, columns } of tables.filter((table) => marked.some(({ name }) => name === table.name))) {
    const has = columns.map((column) => `bool_or("${column}"::VARCHAR ILIKE '%Quetzal%') AS "${column}"`);
    const [row = {}] = await warehouse.all(`SELECT ${has.join(', ')} FROM ${name}`);
    for (const column of columns) if (row[column]) found.push(`${name.replace('main.', '')}.${column}`);
  }
  return found.sort();
}

test.each([
  {
    type: 'company' as const,
    id: ids.company,
    documents: ofCompany,
    relations: ['companies', 'company_identities', 'company_versions', 'people', 'topic_people'],
    ofCompanies: true,
  },
  {
    type: 'conversation' as const,
    id: ids.group,
    documents: ofConversation,
    relations: ['groups', 'messages', 'message_quotes'],
    ofCompanies: false,
  },
])(
  'every personal column of a $type is emptied, and one that is new is noticed here',
  async ({ type, id, documents, relations, ofCompanies }) => {
    const all = documents();
    const load = () =>
      loadBatch(
        warehouse,
        batchOf(runId, {
          documents: all,
          sets: [
            members(
              'topic_groups',
              't',
              1,
              all.filter(({ endpoint }) => endpoint === 'topic_groups').map((one) => one.id),
            ),
          ],
        }),
      );
    await load();
    await warehouse.refreshDerived();
    const filled = await columnsWithMarks();
    // A column that is missing here is new: add its field to the documents above, and see that it is emptied.
    expect(personalColumns(relations, ofCompanies).filter((one) => !filled.includes(one))).toEqual([]);
    const selection = { type, ids: [id], emails: [] };
    const plan = await warehouse.planForget(selection);
    await warehouse.forget(plan, { requestedBy: 'kim', reason: null }, at(9));
    await warehouse.refreshDerived();
    expect(await columnsWithMarks()).toEqual([]);
    // The same answers again.
    await load();
    await warehouse.refreshDerived();
    expect(await columnsWithMarks()).toEqual([]);
  },
);

test('a change of a company that was forgotten is not sent, and keeps nothing of it', async () => {
  await loadBatch(warehouse, batchOf(runId, { documents: ofCompany() }));
  await warehouse.run(`INSERT INTO ops.changes BY NAME
    SELECT unnest(['a', 'b', 'c']) AS id, 1 AS revision, 'company' AS entity_type, unnest(['4007', '4007', '5']) AS company_id,
      unnest(['queued', 'applied', 'queued']) AS status, '{"name":"Quetzal 1","is_vip":true}'::JSON AS wanted`);
  const plan = await warehouse.planForget({
    type: 'company',
    ids: [ids.company],
    emails: [],
  });
  await warehouse.forget(plan, { requestedBy: 'kim', reason: null }, at(9));
  const gone = '{"name":null,"is_vip":true}';
  expect(
    await warehouse.all('SELECT id, status, wanted, settled_at IS NULL AS open FROM ops.changes ORDER BY id'),
  ).toEqual([
    { id: 'a', status: 'cancelled', wanted: gone, open: false },
    { id: 'b', status: 'applied', wanted: gone, open: true },
    { id: 'c', status: 'queued', wanted: '{"name":"Quetzal 1","is_vip":true}', open: true },
  ]);
});

const forgetPerson = async (id: string) => {
  const plan = await warehouse.planForget({ type: 'person', ids: [id], emails: [] });
  await warehouse.forget(plan, { requestedBy: 'kim', reason: null }, at(9));
};

test('a change that wants a text with something forgotten is not sent without it', async () => {
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: [doc('people', '7', 1, { displayName: 'Ona Laterson' })] }),
  );
  await warehouse.run(`INSERT INTO ops.changes BY NAME
    SELECT unnest(['a', 'b', 'c', 'd']) AS id, 1 AS revision, 'topic' AS entity_type, 't' AS topic_id,
      unnest(['queued', 'sending', 'applied', 'queued']) AS status, 'Ona Laterson' AS requested_by,
      unnest(['Ona Laterson asked', 'Ona Laterson asked', 'Ona Laterson asked', 'done']) AS requested_reason`);
  await warehouse.run(
    "UPDATE ops.changes SET wanted = json_object('archived', true, 'archived_reason', requested_reason)",
  );
  await forgetPerson('7');
  expect(
    await warehouse.all(
      "SELECT id, status, error, wanted ->> '$.archived_reason' AS reason FROM ops.changes ORDER BY id",
    ),
  ).toEqual([
    { id: 'a', status: 'cancelled', error: 'A part of it was forgotten.', reason: '[forgotten] asked' },
    { id: 'b', status: 'failed', error: 'A part of it was forgotten.', reason: '[forgotten] asked' },
    { id: 'c', status: 'applied', error: null, reason: '[forgotten] asked' },
    { id: 'd', status: 'queued', error: null, reason: 'done' },
  ]);
});

const texts = async (of: Warehouse) =>
  (await of.all<{ summary: string | null }>('SELECT summary FROM topics')).map(({ summary }) => summary);

test('a name that no other person has is replaced once in texts; an address is recognized again', async () => {
  const load = () =>
    loadBatch(
      warehouse,
      batchOf(runId, {
        documents: [
          doc('people', '7', 1, { displayName: 'Ona Laterson', primaryEmail: 'ona@mail.example' }),
          doc('people', '8', 1, { displayName: 'Lee Longman' }),
          doc(
            'person_identities',
            'slack:U1',
            1,
            { platform: 'slack', platformId: 'U1', platformUsername: 'lee longman' },
            '7',
          ),
          doc('topic', 't', 1, {
            id: 't',
            title: 'T',
            summary: 'Ona Laterson (ona@mail.example), Lee Longman',
          }),
        ],
      }),
    );
  await load();
  await forgetPerson('7');
  expect(await texts(warehouse)).toEqual(['[forgotten] ([forgotten]), Lee Longman']);
  await load();
  expect(await texts(warehouse)).toEqual(['Ona Laterson ([forgotten]), Lee Longman']);
  expect(await warehouse.all('SELECT id, display_name FROM people ORDER BY id')).toEqual([
    { id: '7', display_name: null },
    { id: '8', display_name: 'Lee Longman' },
  ]);
});

test('a request that was cut off while files were cleaned is completed with the names, which are still stored', async () => {
  const dataDir = await ready();
  const first = await open(dataDir);
  const documents = [
    doc('people', '7', 1, { displayName: 'Ona Laterson' }),
    doc('topic', 't', 1, { id: 't', title: 'T', summary: 'Ona Laterson asks' }),
  ];
  await loadBatch(first, batchOf(runId, { documents }));
  const plan = await first.planForget({ type: 'person', ids: ['7'], emails: [] });
  const cutOff = first.forget(plan, { requestedBy: 'kim', reason: null }, at(9), () =>
    Promise.reject(new Error('killed')),
  );
  await expect(cutOff).rejects.toThrow('killed');
  expect(await texts(first)).toEqual(['Ona Laterson asks']);
  await first.close();

  const next = await open(dataDir);
  const cleaned: string[] = [];
  await next.finishRequests(async ({ forgotten }) => {
    cleaned.push(forgotten.redact('for Ona Laterson'));
  });
  expect(cleaned).toEqual(['for [forgotten]']);
  expect(await texts(next)).toEqual(['[forgotten] asks']);
  expect(await next.all("SELECT entities FROM ops.audit WHERE action = 'forget'")).toEqual([{ entities: 1 }]);
  await next.close();
});

test('rejected records with ids that are numbers, without an id, or cut off, are emptied', async () => {
  const author = { id: ids.author, ...account, displayName: 'Quetzal Zanzibar' };
  await loadBatch(
    warehouse,
    batchOf(runId, {
      documents: [
        doc('people', ids.person, 1, { displayName: 'Quetzal Zanzibar' }),
        doc(
          'person_identities',
          'slack:x',
          1,
          { platform: 'slack', platformId: account.sourceAuthorId },
          ids.person,
        ),
        doc('authors', ids.author, 1, author),
      ],
    }),
  );
  await warehouse.refreshDerived();
  const reject = (endpoint: string, body: unknown, parentId: string | null = null) => ({
    endpoint,
    parentId,
    id: null,
    path: 'id',
    reason: 'has no usable id',
    body: JSON.stringify(body),
    seenAt: at(1),
  });
  const number = Number(ids.person);
  const rejections = [
    reject('people', { id: number, displayName: 'Quetzal', description: 'Quetzal' }),
    reject('people', { displayName: 'Quetzal Zanzibar' }),
    reject('people', { id: 5, company: { employees: [{ id: number, name: 'Quetzal' }] } }),
    reject('person_identities', { platform: 'slack', platformId: ['Quetzal'] }, ids.person),
    reject('messages', `{"id":"m","content":"Quetzal","author":{"id":"${ids.author}","sour`, 'g'),
  ];
  const nobodys = reject('messages', { content: 'Quetzal', author: 'of an odd form' });
  await loadBatch(warehouse, batchOf(runId, { rejections: [...rejections, nobodys] }));
  await forgetPerson(ids.person);
  expect(await columnsWithMarks()).toEqual([]);
  // Without an id, a name that comes again says nothing.
  const again = rejections.filter(({ body }) => body !== '{"displayName":"Quetzal Zanzibar"}');
  await loadBatch(warehouse, batchOf(runId, { rejections: again }));
  expect(await columnsWithMarks()).toEqual([]);
});

test('an address that only an account has is found, and what it wrote is removed', async () => {
  const author = {
    id: ids.author,
    sourceName: 'email',
    sourceAuthorId: 'Kim@Mail.example',
    displayName: 'Quetzal Zanzibar',
  };
  await loadBatch(
    warehouse,
    batchOf(runId, {
      documents: [
        doc('authors', ids.author, 1, author),
        doc('topic_groups', 'g', 1, { group: { id: 'g' } }, 't'),
        doc('messages', 'm1', 1, { content: 'Quetzal, I said', author }, 'g'),
        doc('messages', 'm2', 1, { content: 'Hi Quetzal Zanzibar', author: { id: 'somebody' } }, 'g'),
      ],
    }),
  );
  const plan = await warehouse.planForget({
    type: 'person',
    ids: [],
    emails: ['kim@mail.example', 'no@body.example'],
  });
  expect(plan).toMatchObject({ ids: [], accounts: ['kim@mail.example'], unknown: ['no@body.example'] });
  await warehouse.forget(plan, { requestedBy: 'kim', reason: null }, at(9));
  expect(await columnsWithMarks()).toEqual([]);
  expect(await warehouse.all('SELECT entities FROM ops.audit')).toEqual([{ entities: 1 }]);
});
