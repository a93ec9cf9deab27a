import { beforeAll, describe, expect, it } from 'vitest';
import { readSchema } from '../../../../scripts/read-schema.mjs';
import { classProblems, columnClasses, relationLabel } from '../../../../src/warehouse/privacy/classes.js';

type Named = { relation: string; column: string };
let existing: Named[];

beforeAll(async () => {
  const { columns } = await readSchema();
  existing = columns.map(({ schema = '', table_name = '', name = '' }) => ({
    relation: relationLabel(schema, table_name),
    column: name,
  }));
});

describe('the classes of columns', () => {
  it('every column of every table and view has exactly one', () => {
    expect(classProblems(existing)).toEqual([]);
  });

  it('a column without one is named, with the file to change', () => {
    const added = [...existing, { relation: 'people', column: 'shoe_size' }];
    expect(classProblems(added)).toEqual([
      'people.shoe_size has no class: add it to a kind of its table in sql/privacy.yaml',
    ]);
  });

  it('a column that is gone is named', () => {
    const left = existing.filter(
      ({ relation, column }) => relation !== 'people' || column !== 'primary_email',
    );
    expect(classProblems(left)).toEqual([
      'people.primary_email is in sql/privacy.yaml, and there is no such column',
    ]);
  });

  it('what identifies people, and what they wrote, is not classed as harmless', () => {
    const harmless = columnClasses().filter((one) => one.class === 'none');
    const suspicious = harmless.filter(
      ({ relation, column }) =>
        /e_?mail|phone|linkedin|avatar|image|user_name|display_name|person_id|author_id|content/.test(
          column,
        ) && !relation.endsWith('_stats'),
    );
    expect(suspicious).toEqual([]);
  });
});
