import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { kindsOfColumns, type Sources } from '../../../../scripts/columns.mjs';
import { readSchema } from '../../../../scripts/read-schema.mjs';
import { object, string, text } from '../../../../src/contract/fields.js';
import { fieldsOf, kinds } from '../../../../src/contract/privacy.js';
import { documentFields, resources } from '../../../../src/contract/resources.js';
import { readModels } from '../../../../src/warehouse/load/models.js';
import { kindsOfColumns as builtKinds, columnClasses } from '../../../../src/warehouse/privacy/policy.js';
import { sqlDir } from '../../../../src/warehouse/sql.js';

let schema: Awaited<ReturnType<typeof readSchema>>;
let sources: Sources;

beforeAll(async () => {
  schema = await readSchema();
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

/** A person of the API with one more field. */
const withField = (field: z.ZodRawShape): Sources => ({
  ...sources,
  documents: new Map([...sources.documents, ['person', fieldsOf(z.looseObject(field))]]),
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
    const added = kindsOfColumns(withColumn('shoe_size'), withField({ shoeSize: text('person_about') }));
    expect(added.tables.people?.shoe_size).toBe('person_about');
  });

  it('is what the build has written (npm run build)', () => {
    expect(builtKinds()).toEqual(kindsOfColumns(schema, sources));
  });

  it('is asked for where no field says it', () => {
    expect(() => kindsOfColumns(withColumn('shoe_size'), sources)).toThrow(
      'people.shoe_size: no field of its name says what it holds. Name its kind beside the field in src/contract',
    );
    expect(() => kindsOfColumns(withColumn('bucket_name'), withField({ bucketName: z.string() }))).toThrow(
      'person: the schema in src/contract names no kind for bucket_name',
    );
  });

  it('is asked for by the compiler where a schema has a text without a kind', () => {
    // @ts-expect-error: text takes its kind
    const schemaOf = () => object({ name: text });
    expect(schemaOf).toBeTypeOf('function');
  });

  it('is asked for where two fields of the name differ', () => {
    const two = withField({
      office: z.object({ city: string('person_about') }),
      home: z.object({ city: string('none') }),
    });
    expect(() => kindsOfColumns(withColumn('city'), two)).toThrow('people.city: no field of its name');
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
