import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { kindsOfColumns, type Sources } from '../../../scripts/columns.mjs';
import { readSchema } from '../../../scripts/read-schema.mjs';
import { object, text } from '../../../src/contract/fields.js';
import { fieldsOf, kinds } from '../../../src/contract/privacy.js';
import { documentFields, resources } from '../../../src/contract/resources.js';
import { tableEntries, tablesOf } from '../../../src/contract/tables.js';
import { readModels } from '../../../src/load/models.js';
import { kindsOfColumns as builtKinds, columnClasses } from '../../../src/privacy/policy.js';
import { sqlDir } from '../../../src/store/sql.js';
import { schemaStatements } from '../../support/schema.js';

let schema: Awaited<ReturnType<typeof readSchema>>;
let sources: Sources;

beforeAll(async () => {
  schema = await readSchema(schemaStatements());
  sources = {
    ...parse(readFileSync(join(sqlDir, 'privacy.yaml'), 'utf8')),
    kinds,
    documents: documentFields(resources),
    models: readModels(),
  };
});

/** The schema with one more column in the people's table. */
const withColumn = (name: string, type = 'VARCHAR') => ({
  ...schema,
  columns: [...schema.columns, { schema: 'main', table_name: 'people', name, type }],
});

/** The table of people, whose items have one more field. */
const withField = (field: z.ZodRawShape): Sources => ({
  ...sources,
  documents: new Map([...sources.documents, ['person', fieldsOf(z.looseObject(field))]]),
  models: readModels(
    sqlDir,
    tablesOf({
      ...tableEntries,
      people: { ...tableEntries.people, fields: [...tableEntries.people.fields, z.looseObject(field)] },
    }),
  ),
});

describe('what columns say about people', () => {
  it('follows from the field of the API, also inside of others', () => {
    const { tables } = kindsOfColumns(schema, sources);
    expect(tables.people).toMatchObject({
      display_name: 'person_name',
      company_id: 'company_id',
      connections_title: 'person_job',
      weekly_activity: 'activity',
      last_seen_at: 'seen',
      synced_at: 'time',
    });
    expect(tables.people_versions).toMatchObject({ display_name: 'person_name', valid_from: 'time' });
    const shoeSize = text('person_about').describe('Size of shoes.');
    const added = kindsOfColumns(withColumn('shoe_size'), withField({ shoeSize }));
    expect(added.tables.people?.shoe_size).toBe('person_about');
  });

  it('is what the build has written (npm run build)', () => {
    expect(builtKinds()).toEqual(kindsOfColumns(schema, sources));
  });

  it('is asked for where no field says it', () => {
    expect(() => kindsOfColumns(withColumn('shoe_size'), sources)).toThrow(
      'people.shoe_size: nothing says what it holds. Name its kind under columns in sql/privacy.yaml',
    );
    expect(() => kindsOfColumns(withColumn('bucket_name'), withField({ bucketName: z.string() }))).toThrow(
      'person: the schema in src/contract names no kind for bucketName',
    );
  });

  it('is asked for by the compiler where a schema has a text without a kind', () => {
    // @ts-expect-error: text takes its kind
    const schemaOf = () => object({ name: text });
    expect(schemaOf).toBeTypeOf('function');
  });

  it('a number needs no field', () => {
    expect(kindsOfColumns(withColumn('size', 'BIGINT'), sources).tables.people?.size).toBe('none');
  });

  it('a column that is gone is named', () => {
    const columns = schema.columns.filter(({ name }) => name !== 'linked_author_ids' && name !== 'side');
    expect(() => kindsOfColumns({ ...schema, columns }, sources)).toThrow(
      'message_senders.side is in sql/privacy.yaml, and there is no such table or column',
    );
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
