import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import { readSheet } from '../../../src/sheet/read.js';
import {
  inline,
  readBytes,
  refused,
  textRow,
  workbook,
  workbookFiles,
  zipped,
  zippedSaying,
} from './support.js';

const header = textRow(1, 'topic_id', 'priority');

describe('a workbook', () => {
  test('gives each kind of cell as what it is', async () => {
    const bytes = workbook({
      strings: [
        '<t>name</t>',
        '<r><t>rich </t></r><r><t xml:space="preserve">text &amp; more</t></r><rPh><t>no</t></rPh>',
      ],
      formats: ['yyyy\\-mm\\-dd', '0.00 "days"', '[h]:mm:ss.000'],
      rows: `<row r="1"><c r="A1" t="s"><v>0</v></c>${inline('B1', 'b')}</row>
        <row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><v>1.5</v></c><c r="C2" t="b"><v>1</v></c>
        <c r="D2" s="1"><v>46000</v></c><c r="E2" s="2"><v>3</v></c><c r="F2" t="e"><f>A9</f><v>#REF!</v></c>
        <c r="G2" t="str"><f>A1&amp;"x"</f><v>namex</v></c><c r="H2" t="str"><f>""</f><v></v></c>
        <c r="I2" s="3"><v>46000.00282407407</v></c><c r="J2" t="d"><v>2026-01-02T03:04:05Z</v></c>
        <c r="K2" t="inlineStr"><is><t>a_x000D_b_x005F_x0041_</t></is></c><c r="L2" t="inlineStr"><is><t><![CDATA[<b>]]></t></is></c></row>`,
    });
    expect((await readBytes(bytes)).rows[0]?.cells).toEqual([
      'rich text & more',
      1.5,
      true,
      new Date('2025-12-09'),
      3,
      '#REF!',
      'namex',
      null,
      new Date('2025-12-09T00:04:04Z'),
      new Date('2026-01-02T03:04:05Z'),
      'a\rb_x0041_',
      '<b>',
    ]);
  });

  test('days may be counted from 1904, and places of cells may be left out', async () => {
    const bytes = workbook({
      workbookPr: '<workbookPr date1904="1"/>',
      formats: ['yyyy-mm-dd'],
      rows: '<row><c t="inlineStr"><is><t>day</t></is></c></row><row/><row><c s="1"><v>1</v></c></row>',
    });
    expect((await readBytes(bytes)).rows).toEqual([{ number: 3, cells: [new Date('1904-01-02')] }]);
  });

  test('rows keep their numbers, and blank ones are skipped', async () => {
    const bytes = workbook({
      rows: `${textRow(3, 'a', '', 'c ')}<row r="4">${inline('B4', '  ')}</row>${textRow(9, '', '', 'x')}<row r="1000000"/>`,
    });
    const grid = await readBytes(bytes);
    expect(grid).toMatchObject({ columns: ['a', '', 'c'], headerRow: 3, notes: [] });
    expect(grid.rows).toEqual([{ number: 9, cells: [null, null, 'x'] }]);
  });

  test('reads the sheet Topics wherever it is, else the first that is not How to use', async () => {
    const first = { name: 'How to use', rows: textRow(1, 'no') };
    const topics = await readBytes(
      workbook({
        ...first,
        sheets: [
          ['x', textRow(1, 'no')],
          ['topics', header],
        ],
      }),
    );
    expect(topics.columns).toEqual(['topic_id', 'priority']);
    expect(topics.notes.join()).toContain('Only the sheet "topics"');
    const other = workbook({
      ...first,
      sheets: [
        ['secret', textRow(1, 'no'), 'hidden'],
        ['Mine', header],
      ],
    });
    expect(await readBytes(other)).toMatchObject({ columns: ['topic_id', 'priority'], notes: [] });
  });

  test('a sheet can be chosen by its name, in any case; a name that it does not have is refused with those it has', async () => {
    const bytes = workbook({
      name: 'Topics',
      rows: textRow(1, 'no'),
      sheets: [
        ['Plan B', header],
        ['old', textRow(1, 'no'), 'hidden'],
        ['PLAN B ', textRow(1, 'shouted')],
      ],
    });
    const read = (sheet: string) => readSheet({ bytes, name: 'x.xlsx' }, { sheet });
    expect(await read('Plan B')).toMatchObject({ columns: ['topic_id', 'priority'], notes: [] });
    expect((await read('PLAN B ')).columns).toEqual(['shouted']);
    expect((await read('plan b')).columns).toEqual(['topic_id', 'priority']);
    expect((await read('OLD')).columns).toEqual(['no']);
    const error = await read('Plan C').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    expect((error as UsageError).message).toBe(
      'x.xlsx has no sheet "Plan C": it has "Topics", "Plan B", "old" (hidden), "PLAN B "',
    );
    const text = readSheet({ bytes: Buffer.from('topic_id'), name: 'x.csv' }, { sheet: 'a' });
    await expect(text).rejects.toThrow('x.csv is not a workbook: it has no sheets to choose from');
  });

  test('a title over merged cells is not the header', async () => {
    const after = '<mergeCells count="1"><mergeCell ref="A1:B1"/></mergeCells>';
    const rows =
      textRow(1, 'Priorities of autumn') + textRow(3, 'topic_id', 'priority') + textRow(4, 't1', 'high');
    const grid = await readBytes(workbook({ rows, after }));
    expect(grid).toMatchObject({ columns: ['topic_id', 'priority'], headerRow: 3, rows: [{ number: 4 }] });
    expect(grid.notes.join()).toContain('A1:B1');
  });
});

