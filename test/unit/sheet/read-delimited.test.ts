import { describe, expect, test } from 'vitest';
import { maxCellChars, maxColumns, maxRows } from '../../../src/sheet/grid.js';
import { readBytes, refused, table } from './support.js';

describe('text with separators', () => {
  test.each([[','], [';'], ['\t'], ['|']])('finds the separator %j from the header', async (separator) => {
    const grid = await readBytes(`a${separator}"b,;\t| c"\nx${separator}1,5;y\n`.replace('1,5;y', '"1,5;y"'));
    expect(table(grid)).toEqual([
      ['a', 'b,;\t| c'],
      ['x', '1,5;y'],
    ]);
    expect(grid.separator).toBe(separator);
  });

  test("takes Excel's sep= line, which is no row", async () => {
    const grid = await readBytes('\uFEFFsep=;\r\na,b;c\r\n1;2\r\n');
    expect(table(grid)).toEqual([
      ['a,b', 'c'],
      ['1', '2'],
    ]);
    expect([grid.headerRow, grid.rows[0]?.number]).toEqual([1, 2]);
  });

  test.each(['\n', '\r\n', '\r'])('parts rows at %j, and not within quotes', async (end) => {
    const grid = await readBytes(['a,b', `"x${end}y","say ""hi"""`, '1,2', ''].join(end));
    expect(table(grid)).toEqual([
      ['a', 'b'],
      [`x${end}y`, 'say "hi"'],
      ['1', '2'],
    ]);
  });

  test('blank rows are skipped, and the others keep the number that the spreadsheet shows', async () => {
    const grid = await readBytes('\n ,\n a , b ,\n\n1,2,,\n,,\n"x\ny",\n');
    expect(grid.columns).toEqual(['a', 'b']);
    expect(grid.headerRow).toBe(3);
    expect(grid.rows).toEqual([
      { number: 5, cells: ['1', '2'] },
      { number: 7, cells: ['x\ny'] },
    ]);
  });

  test('gives back what was neutralised, and leaves what a person typed', async () => {
    const grid = await readBytes("a,b,c\n'=1+1,'high,''-5\n");
    expect(grid.rows[0]?.cells).toEqual(['=1+1', "'high", "'-5"]);
  });

  test('rows may be shorter or longer than the header; what belongs to no column is told', async () => {
    const grid = await readBytes('a,b\n1\n1,2,3\n');
    expect(grid.columns).toEqual(['a', 'b', '']);
    expect(grid.notes.join()).toContain('row 3');
  });

  test('stray quotes are text', async () => {
    expect((await readBytes('a,b\n5" disk,"Foo" bar\n')).rows[0]?.cells).toEqual(['5" disk', '"Foo" bar']);
  });

  test('text keeps its spaces and leading zeros', async () => {
    expect((await readBytes('a,b\n 007 ,TRUE\n')).rows[0]?.cells).toEqual([' 007 ', 'TRUE']);
  });
});

describe('encodings', () => {
  const text = 'name,größe\nMüller – Söhne,1\n';
  const utf16 = (order: 'le' | 'be') => {
    const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
    return order === 'le' ? bytes : bytes.swap16();
  };
  test.each([
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${text}`)],
    ['UTF-16 little endian', utf16('le')],
    ['UTF-16 big endian', utf16('be')],
  ])('%s', async (_, bytes) => {
    const grid = await readBytes(bytes);
    expect(table(grid)).toEqual([
      ['name', 'größe'],
      ['Müller – Söhne', '1'],
    ]);
    expect(grid.notes).toEqual([]);
  });

  test('what is not UTF-8 is read as Windows-1252, with a note', async () => {
    const grid = await readBytes(Buffer.from('name\nM\xfcller \x96 \x80 \x9f\n', 'latin1'));
    expect(grid.rows[0]?.cells).toEqual(['Müller – € Ÿ']);
    expect(grid.notes.join()).toContain('Windows-1252');
  });
});

describe('a file without a table', () => {
  test.each([
    ['empty', '', 'is empty'],
    ['blank', '\n , \n', 'contains no table'],
    ['a web page', '<html><table><tr><td>a</td></tr></table></html>', 'is a web page'],
    ['a column twice', 'topic_id,Priority,priority\n', 'two columns named "priority" (B and C)'],
    ['an open quote', 'a,b\n1,2\n3,"x\n4,5\n', 'has a quote (") in row 3 that is never closed'],
    ['a row without an end', `a,b\n${'x'.repeat(17_000_000)}`, 'has a row that is too long (row 2)'],
    ['a cell that is too long', `a\n${'x'.repeat(maxCellChars + 1)}\n`, 'cell A2'],
    ['too many columns', `a\n${'1,'.repeat(maxColumns + 1)}\n`, 'more than 500 columns'],
    ['too many rows', `a\n${'1\n'.repeat(maxRows + 1)}`, 'more than 200,000 rows'],
  ])('%s', async (_, content, message) => {
    expect(await refused(readBytes(content))).toContain(message);
  });

  test.each([
    ['a picture', [0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1, 2, 3]],
    ['UTF-16 without a byte order mark', [...Buffer.from('topic_id,priority\n', 'utf16le')]],
  ])('%s', async (_, bytes) => {
    expect(await refused(readBytes(Uint8Array.from(bytes)))).toContain('bytes that are not text');
  });
});
