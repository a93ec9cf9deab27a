import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import type { Json } from '../../../src/base/json.js';
import { said, tableText } from '../../../src/commands/mcp.js';
import type { Answer } from '../../../src/read/query.js';

function answer(rows: readonly (readonly Json[])[], names = ['a', 'b']): Answer & { read: number } {
  const counted = {
    columns: names.map((name) => ({ name, type: 'VARCHAR' })),
    read: 0,
    rows: {
      async *[Symbol.asyncIterator]() {
        for (const row of rows) {
          counted.read += 1;
          yield row;
        }
      },
    },
  };
  return counted;
}

describe('an answer for an assistant', () => {
  it('is a Markdown table with the number of rows', async () => {
    const text = await tableText(
      answer([
        [1, null],
        ['x', { y: [1] }],
      ]),
      { rows: 5, cell: 50 },
    );
    expect(text).toBe('| a | b |\n| --- | --- |\n| 1 |  |\n| x | {"y":[1]} |\n\n2 rows.');
    expect(await tableText(answer([]), { rows: 5, cell: 50 })).toBe('No rows. Columns: a, b.');
  });

  it('does not cut a character in two: half of an emoji is no JSON that every client reads', async () => {
    const text = await tableText(answer([['x👩👩', '']]), { rows: 5, cell: 2 });
    expect(text).toContain('| x… |');
    expect(text).not.toMatch(/\p{Cs}/u);
  });

  it('reads one row more than it shows, to say that there are more', async () => {
    const many = answer(Array.from({ length: 100 }, (_, index) => [index, index]));
    const text = await tableText(many, { rows: 3, cell: 50 });
    expect(text).toContain('The first 3 rows; there are more');
    expect(many.read).toBe(4);
  });

  it('is never longer than 30,000 characters or so', async () => {
    const wide = answer(Array.from({ length: 100 }, () => ['x'.repeat(5_000), '']));
    const text = await tableText(wide, { rows: 100, cell: 10_000 });
    expect(text.length).toBeLessThan(31_000);
    expect(text).toContain('select fewer columns');
    // As those of a PIVOT on texts.
    const names = Array.from({ length: 1_000 }, (_, at) => `${at} ${'x'.repeat(5_000)}`);
    const named = await tableText(answer([names.map(() => 1)], names), { rows: 1, cell: 10_000 });
    expect([named.length < 31_000, named]).toEqual([true, expect.stringContaining('select fewer columns')]);
  });

  it('keeps every value in its cell, whatever it contains', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.array(fc.string({ unit: fc.constantFrom(...'a|\\\n\r\u2028 -') }), {
            minLength: 2,
            maxLength: 2,
          }),
        ),
        async (rows) => {
          const text = await tableText(answer(rows), { rows: 100, cell: 1_000 });
          const lines = text.split('\n\n')[0]?.split('\n').slice(2) ?? [];
          if (rows.length > 0) expect(lines).toHaveLength(rows.length);
          for (const line of lines.slice(0, rows.length))
            expect(line.match(/(?<!\\)(\\\\)*\|/g)).toHaveLength(3);
        },
      ),
    );
  });
});

it('an error names the setting that its hint is about', () => {
  const problems = [{ setting: 'warehouse.memoryLimit', problem: 'is too low' }];
  expect(said(new UsageError('a.duckdb cannot be read', problems, { hint: 'Raise it.' }))).toBe(
    'a.duckdb cannot be read\nwarehouse.memoryLimit: is too low\nRaise it.',
  );
});
