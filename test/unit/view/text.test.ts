import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, widthOf } from '../../../src/base/display-width.js';
import { ago, duration, moment } from '../../../src/base/units.js';
import { printable, record, sections, table, viewText, wrap } from '../../../src/view/text.js';

/** Everything up to the marks that change the direction of text. */
const signs = fc.integer({ min: 0, max: 0x20ff }).map((code) => String.fromCharCode(code));
const anyText = fc.string({ unit: 'grapheme', maxLength: 30 });

describe('units', () => {
  it.each([
    [-5, '0.0 s'],
    [400, '0.4 s'],
    [9_949, '9.9 s'],
    [9_950, '10 s'],
    [59_499, '59 s'],
    [59_500, '1 min'],
    [3_599_000, '1 h 00 min'],
    [3_900_000, '1 h 05 min'],
    [3 * 86_400_000 + 3_600_000, '3 d 1 h'],
  ])('%d ms', (value, expected) => {
    expect(duration(value)).toBe(expected);
  });

  it('moments are in UTC and say so', () => {
    const at = new Date('2026-11-20T10:15:00.123Z');
    expect(moment(at)).toBe('2026-11-20 10:15:00Z');
    expect(ago(at, at.getTime() + 180_000)).toBe('3 min ago');
    expect(ago(null, 0)).toBe('never');
  });
});

describe('text from outside', () => {
  it('cannot steer a terminal', () => {
    fc.assert(
      fc.property(fc.string({ unit: signs }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
        const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
        expect(printable(text)).not.toMatch(unsafe);
      }),
    );
  });

  it('stays readable', () => {
    expect(printable('two\nlines\tand \u001b[31mred')).toBe('two\\nlines\\tand \\u001b[31mred');
    expect(printable('Ünïcode, 日本語, 👩‍👩‍👧 and العربية')).toBe('Ünïcode, 日本語, 👩‍👩‍👧 and العربية');
  });

  it('is never cut wider than asked, nor in the middle of a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, columns) => {
        const short = cut(text, columns);
        expect(widthOf(short)).toBeLessThanOrEqual(Math.max(columns, 1));
        expect(short === text || short.endsWith('…')).toBe(true);
      }),
    );
    expect(cut('日本語日本語', 6)).toBe('日本…');
    expect(cut('fits', 4)).toBe('fits');
  });

  it('is broken at spaces', () => {
    expect(wrap('a few words to be broken up', 10)).toEqual(['a few', 'words to', 'be broken', 'up']);
    expect(wrap('unbreakablylongword and more', 10)).toEqual(['unbreakablylongword', 'and more']);
  });
});

describe('a table', () => {
  const columns = [{ name: 'name' }, { name: 'messages', right: true }];

  it('is aligned, numbers on the right', () => {
    expect(
      table(columns, [
        ['日本', '5'],
        ['Acme', '1,234'],
      ]),
    ).toBe(['name  messages', '----  --------', '日本         5', 'Acme     1,234'].join('\n'));
  });

  it('narrows its widest column alone when it does not fit', () => {
    const rows = [['a', 'b'.repeat(100), 'c'.repeat(12)]];
    const text = table([{ name: 'x' }, { name: 'long' }, { name: 'short' }], rows, 40);
    expect(text.split('\n').map((line) => line.length)).toEqual([33, 40, 40]);
    expect(text).toContain('c'.repeat(12));
    expect(text).toContain('b…');
  });

  it('fits into any width that leaves room for its columns', () => {
    const rows = fc.array(fc.tuple(anyText, anyText, anyText), { maxLength: 6 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 30, max: 120 }), (cells, width) => {
        const text = table([{ name: 'one' }, { name: 'two' }, { name: 'three', right: true }], cells, width);
        for (const line of text.split('\n')) {
          expect(widthOf(line)).toBeLessThanOrEqual(width);
          expect(line).toBe(line.trimEnd());
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('a record', () => {
  it('has a line for each value, and keeps line breaks', () => {
    const values = [
      ['id', '1'],
      ['説明', 'two\nlines, \u001b[31m'],
      ['none', ''],
    ] as const;
    expect(record(2, values)).toBe(
      [
        `-[ RECORD 2 ]${'-'.repeat(47)}`,
        'id   | 1',
        '説明 | two',
        '     | lines, \\u001b[31m',
        'none |',
      ].join('\n'),
    );
  });

  it('is not wider than the terminal, and loses nothing', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 4 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 30, max: 100 }), (words, width) => {
        const value = ['日本語の長い文章'.repeat(8), ...words].join(' ');
        const lines = record(1, [['name', value]], width)
          .split('\n')
          .slice(1);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(Math.max(width, 7 + 60));
        const plain = (text: string) => text.replace(/\s/g, '');
        expect(plain(lines.map((line) => line.slice(7)).join(''))).toBe(plain(printable(value)));
      }),
      { numRuns: 20 },
    );
    const [, ...lines] = record(1, [['a', '日本語の長い文章'.repeat(8)]], 40).split('\n');
    expect(lines.map(widthOf)).toEqual([40, 40, 40, 24]);
  });
});

it('a heading from outside cannot reach the terminal', () => {
  expect(sections([['Topic 1: \u001b]8;;http://x\u0007', 'open']])).toBe(
    'Topic 1: \\u001b]8;;http://x\\u0007\n  open',
  );
});

it('a long command goes on in further lines of the same command, and a quoted word stays whole', () => {
  const ids = Array.from({ length: 4 }, (_, at) => `c${at}00000000000000000000000000`);
  const commands = [`signalhouse changes retry ${ids.join(' ')} --by 'Anna of the team'`];
  const text = viewText([{ id: 'a', heading: 'Do', blocks: [{ commands }] }], 0);
  const [, ...lines] = text.split('\n');
  expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(80);
  const typed = lines.join('\n').replace(/ \\\n/g, ' ').replace(/ +/g, ' ').trim();
  expect([lines.length > 1, typed]).toEqual([true, commands[0]]);
});