describe('a workbook that is refused', () => {
  const damaged = 'is damaged or incomplete';
  const good = workbook({ rows: header + textRow(2, 't1', randomBytes(20_000).toString('base64')) });
  /** A sheet of a megabyte of which the zip says another size. */
  const bomb = (size: number) => {
    const sheet = Buffer.alloc(1024 * 1024, ' ');
    const parts = Object.entries(workbookFiles({ rows: header })).map(
      ([name, text]) => [name, { content: Buffer.from(text) }] as const,
    );
    return zippedSaying({
      ...Object.fromEntries(parts),
      'xl/worksheets/sheet0.xml': { content: sheet, size },
    });
  };
  const manyFiles = () => {
    const media = Array.from({ length: 5000 }, (_, at) => [`xl/media/${at}`, ''] as const);
    return zipped({ ...Object.fromEntries(media), ...workbookFiles({ rows: header }) }, 0);
  };
  /** Every file of the zip begins where the first one does. */
  const overlapping = () => {
    const bytes = Buffer.from(workbook({ rows: header }));
    for (let at = bytes.indexOf('PK\x01\x02'); at !== -1; at = bytes.indexOf('PK\x01\x02', at + 4))
      bytes.writeUInt32LE(0, at + 42);
    return bytes;
  };
  const sameName = () => {
    const bytes = Buffer.from(zipped({ ...workbookFiles({ rows: header }), 'xl/sharedstrings.xm_': 'x' }));
    for (let at = bytes.indexOf('strings.xm_'); at !== -1; at = bytes.indexOf('strings.xm_', at))
      bytes.write('strings.xml', at);
    return bytes;
  };
  const doctype = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>';
  const withDoctype = (path: string) => {
    const files = workbookFiles({ rows: textRow(1, 'topic_id', '&amp;a;') });
    files[path] = (files[path] ?? '').replace('?>', `?>${doctype}`).replace('&amp;a;', '&a;');
    return zipped(files);
  };
  const ods = (table: string, more: Record<string, string> = {}) =>
    zipped({
      mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
      'content.xml': `<o:document-content><o:body><o:spreadsheet><t:table>${table}</t:table></o:spreadsheet></o:body></o:document-content>`,
      ...more,
    });
  const without = (path: string) => {
    const { [path]: _, ...rest } = workbookFiles({ rows: header });
    return rest;
  };
  const ole = Buffer.from('d0cf11e0a1b11ae1'.padEnd(1024, '0'), 'hex');

  test.each([
    ['cut short', () => good.subarray(0, good.length / 2), damaged],
    [
      'changed within',
      () => Uint8Array.from(good, (byte, at) => (at > 3000 && at < 9000 ? byte ^ 0x55 : byte)),
      damaged,
    ],
    [
      'XML that ends early',
      () =>
        zipped({ ...workbookFiles({ rows: header }), 'xl/worksheets/sheet0.xml': '<worksheet><sheetData>' }),
      damaged,
    ],
    ['rows in disorder', () => workbook({ rows: textRow(2, 'a') + textRow(1, 'b') }), damaged],
    ['the old format', () => ole, 'is in the old Excel format (.xls)'],
    [
      'a password',
      () => Buffer.concat([ole, Buffer.from('EncryptedPackage', 'utf16le')]),
      'is encrypted: it needs a password',
    ],
    ['a binary workbook', () => zipped({ ...without('xl/workbook.xml'), 'xl/workbook.bin': 'x' }), '.xlsb'],
    [
      'a Numbers document',
      () => zipped({ 'Index/Document.iwa': 'x' }),
      'is an Apple Numbers document (.numbers)',
    ],
    ['a Word document', () => zipped({ 'word/document.xml': '<document/>' }), 'is a Word document (.docx)'],
    [
      'an OpenDocument text',
      () => zipped({ mimetype: 'application/vnd.oasis.opendocument.text', 'content.xml': '<a/>' }),
      'is not a spreadsheet: its zip says application/vnd.oasis.opendocument.text',
    ],
    [
      'an OpenDocument with a password',
      () =>
        ods('', {
          'META-INF/manifest.xml':
            '<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>',
        }),
      'is encrypted: it needs a password',
    ],
    ['a zip of something', () => zipped({ 'readme.txt': 'x' }), 'is a zip file, but not a workbook'],
    [
      'external entities',
      () => withDoctype('xl/worksheets/sheet0.xml'),
      'contains a document type definition (DTD)',
    ],
    [
      'external entities elsewhere',
      () => withDoctype('xl/sharedStrings.xml'),
      'contains a document type definition (DTD)',
    ],
    [
      'external entities in an OpenDocument',
      () => ods('', { 'content.xml': `<?xml version="1.0"?>${doctype}<a>&a;</a>` }),
      'contains a document type definition (DTD)',
    ],
    ['a zip of a million files', manyFiles, 'has more than 5,000 files in its zip'],
    ['a zip whose files overlap', overlapping, 'has files in its zip that overlap'],
    ['two files of the same name', sameName, 'has two files of the same name in its zip'],
    ['a bomb of elements within each other', () => workbook({ rows: '<a>'.repeat(100_000) }), damaged],
    [
      'a million cells that are empty',
      () => workbook({ rows: `<row>${'<c/>'.repeat(20_000)}</row>` }),
      'has more than 500 columns',
    ],
    [
      'a million rows in one element of an OpenDocument',
      () =>
        ods(
          '<t:table-row t:number-rows-repeated="1048576"><t:table-cell><x:p>x</x:p></t:table-cell></t:table-row>',
        ),
      'has more than 200,000 rows',
    ],
    [
      'a million columns in one element of an OpenDocument',
      () =>
        ods(
          '<t:table-row><t:table-cell t:number-columns-repeated="999999999"><x:p>x</x:p></t:table-cell></t:table-row>',
        ),
      'has more than 500 columns',
    ],
    [
      'a bomb of repeated cells in an OpenDocument',
      () =>
        ods(
          '<t:table-row t:number-rows-repeated="99999"><t:table-cell t:number-columns-repeated="400"><x:p>x</x:p></t:table-cell></t:table-row>',
        ),
      'has more than 5,000,000 cells',
    ],
    [
      'a changed byte, which only the checksum shows',
      () => {
        const bytes = Buffer.from(zipped(workbookFiles({ rows: header }), 0));
        bytes.write('topic_ix', bytes.indexOf('topic_id'));
        return bytes;
      },
      damaged,
    ],
    ['no sheet', () => zipped(without('xl/worksheets/sheet0.xml')), 'has no sheet with data'],
    ['an empty sheet', () => workbook({ rows: '' }), 'contains no table'],
    ['a bomb', () => bomb(300 * 1024 * 1024), 'is larger than 250 MB when unpacked'],
    ['a bomb that lies about its size', () => bomb(1000), damaged],
    [
      'a cell at the end of the world',
      () => workbook({ rows: `${header}<row r="2">${inline('ZZZZZZ2', 'x')}</row>` }),
      'more than 500 columns',
    ],
    [
      'a row at the end of the world',
      () => workbook({ rows: `${header}<row r="9007199254740991">${inline('A2', 'x')}</row>` }),
      'more than 1,048,576 rows',
    ],
    ['an endless tag', () => workbook({ rows: `<!--${'x'.repeat(3_000_000)}-->${header}` }), damaged],
    [
      'a merged header',
      () => workbook({ rows: header, after: '<mergeCells><mergeCell ref="B1:C1"/></mergeCells>' }),
      'merged cells in its header row 1 (B1:C1)',
    ],
  ])('%s', async (_, bytes, message) => {
    expect(await refused(readBytes(bytes()))).toContain(message);
  });
});

test.each([
  ['yyyy-mm-dd', true],
  ['dd/mm/yy;@', true],
  ['[$-409]d\\ mmm\\ yyyy', true],
  ['h:mm AM/PM', true],
  ['[h]:mm:ss.000', true],
  ['mm:ss.0', true],
  ['General', false],
  ['0.00', false],
  ['#,##0 "days"', false],
  ['[Red]0.0', false],
  ['0.00E+00', false],
  ['@', false],
  ['\\d0', false],
])('the format %s shows a date: %s', async (code, isDate) => {
  const rows = `${header}<row r="2"><c r="A2" s="1"><v>46000.5</v></c></row>`;
  const grid = await readBytes(workbook({ formats: [code.replaceAll('"', '&quot;')], rows }));
  expect(grid.rows[0]?.cells).toEqual([isDate ? new Date('2025-12-09T12:00:00Z') : 46_000.5]);
});
