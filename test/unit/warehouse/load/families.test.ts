import { expect, test } from 'vitest';
import { familiesOf } from '../../../../src/warehouse/load/families.js';
import { type DocumentModel, parseModel } from '../../../../src/warehouse/load/models.js';

const model = (name: string, header: string): DocumentModel => {
  const parsed = parseModel(name, `-- table: ${name}\n-- key: id\n${header}\nSELECT 1`);
  if (parsed.from !== 'documents') throw new Error(`${name} is not a model of documents`);
  return parsed;
};

test('kinds of several models are one family when they overlap, in the order of the longest list', () => {
  const { familyOf } = familiesOf([
    model('a', '-- documents: detail\n-- scope: id -> id'),
    model('b', '-- documents: detail, extra\n-- scope: id -> id'),
    model('c', '-- documents: list, detail, presence\n-- scope: id -> id'),
    model('d', '-- documents: left, right\n-- scope: id -> id\n-- siblings: none'),
  ]);
  expect(familyOf('extra')).toEqual(['list', 'detail', 'presence', 'extra']);
  expect([familyOf('left'), familyOf('right'), familyOf('unheard')]).toEqual([
    ['left'],
    ['right'],
    ['unheard'],
  ]);
});

test('a cascade from a table that no documents fill is refused', () => {
  const broken = model('x', '-- documents: a\n-- scope: id -> id\n-- cascade: nowhere');
  expect(() => familiesOf([broken])).toThrow('model x: no model of documents fills nowhere');
});
