// Writes docs/schema.md from the comments of tables and views.
//   node scripts/docs-schema.mjs [--check] [file]
// With --check it writes nothing, and exits 1 when the file is outdated.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from './markdown.mjs';
import { readSchema } from './read-schema.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const given = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
const target = given ?? join(root, 'docs/schema.md');

/** The sections of the page. Their texts are here, because DuckDB has no comments on schemas. */
const parts = [
  {
    title: 'Views',
    schema: 'main',
    of: 'views',
    text: 'Answers to the most common questions. They read the tables below, count back from `data_as_of.as_of` instead of the present, and use ISO weeks in UTC.',
  },
  {
    title: 'Table macros',
    schema: 'main',
    of: 'macros',
    text: "Views that take a value: `FROM backlog_as_of('2026-03-31')`.",
  },
  {
    title: 'Tables',
    schema: 'main',
    of: 'tables',
    text: 'What the API returns, as rows. Where a column copies a field of another entity, its comment says that it may lag: it is as old as the answer it came with. The tables named `_versions` have earlier states: what each row looked like over time.',
  },
  {
    title: 'raw: the answers of the API',
    schema: 'raw',
    of: 'tables',
    text: 'Every answer, stored as it came. The tables above are derived from it.',
  },
  {
    title: 'ops: what the worker did',
    schema: 'ops',
    of: 'tables',
    text: 'Runs, what is due, rejected records, and how the requests were spent.',
  },
];

const markdown = await describe();
if (process.argv.includes('--check')) {
  if (!existsSync(target) || readFileSync(target, 'utf8') !== markdown) {
    console.error('docs/schema.md is outdated: run npm run docs:schema');
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, markdown);
}

async function describe() {
  const { relations, columns } = await readSchema();
  const sections = parts.flatMap(({ title, text, schema, of }) => {
    const here = relations.filter((it) => it.schema === schema && it.of === of);
    const prefix = schema === 'main' ? '' : `${schema}.`;
    return [
      `## ${title}\n\n${text}`,
      here.map(({ name }) => `[${prefix}${name}](#${anchor(`${prefix}${name}`)})`).join(' · '),
      ...here.map(({ name, comment }) => {
        const rows = columns
          .filter((it) => it.schema === schema && it.table_name === name)
          .map((it) => [`\`${it.name}\``, it.type ?? '', it.comment ?? '']);
        const columnsOf = rows.length === 0 ? '' : `\n\n${table(['column', 'type', 'meaning'], rows)}`;
        return `### ${prefix}${name}\n\n${comment}${columnsOf}`;
      }),
    ];
  });
  return `${[
    '# The tables and views',
    "Generated from the comments in `sql/` by `npm run docs:schema`: change those, not this page. The same text is in the published file: `SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'topics'`.",
    "All times are TIMESTAMPTZ in UTC. Ids are the API's, as text. Each table has `synced_at` and `run_id`; a table of versions has `valid_from`, `valid_to` and `run_id`. Questions with their SQL and answers are in [cookbook.md](cookbook.md).",
    ...sections,
  ].join('\n\n')}\n`;
}

/**
 * What GitHub makes of a heading.
 * @param {string} heading
 */
function anchor(heading) {
  return heading.replaceAll(/[^\w -]/g, '').replaceAll(' ', '-');
}
