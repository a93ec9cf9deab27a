import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { settings } from '../../../src/config/schema.js';

const source = readFileSync(new URL('../../../config/default.yaml', import.meta.url), 'utf8');

interface Node {
  properties?: Record<string, Node>;
  description?: string;
}

/** Every setting and section with its description, by dotted path. */
function described(node: Node, path: readonly string[] = []): { path: string[]; description?: string }[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, inner]) => [
    { path: [...path, name], ...(inner.description ? { description: inner.description } : {}) },
    ...described(inner, [...path, name]),
  ]);
}
const everything = described(z.toJSONSchema(settings, { io: 'input' }) as Node);

it('config/default.yaml sets exactly the defaults', () => {
  expect(settings.parse(parse(source))).toEqual(settings.parse({}));
  expect(parse(source)).toEqual(settings.parse({}));
});

it.each(everything)(
  'config/default.yaml has $path, with its description above it',
  ({ path, description }) => {
    const lines = source.split('\n');
    // Name by name from the top: two sections may have a setting of the same name.
    const at = path.reduce((from, name, level) => {
      const line = new RegExp(`^${'  '.repeat(level)}(# )?${name}:`);
      return from < 0 ? from : lines.findIndex((one, index) => index >= from && line.test(one));
    }, 0);
    expect(at, `${path.join('.')} stands in the file`).toBeGreaterThanOrEqual(0);
    if (description === undefined) return;
    const above: string[] = [];
    for (let index = at - 1; lines[index]?.trimStart().startsWith('# '); index--) {
      above.unshift(lines[index]!.trim().slice(2));
    }
    expect(above.join(' ')).toContain(description);
  },
);

it('every single setting is described', () => {
  const bare = everything.filter(({ path, description }) => {
    const isSection = everything.some(
      (other) => other.path.length > path.length && path.every((name, i) => other.path[i] === name),
    );
    return !isSection && description === undefined && path[1] !== 'maxAgeDays';
  });
  expect(bare).toEqual([]);
});
