import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sandboxFlags, withAnswers } from '../../../scripts/docs-cookbook.mjs';
import { files, withResources } from '../../../scripts/docs-resources.mjs';
import { entries, resources, resourcesOf } from '../../../src/contract/resources.js';
import { votes } from '../../integration/votes/topic-votes.js';

// That a generated file is as npm run docs:… writes it, .ci/run shows: it writes them, and nothing may differ.

const textOf = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

describe('the parts that follow from the resource table', () => {
  test('a new resource makes them stale', () => {
    const table = resourcesOf({ ...entries, ...votes });
    const [docs] = files.map((file) => withResources(textOf(file), table));
    expect(docs).toContain('| `topic_votes` | `topics` | `GET /topics/{topicId}/votes` | 55 | 21 |');
    expect(docs).toContain('| `topic_votes` | priority |');
  });

  test('a mark without an end, or of no part, is an error', () => {
    expect(() => withResources('<!-- generated: resources -->', resources)).toThrow('resources has no end');
    expect(() => withResources('<!-- generated: nothing -->', resources)).toThrow(
      'no generated part named nothing',
    );
  });
});

describe('docs/cookbook.md', () => {
  const ask = async (sql: string) => ({
    columns: ['sql'],
    rows: sql.includes('none') ? [] : [[sql], ['a|b\nc']],
  });

  test('each SQL block gets its answer, an old one is replaced, and the rest is left alone', async () => {
    const text =
      '# One\n\n```sql\nSELECT 1\n```\n\nWhat follows.\n\n```sh\nls\n```\n\n```sql\nnone\n```\n\n## Two\n';
    const answered = await withAnswers(text, ask);
    expect(answered).toBe(
      '# One\n\n```sql\nSELECT 1\n```\n\n| sql |\n| --- |\n| SELECT 1 |\n| a\\|b c |\n\nWhat follows.\n\n```sh\nls\n```\n\n' +
        '```sql\nnone\n```\n\n*No rows.*\n\n## Two\n',
    );
    expect(await withAnswers(answered, ask)).toBe(answered);
    const changed = answered
      .replace('a\\|b c', 'something old')
      .replace('*No rows.*\n', '| sql |\n| --- |\n| x |\n');
    expect(await withAnswers(changed, ask)).toBe(answered);
  });

  test('explains how to get the data of its answers', () => {
    expect(textOf('docs/cookbook.md')).toContain(`signalhouse sandbox ${sandboxFlags.join(' ')}`);
  });
});
