import { expect, test } from 'vitest';
import type { z } from 'zod';
import { column, columnsIn } from '../../../src/contract/columns.js';
import {
  flag,
  freeForm,
  id,
  integer,
  maybe,
  object,
  score,
  text,
  texts,
  when,
} from '../../../src/contract/fields.js';
import { tablesOf } from '../../../src/contract/tables.js';

const shown = (items: readonly z.ZodObject[]) =>
  columnsIn(items).map(({ name, type, kind, path }) => `${name} ${type} ${kind} ${path?.join('.')}`);

test('a described field is a column with the name, type and kind of its field', () => {
  const item = object({
    id: id('topic_id').describe('Id.'),
    isVip: flag.describe('Flag.'),
    messageCount: integer.describe('Count.'),
    similarity: score.describe('Score.'),
    createdAt: when.describe('Time.'),
    keywords: texts('topic_keywords').describe('Texts.'),
    metadata: freeForm('document').describe('JSON.'),
    linkedTicket: maybe(object({ url: text('ticket_url').describe('Address.'), note: text('none') })),
    kept: text('none'),
    // A document of its own, and a name that the API does not have.
    author: column(null, maybe(object({ name: text('person_name').describe('Name.') }))),
    archive: column('archived', maybe(object({ reason: text('topic_text').describe('Why.') }))),
    isV2: column('second', flag).describe('Another name.'),
  });
  expect(shown([item])).toEqual([
    'id VARCHAR topic_id id',
    'is_vip BOOLEAN none isVip',
    'message_count BIGINT none messageCount',
    'similarity DOUBLE score similarity',
    'created_at TIMESTAMPTZ time createdAt',
    'keywords VARCHAR[] topic_keywords keywords',
    'metadata JSON document metadata',
    'linked_ticket_url VARCHAR ticket_url linkedTicket.url',
    'archived_reason VARCHAR topic_text archive.reason',
    'second BOOLEAN none isV2',
  ]);
});

test('what a second item has alone stands behind the field that it follows there, described in either', () => {
  const list = object({ a: flag.describe('A.'), d: flag, e: flag.describe('E.') });
  const detail = object({
    a: flag,
    b: flag.describe('B.'),
    c: flag,
    d: flag.describe('D.'),
    f: flag.describe('F.'),
  });
  expect(columnsIn([list, detail]).map(({ name, comment }) => name + comment)).toEqual([
    'aA.',
    'bB.',
    'dD.',
    'fF.',
    'eE.',
  ]);
});

test('a table without a part of its key, and a column before one that is not there, are named', () => {
  const table = { comment: 'Rows.', key: ['id'], documents: ['topics'], ids: { id: 'id' } } as const;
  const title = object({ title: text('none').describe('Title.') });
  expect(() => tablesOf({ some: { ...table, fields: [title] } })).toThrow(
    'some has no column id, which is in its key',
  );
  const columns = { id: { before: 'name', kind: 'none', comment: 'Id.' } } as const;
  expect(() => tablesOf({ some: { ...table, fields: [title], columns } })).toThrow('some has no column name');
});
