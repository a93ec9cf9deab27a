import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/base/json.js';
import { type AnswerFormat, printAnswer } from '../../../../src/cli/text/answer.js';

async function printed(
  columns: readonly string[],
  rows: readonly (readonly Json[])[],
  format: AnswerFormat | 'auto',
  width?: number,
): Promise<string[]> {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  async function* each() {
    yield* rows;
  }
  const answer = { columns: columns.map((name) => ({ name, type: 'VARCHAR' })), rows: each() };
  await printAnswer(answer, { format, limit: 100, columns: width, write });
  return text.split('\n');
}

describe('on a terminal', () => {
  const row = ['x'.repeat(30), 'y'.repeat(30), null] as const;
  const table = [`${'a'.padEnd(32)}${'b'.padEnd(32)}c`, `${'-'.repeat(30)}  ${'-'.repeat(30)}  ----`];

  it('a row that fits is a row of a table', async () => {
    const expected = [...table, `${row[0]}  ${row[1]}  NULL`, ''];
    expect(await printed(['a', 'b', 'c'], [row], 'auto', 68)).toEqual(expected);
    expect(await printed(['a', 'b', 'c'], [row], 'table')).toEqual(expected);
  });

  it('a text is cut to fit, and an id never', async () => {
    const [id, title] = [
      '3f2b9c1e-0000-4000-8000-000000000000',
      'The export of invoices stops after a minute',
    ];
    const lines = await printed(['id', 'title', 'priority'], [[id, title, 'very_high']], 'auto', 70);
    expect(lines[2]).toBe(`${id}  ${title.slice(0, 20)}…  very_high`);
    expect((await printed(['id', 'title', 'priority'], [[id, title, 'very_high']], 'auto', 64))[0]).toContain(
      'RECORD 1',
    );
  });

  it('rows are vertical when the columns do not fit', async () => {
    expect(await printed(['a', 'b', 'c'], [['x', ['1', '2'], 3], row], 'auto', 67)).toEqual([
      `-[ RECORD 1 ]${'-'.repeat(47)}`,
      'a | x',
      'b | [ "1", "2" ]',
      'c | 3',
      `-[ RECORD 2 ]${'-'.repeat(47)}`,
      `a | ${row[0]}`,
      `b | ${row[1]}`,
      'c | NULL',
      '',
    ]);
    expect(await printed(['a'.repeat(40)], [], 'auto', 30)).toEqual(['(0 rows)', '']);
  });

  it('a table that was asked for is narrowed', async () => {
    const lines = await printed(['a', 'b', 'c'], [row], 'table', 40);
    expect(lines[2]).toMatch(/^x+… +y+… +NULL$/);
    expect(Math.max(...lines.map((line) => line.length))).toBe(40);
  });
});

it('vertical output for programs has each value whole', async () => {
  expect(await printed(['a', 'b'], [['x '.repeat(200).trim(), [1, 2]]], 'vertical')).toEqual([
    `-[ RECORD 1 ]${'-'.repeat(47)}`,
    `a | ${'x '.repeat(200).trim()}`,
    'b | [1,2]',
    '',
  ]);
});
