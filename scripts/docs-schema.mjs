// Writes docs/schema.md from what the database itself says of its tables and views: a fresh one is made of sql/, and
// its comments are read back.
//   node scripts/docs-schema.mjs [--check] [file]
// With --check nothing is written, and exit 1 says that the file is stale.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { table } from './markdown.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const given = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
const target = given ?? join(root, 'docs/schema.md');

/** What stands where; DuckDB keeps no comments on schemas. */
const parts = [
  {
    title: 'Views',
    schema: 'main',
    of: 'views',
    text: 'The questions that come up first, answered. They read the tables below, count back from `data_as_of.as_of` instead of the present, and use ISO weeks in UTC.',
  },
  {
    title: 'Tables',
    schema: 'main',
    of: 'tables',
    text: 'What the API says, as rows. A column that copies another thing says in its comment that it may lag: it is as old as the answer it came with. The tables named `_versions` hold what it said before: how each row looked, from when to when.',
  },
  {
    title: 'raw: as it was said',
    schema: 'raw',
    of: 'tables',
    text: 'Every answer, kept as it came. The tables above are derived from it.',
  },
  {
    title: 'ops: what the worker did',
    schema: 'ops',
    of: 'tables',
    text: 'Runs, what is due, what was set aside, where the requests went.',
  },
];

const markdown = await describe();
if (process.argv.includes('--check')) {
  if (!existsSync(target) || readFileSync(target, 'utf8') !== markdown) {
    console.error('docs/schema.md is stale: run npm run docs:schema');
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, markdown);
}

async function describe() {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const folder of ['migrations', 'views']) {
    for (const file of readdirSync(join(root, 'sql', folder)).sort()) {
      await connection.run(readFileSync(join(root, 'sql', folder, file), 'utf8'));
    }
  }
  const all = async (/** @type {string} */ sql) =>
    /** @type {Record<string, string>[]} */ ((await connection.runAndReadAll(sql)).getRowObjectsJson());
  const tables = await all(`
    SELECT 'tables' AS of, schema_name AS schema, table_name AS name, comment, table_oid AS place
      FROM duckdb_tables() WHERE NOT internal
    UNION ALL
    SELECT 'views', schema_name, view_name, comment, view_oid FROM duckdb_views() WHERE NOT internal
    ORDER BY place`);
  const columns = await all(`
    SELECT schema_name AS schema, table_name, column_name AS name, comment,
           replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type
      FROM duckdb_columns() WHERE NOT internal ORDER BY column_index`);
  connection.closeSync();
  instance.closeSync();

  const sections = parts.flatMap(({ title, text, schema, of }) => {
    const here = tables.filter((it) => it.schema === schema && it.of === of);
    const prefix = schema === 'main' ? '' : `${schema}.`;
    return [
      `## ${title}\n\n${text}`,
      here.map(({ name }) => `[${prefix}${name}](#${prefix.replace('.', '')}${name})`).join(' · '),
      ...here.map(({ name, comment }) => {
        const rows = columns
          .filter((it) => it.schema === schema && it.table_name === name)
          .map((it) => [`\`${it.name}\``, it.type ?? '', it.comment ?? '']);
        return `### ${prefix}${name}\n\n${comment}\n\n${table(['column', 'type', 'meaning'], rows)}`;
      }),
    ];
  });
  return `${[
    '# The tables and views',
    "Made from the comments in `sql/` by `npm run docs:schema`; change those, not this page. The same text is in the published file: `SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'topics'`.",
    "All times are TIMESTAMPTZ in UTC. Ids are the API's, as text. Each table carries `synced_at` and `run_id`, and one of versions `valid_from`, `valid_to` and `run_id`. Questions with their SQL and answers are in [cookbook.md](cookbook.md).",
    ...sections,
  ].join('\n\n')}\n`;
}
