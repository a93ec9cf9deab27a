import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// The views for Spark and Trino are written by hand. Whether they give the same answers, npm run test:lake-engines tells; here,
// that none of them is of an earlier text.

/** They read versions, the queue of changes, raw documents, the log or settings, which a lake does not have; docs/lake.md says so. */
const leftOut = [
  'field_changes',
  'recent_changes',
  'story_buckets',
  'change_log',
  'open_changes',
  'audit',
  'freshness_estimates',
  'company_attributes',
  'topic_attributes',
  'service_levels',
  'teams',
  'service_level_turns',
  'service_level_breaches',
];
/** Table macros. */
const macros = ['as_of', 'message_search'];

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const views = readdirSync(new URL('../../../sql/views', import.meta.url))
  .sort()
  .map((file) => ({ file, name: file.replace(/^\d+_|\.sql$/g, '') }))
  .filter(({ name }) => !leftOut.includes(name) && !macros.includes(name))
  .map(({ file, name }) => {
    const text = read(`sql/views/${file}`);
    const comment = new RegExp(`COMMENT ON VIEW ${name} IS '((?:[^']|'')*)';`).exec(text)?.[1];
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    return { view: name, from: `sql/views/${file} sha256:${hash}`, comment: comment?.replaceAll("''", "'") };
  });

it.each(['spark', 'trino'])(
  'sql/lake/%s.sql is written from the views as they are (CONTRIBUTING.md, "How to add a view")',
  (engine) => {
    const written = read(`sql/lake/${engine}.sql`)
      .split(';\n')
      .filter((statement) => statement.includes('CREATE'))
      .map((statement) => ({
        view: /^CREATE OR REPLACE VIEW (\w+)$/m.exec(statement)?.[1],
        from: /^-- From (.*)$/m.exec(statement)?.[1],
        comment: /^COMMENT '(.*)'$/m.exec(statement)?.[1]?.replace(/\\'|''/g, "'"),
      }));
    expect(written).toEqual(views);
  },
);

it('the documentation names the views that a lake does not have', () => {
  const docs = read('docs/lake.md');
  expect(leftOut.filter((name) => !docs.includes(`\`${name}\``))).toEqual([]);
});

it('sql/lake/duckdb.sql has the macro of the warehouse', () => {
  const macro = /CREATE OR REPLACE MACRO raw\.moment[\s\S]*?;/;
  expect(macro.exec(read('sql/lake/duckdb.sql'))?.[0]).toBe(
    macro.exec(read('sql/migrations/0001_raw_and_ops.sql'))?.[0],
  );
});
