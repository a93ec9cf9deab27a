import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { dbtSources } from '../../../scripts/dbt-sources.mjs';
import { sandboxFlags } from '../../../scripts/docs-cookbook.mjs';
import { partsOfAssumptions, partsOfResources, withParts } from '../../../scripts/generate.mjs';
import { readSchema } from '../../../scripts/read-schema.mjs';
import { entries, resourcesOf } from '../../../src/contract/resources.js';
import { readModels } from '../../../src/load/models.js';
import { sections } from '../../../src/prove/assumptions.js';
import { votes } from '../../integration/votes/topic-votes.js';
import { schemaStatements } from '../../support/schema.js';

// That a committed file is as npm run generate writes it, .ci/run shows: it writes them, and nothing may differ.

const textOf = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

describe('the generated parts of a page', () => {
  test('follow from the resource table', () => {
    const parts = partsOfResources(resourcesOf({ ...entries, ...votes }));
    const page = withParts(textOf('docs/how-it-syncs.md'), parts);
    expect(page).toContain('| `topic_votes` | `GET /topics/{topicId}/votes` | 55 | 21 | priority |');
  });

  test('are the points of each section of the assumptions', () => {
    const page = withParts(textOf('docs/assumptions.md'), partsOfAssumptions(sections));
    for (const { points } of sections)
      for (const text of Object.values(points)) expect(page.replaceAll(/\s+/g, ' ')).toContain(`- ${text}`);
  });

  test('a mark without an end or of no part, and a part without a mark, are errors', () => {
    const marked = '<!-- generated: one (npm run generate) -->\nold\n<!-- end: one -->';
    expect(withParts(marked, { one: 'new' })).toBe(marked.replace('old', 'new'));
    expect(() => withParts(marked.replace('end: one', 'end: two'), { one: 'new' })).toThrow('one has no end');
    expect(() => withParts(marked, {})).toThrow('no generated part named one');
    expect(() => withParts('', { one: 'new' })).toThrow('no part named one');
  });
});

test('the sources of the dbt project have every table and view, each column with its description', async () => {
  const schema = await readSchema(schemaStatements());
  const files = dbtSources(schema, readModels());
  const tables = files.flatMap(({ text }) => parse(text).sources[0].tables);
  expect(tables.map(({ name }) => name).sort()).toEqual(
    schema.relations.flatMap(({ of, name }) => (of === 'macros' ? [] : name)).sort(),
  );
  const columns = tables.flatMap((one) => one.columns);
  expect(columns).toHaveLength(schema.columns.length);
  for (const { description } of [...tables, ...columns]) expect(description).toMatch(/\w/);
  const topics = tables.find(({ name }) => name === 'topics');
  expect(topics.columns[0]).toMatchObject({
    name: 'id',
    data_type: 'VARCHAR',
    data_tests: ['not_null', 'unique'],
  });
  expect(() => dbtSources({ ...schema, columns: [] }, readModels())).toThrow(/the key of \w+ names/);
});

test('docs/cookbook.md explains how to get the data of its answers', () => {
  expect(textOf('docs/cookbook.md')).toContain(`signalhouse sandbox ${sandboxFlags.join(' ')}`);
});
