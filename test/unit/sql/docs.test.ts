import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { withAssumptions } from '../../../scripts/docs-assumptions.mjs';
import { sandboxFlags } from '../../../scripts/docs-cookbook.mjs';
import { files, withResources } from '../../../scripts/docs-resources.mjs';
import { entries, resources, resourcesOf } from '../../../src/contract/resources.js';
import { sections } from '../../../src/prove/assumptions.js';
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

test('each section of the assumptions has a part of docs/assumptions.md', () => {
  const page = withAssumptions(textOf('docs/assumptions.md'), sections);
  for (const { points } of sections)
    for (const text of Object.values(points)) expect(page.replaceAll(/\s+/g, ' ')).toContain(`- ${text}`);
  expect(() => withAssumptions('', sections)).toThrow('no part named address-and-key');
});

test('docs/cookbook.md explains how to get the data of its answers', () => {
  expect(textOf('docs/cookbook.md')).toContain(`signalhouse sandbox ${sandboxFlags.join(' ')}`);
});
