// Writes files in the style of Excel, Google Sheets and others, each with its expected grid. Run from the root of the
// repository, after npm ci: node test/corpus/sheets/make/by-hand.mjs

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, Zip, ZipDeflate, zipSync } from 'fflate';

const out = join(import.meta.dirname, '..', 'by-hand');
const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';
/** So that the same script writes the same bytes. */
const mtime = new Date(2026, 0, 1);

const bytesOf = (content) => (typeof content === 'string' ? strToU8(content) : content);
const zip = (files) =>
  zipSync(Object.fromEntries(Object.entries(files).map(([path, content]) => [path, bytesOf(content)])), {
    level: 9,
    mtime,
  });

const day = (date) => ({ date });
const noResult = '(formula without a stored value)';

/** Writes a file and what is to be read from it: the first row is the header, the others start with their number. */
function save(file, bytes, columns, rows, { notes = [], headerRow = 1 } = {}) {
  writeFileSync(join(out, file), bytes);
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
  const json = `{
  "columns": ${JSON.stringify(columns)},
  "headerRow": ${headerRow},
  "rows": [\n${lines.join(',\n')}\n  ],
  "notes": ${JSON.stringify(notes)}\n}\n`;
  writeFileSync(join(out, file.replace(/\.\w+$/, '.json')), json);
}

/** The files of a workbook with one sheet or several; what is not given is not there. */
function book({ sheets, strings, styles, workbookPr = '', types = {} }) {
  const list = Object.entries(sheets);
  const relation = (id, type, target) =>
    `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`;
  return {
    '[Content_Types].xml': `${head}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>${list.map((_, at) => `<Override PartName="/xl/worksheets/sheet${at + 1}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>`).join('')}</Types>`,
    '_rels/.rels': `${head}<Relationships xmlns="${packageRelations}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `${head}<workbook xmlns="${main}" xmlns:r="${relations}">${workbookPr}<sheets>${list
      .map(
        ([name, { state }], at) =>
          `<sheet name="${name}" sheetId="${at + 1}"${state ? ` state="${state}"` : ''} r:id="rId${at + 1}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships xmlns="${packageRelations}">${list
      .map(([name], at) =>
        relation(`rId${at + 1}`, types[name] ?? 'worksheet', `worksheets/sheet${at + 1}.xml`),
      )
      .join(
        '',
      )}${strings ? relation('rIdS', 'sharedStrings', 'sharedStrings.xml') : ''}${styles ? relation('rIdT', 'styles', 'styles.xml') : ''}</Relationships>`,
    ...Object.fromEntries(
      list.map(([, { rows, before = '', after = '', attributes = '' }], at) => [
        `xl/worksheets/sheet${at + 1}.xml`,
        `${head}<worksheet xmlns="${main}" xmlns:r="${relations}"${attributes}>${before}<sheetData>${rows}</sheetData>${after}</worksheet>`,
      ]),
    ),
    ...(strings && {
      'xl/sharedStrings.xml': `${head}<sst xmlns="${main}" count="${strings.length}" uniqueCount="${strings.length}">${strings.map((one) => `<si>${one}</si>`).join('')}</sst>`,
    }),
    ...(styles && { 'xl/styles.xml': `${head}<styleSheet xmlns="${main}">${styles}</styleSheet>` }),
  };
}

/** Styles with these formats; style 0 is the general one. Numbers are formats that need no definition. */
const formats = (...codes) =>
  `<numFmts count="${codes.length}">${codes
    .map((code, at) =>
      typeof code === 'string' ? `<numFmt numFmtId="${170 + at}" formatCode="${code}"/>` : '',
    )
    .join(
      '',
    )}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs count="${codes.length + 1}"><xf numFmtId="0"/>${codes
    .map((code, at) => `<xf numFmtId="${typeof code === 'string' ? 170 + at : code}" applyNumberFormat="1"/>`)
    .join('')}</cellXfs>`;

const text = (address, content) =>
  `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${content}</t></is></c>`;
const row = (number, ...texts) =>
  `<row r="${number}">${texts.map((one, at) => (one === '' ? '' : text(`${'ABCDEFGH'[at]}${number}`, one))).join('')}</row>`;
const header = row(1, 'topic_id', 'priority');

// Excel: shared and array formulas, rich text, phonetic hints, a table, a filter, extensions, formats of conditions.
save(
  'excel.xlsx',
  zip({
    ...book({
      sheets: {
        Tabelle1: {
          attributes:
            ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" mc:Ignorable="x14ac xr" xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac" xmlns:xr="http://schemas.microsoft.com/office/spreadsheetml/2014/revision" xr:uid="{00000000-0001-0000-0000-000000000000}"',
          before:
            '<sheetPr filterMode="1"/><dimension ref="A1:H5"/><sheetViews><sheetView tabSelected="1" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetFormatPr baseColWidth="10" defaultRowHeight="15" x14ac:dyDescent="0.25"/><cols><col min="1" max="1" width="38" customWidth="1"/><col min="3" max="3" width="0" hidden="1" customWidth="1"/></cols>',
          rows: `<row r="1" spans="1:8" x14ac:dyDescent="0.25"><c r="A1" s="1" t="s"><v>0</v></c><c r="B1" s="1" t="s"><v>1</v></c><c r="C1" s="1" t="s"><v>2</v></c><c r="D1" t="s"><v>3</v></c><c r="E1" t="s"><v>4</v></c><c r="F1" t="s"><v>5</v></c><c r="G1" t="s"><v>6</v></c></row>
<row r="2" spans="1:8" hidden="1" x14ac:dyDescent="0.25"><c r="A2" t="s"><v>7</v></c><c r="B2" t="s"><v>8</v></c><c r="C2"><v>1.1000000000000001</v></c><c r="D2"><f t="shared" ref="D2:D3" si="0">C2*2</f><v>2.2000000000000002</v></c><c r="E2" s="2"><v>46085.212581018517</v></c><c r="F2" t="str"><f>"a"&amp;CHAR(13)&amp;CHAR(10)&amp;"b"</f><v>a_x000D_
b</v></c><c r="G2" t="e" vm="1"><v>#VALUE!</v></c><c r="H2" s="3"/></row>
<row r="3" spans="1:8" x14ac:dyDescent="0.25"><c r="A3" t="s"><v>9</v></c><c r="B3" t="s"><v>10</v></c><c r="C3"><v>0.30000000000000004</v></c><c r="D3"><f t="shared" si="0"/><v>0.60000000000000009</v></c><c r="E3" s="2"><v>1</v></c><c r="F3" t="str"><f>IF(C3&gt;1,"x","")</f><v></v></c><c r="G3" cm="1"><f t="array" ref="G3:G4">_xlfn.SEQUENCE(2)</f><v>1</v></c></row>
<row r="4" spans="1:8" x14ac:dyDescent="0.25"><c r="A4" t="s"><v>11</v></c><c r="C4"><v>-1.0000000000000001E-5</v></c><c r="D4" t="b"><f>C4&gt;0</f><v>0</v></c><c r="E4" s="2"/><c r="G4"><v>2</v></c></row>`,
          after: `<autoFilter ref="A1:G4" xr:uid="{A}"><filterColumn colId="1"><filters><filter val="low"/></filters></filterColumn></autoFilter><conditionalFormatting sqref="C2:C4"><cfRule type="cellIs" dxfId="0" priority="1" operator="greaterThan"><formula>1</formula></cfRule></conditionalFormatting><tableParts count="1"><tablePart r:id="rId1"/></tableParts><extLst><ext uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}" xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"><x14:conditionalFormattings><x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="expression"><xm:f>A2</xm:f></x14:cfRule><xm:sqref>B2</xm:sqref></x14:conditionalFormatting></x14:conditionalFormattings></ext></extLst>`,
        },
      },
      strings: [
        '<t>topic_id</t>',
        '<r><rPr><b/></rPr><t>prio</t></r><r><t>rity</t></r>',
        '<t xml:space="preserve"> votes </t>',
        '<t>double</t>',
        '<t>due</t>',
        '<t>note</t>',
        '<t>count</t>',
        '<t>t1</t>',
        '<t>high</t>',
        '<t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/>',
        '<r><t xml:space="preserve">very </t></r><r><rPr><i/><color rgb="FFFF0000"/></rPr><t>high</t></r>',
        '<t>line 1_x000D_\nline 2 _x005F_x0041_</t>',
      ],
      styles: `<numFmts count="1"><numFmt numFmtId="164" formatCode="dd/mm/yyyy\\ hh:mm:ss"/></numFmts><fonts count="1"><font/></fonts><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="49"/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="0" fillId="2"/></cellXfs><dxfs count="2"><dxf><numFmt numFmtId="164" formatCode="0.00"/></dxf><dxf><numFmt numFmtId="0" formatCode="yyyy"/></dxf></dxfs>`,
    }),
    'xl/calcChain.xml': `${head}<calcChain xmlns="${main}"><c r="D2" i="1"/></calcChain>`,
  }),
  ['topic_id', 'priority', 'votes', 'double', 'due', 'note', 'count'],
  [
    [2, 't1', 'high', 1.1, 2.2, day('2026-03-04T05:06:07'), 'a\r\nb', '#VALUE!'],
    [3, '東京', 'very high', 0.30000000000000004, 0.6000000000000001, day('1900-01-01'), null, 1],
    [4, 'line 1\r\nline 2 _x0041_', null, -0.00001, false, null, null, 2],
  ],
);

// Google Sheets: a thousand blank rows with formats, check boxes, formulas of its own, no dimension.
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
save(
  'google-sheets.xlsx',
  zip(
    book({
      sheets: {
        Blatt1: {
          attributes:
            ' xmlns:mx="http://schemas.microsoft.com/office/mac/excel/2008/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:mv="urn:schemas-microsoft-com:mac:vml" xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"',
          before:
            '<sheetPr><outlinePr summaryBelow="0" summaryRight="0"/></sheetPr><sheetViews><sheetView workbookViewId="0"/></sheetViews><sheetFormatPr customHeight="1" defaultColWidth="12.63" defaultRowHeight="15.75"/>',
          rows: `<row r="1"><c r="A1" s="1" t="s"><v>0</v></c><c r="B1" s="1" t="s"><v>1</v></c><c r="C1" s="1" t="s"><v>2</v></c><c r="D1" s="1" t="s"><v>3</v></c><c r="E1" s="1" t="s"><v>4</v></c></row>
<row r="2"><c r="A2" s="1" t="s"><v>5</v></c><c r="B2" s="1" t="s"><v>6</v></c><c r="C2" s="1" t="b"><v>1</v></c><c r="D2" s="2"><v>46085.0</v></c><c r="E2" s="1" t="str"><f>IFERROR(__xludf.DUMMYFUNCTION("UPPER(B2)"),"HIGH")</f><v>HIGH</v></c></row>
<row r="3"><c r="A3" s="1" t="s"><v>7</v></c><c r="B3" s="1"/><c r="C3" s="1" t="b"><v>0</v></c><c r="D3" s="3"><v>46085.5</v></c><c r="E3" s="1"><f>1/3</f><v>0.3333333333</v></c></row>
${Array.from({ length: 97 }, (_, at) => `<row r="${at + 4}">${letters.map((letter) => `<c r="${letter}${at + 4}" s="1"/>`).join('')}</row>`).join('')}`,
          after:
            '<dataValidations><dataValidation type="list" allowBlank="1" showErrorMessage="1" sqref="B2:B3"><formula1>"high,low"</formula1></dataValidation></dataValidations><drawing r:id="rId1"/>',
        },
      },
      strings: ['topic_id', 'priority', 'archived', 'due', 'upper', 't1', 'high', 't2'].map(
        (one) => `<t>${one}</t>`,
      ),
      styles: `<numFmts count="2"><numFmt numFmtId="164" formatCode="M/d/yyyy"/><numFmt numFmtId="165" formatCode="yyyy-mm-dd h:mm:ss"/></numFmts><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="0" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/></cellXfs>`,
    }),
  ),
  ['topic_id', 'priority', 'archived', 'due', 'upper'],
  [
    [2, 't1', 'high', true, day('2026-03-04'), 'HIGH'],
    [3, 't2', null, false, day('2026-03-04T12:00:00'), 0.3333333333],
  ],
);

// The case "edited" as Google Sheets exports it: hidden by a filter, every cell with a style, and as CSV without a mark.
const { columns: editedColumns, rows: editedRows } = JSON.parse(
  readFileSync(join(out, '../edited/expected.json'), 'utf8'),
);
const editedLines = [[1, 'Priorities for the third quarter'], [3, ...editedColumns], ...editedRows];
const editedTexts = [...new Set(editedLines.flat().filter((cell) => typeof cell === 'string'))];
const editedCell = (cell, address) => {
  if (cell === null || cell === undefined) return `<c r="${address}" s="1"/>`;
  if (typeof cell === 'boolean') return `<c r="${address}" s="1" t="b"><v>${cell ? 1 : 0}</v></c>`;
  return `<c r="${address}" s="1" t="s"><v>${editedTexts.indexOf(cell)}</v></c>`;
};
const editedRow = ([number, ...cells]) =>
  `<row r="${number}"${number === 5 ? ' hidden="1"' : ''}>${editedColumns.map((_, at) => editedCell(cells[at], `${letters[at]}${number}`)).join('')}</row>`;
writeFileSync(
  join(out, '../edited/google-sheets.xlsx'),
  zip(
    book({
      sheets: {
        Tabellenblatt1: {
          rows: editedLines.map(editedRow).join(''),
          after:
            '<autoFilter ref="$A$3:$G$8"><filterColumn colId="0"><filters blank="1"><filter val="t1"/></filters></filterColumn></autoFilter>',
        },
      },
      strings: editedTexts.map((one) => `<t>${one}</t>`),
      styles: '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="0" applyFont="1"/></cellXfs>',
    }),
  ),
);
const editedText = (cell) => (typeof cell === 'boolean' ? String(cell).toUpperCase() : (cell ?? ''));
writeFileSync(
  join(out, '../edited/google-sheets.csv'),
  Array.from({ length: 8 }, (_, at) => editedLines.find(([number]) => number === at + 1)?.slice(1) ?? [])
    .map((cells) => editedColumns.map((_, at) => editedText(cells[at])).join(','))
    .join('\r\n'),
);

// Neither texts nor formats in parts of their own, and nothing that is optional.
const minimal = book({ sheets: { a: { rows: `${header}${row(2, 't1', 'high')}` } } });
const grid = [['topic_id', 'priority'], [[2, 't1', 'high']]];
save('without-strings-and-styles.xlsx', zip(minimal), ...grid);

// A part is named, and is not there.
const lists = book({
  sheets: { a: { rows: `${header}${row(2, 't1', 'high')}` } },
  strings: [],
  styles: '<a/>',
});
const { 'xl/sharedStrings.xml': _strings, 'xl/styles.xml': _styles, ...missing } = lists;
save('missing-parts.xlsx', zip(missing), ...grid);

// Other folders, absolute and escaped paths; backslashes in the zip, as old .NET programs write them.
const moved = {
  '_rels/.rels': minimal['_rels/.rels'].replace('xl/workbook.xml', '/book/my%20book.xml'),
  'book\\my book.xml': minimal['xl/workbook.xml'],
  'book\\_rels\\my book.xml.rels': minimal['xl/_rels/workbook.xml.rels'].replace('worksheets/', '../sheets/'),
  'Sheets\\Sheet1.xml': minimal['xl/worksheets/sheet1.xml'],
};
save('other-paths.xlsx', zip(moved), ...grid);

// Every element with a prefix; attributes in single quotes with > and line breaks; an instruction and comments.
const prefixed = (xml) =>
  xml
    .replaceAll(/<(\/?)([a-z])/gi, '<$1x:$2')
    .replaceAll('xmlns="', 'xmlns:x="')
    .replaceAll(`xmlns:r="${relations}"`, '');
save(
  'prefixes.xlsx',
  zip({
    ...Object.fromEntries(Object.entries(minimal).map(([path, xml]) => [path, prefixed(xml)])),
    'xl/workbook.xml': prefixed(minimal['xl/workbook.xml']).replace(
      'r:id',
      `xmlns:rel="${relations}" rel:id`,
    ),
    'xl/worksheets/sheet1.xml': prefixed(minimal['xl/worksheets/sheet1.xml'])
      .replace(
        '<x:sheetData>',
        '<!-- <x:row> "\' --><?keep <this> ?><x:sheetPr codeName=\'a > b "c"\'\n/><x:sheetData>',
      )
      .replace('<x:t xml:space="preserve">high', "<x:t\n xml:space='preserve' >hi<!-- g -->gh"),
  }),
  ...grid,
);

// ISO/IEC 29500 Strict: other namespaces, and dates as ISO 8601 without a zone.
const strict = (xml) =>
  xml
    .replaceAll(
      'http://schemas.openxmlformats.org/officeDocument/2006',
      'http://purl.oclc.org/ooxml/officeDocument',
    )
    .replaceAll(main, 'http://purl.oclc.org/ooxml/spreadsheetml/main');
save(
  'strict.xlsx',
  zip(
    Object.fromEntries(
      Object.entries(
        book({
          workbookPr: '<workbookPr dateCompatibility="0"/>',
          sheets: {
            a: {
              rows: `${row(1, 'topic_id', 'day', 'time', 'both', 'zone', 'no date')}<row r="2">${text('A2', 't1')}<c r="B2" s="1" t="d"><v>2026-03-04</v></c><c r="C2" s="1" t="d"><v>05:06:07</v></c><c r="D2" s="1" t="d"><v>2026-03-29T02:30:00.1234567</v></c><c r="E2" t="d"><v>2026-03-04T05:06:07+02:00</v></c><c r="F2" t="d"><v>tomorrow</v></c></row>`,
            },
          },
          styles: formats(14),
        }),
      ).map(([path, xml]) => [path, strict(xml)]),
    ),
  ),
  ['topic_id', 'day', 'time', 'both', 'zone', 'no date'],
  [
    [
      2,
      't1',
      day('2026-03-04'),
      day('1899-12-30T05:06:07'),
      day('2026-03-29T02:30:00.123'),
      day('2026-03-04T03:06:07'),
      'tomorrow',
    ],
  ],
);

// Rows and cells without addresses.
save(
  'sparse.xlsx',
  zip(
    book({
      sheets: {
        a: {
          rows: '<row><c t="inlineStr"><is><t>topic_id</t></is></c><c/><c t="inlineStr"><is><t>votes</t></is></c></row><row/><row spans="1:3"><c t="inlineStr"><is><t>t1</t></is></c><c s="0"/><c><v>7</v></c></row><row r="9"><c r="C9"><v>8</v></c><c><v>9</v></c><c r="A9" t="str"><v>t9</v></c></row>',
        },
      },
    }),
  ),
  ['topic_id', '', 'votes', ''],
  [
    [3, 't1', null, 7],
    [9, 't9', null, 8, 9],
  ],
  { notes: ['Cells to the right of the header (first in row 9) belong to no column and were ignored.'] },
);

// Days from 1904, as Excel for Mac counted them.
save(
  'days-from-1904.xlsx',
  zip(
    book({
      workbookPr: '<workbookPr date1904="true"/>',
      sheets: {
        a: {
          rows: `${header}<row r="2">${text('A2', 't1')}<c r="B2" s="1"><v>44623.5</v></c></row><row r="3"><c r="B3" s="1"><v>0</v></c></row>`,
        },
      },
      styles: formats(22),
    }),
  ),
  ['topic_id', 'priority'],
  [
    [2, 't1', day('2026-03-04T12:00:00')],
    [3, null, day('1904-01-01')],
  ],
);

// What is a date, and what only looks like one.
const codes = [
  ['yyyy\\-mm\\-dd', true],
  ['[$-409]dddd\\,\\ mmmm\\ d\\,\\ yyyy;@', true],
  ['[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', true],
  ['[$-411]ge\\.m\\.d;@', true],
  ['[h]:mm:ss.000', true],
  ['mm:ss.0', true],
  ['h:mm\\ AM/PM', true],
  ['[Red]d/m/yy;[Blue]0', true],
  [14, true],
  [22, true],
  [57, true],
  [9, false],
  [49, false],
  ['0.0%', false],
  ['#,##0.00\\ [$€-407];[Red]\\-#,##0.00\\ [$€-407]', false],
  ['0.00E+00', false],
  ['# ?/?', false],
  ['0\\ &quot;days&quot;', false],
  ['_-* #,##0_-;\\-* #,##0_-;_-* &quot;-&quot;_-;_-@_-', false],
  ['[&gt;=1000]#,##0,\\ &quot;thousand&quot;;0', false],
  ['General', false],
  ['&quot;y&quot;@', false],
];
save(
  'formats.xlsx',
  zip(
    book({
      sheets: {
        a: {
          rows: `${row(1, 'format', 'value')}${codes.map((_, at) => `<row r="${at + 2}"><c r="A${at + 2}"><v>${at}</v></c><c r="B${at + 2}" s="${at + 1}"><v>46085.25</v></c></row>`).join('')}`,
        },
      },
      styles: formats(...codes.map(([code]) => code)),
    }),
  ),
  ['format', 'value'],
  codes.map(([, isDate], at) => [at + 2, at, isDate ? day('2026-03-04T06:00:00') : 46085.25]),
);

// Every way to write a character.
const escapes = [
  ['a_x000D_b', 'a\rb'],
  ['_x005F_x000D_', '_x000D_'],
  ['_xD83D__xDE00_', '😀'],
  ['&#128512;&#x1F600;&#55357;&#56832;', '😀😀😀'],
  ['&lt;b&gt; &amp;amp; &quot;&apos;', '<b> &amp; "\''],
  ['<![CDATA[<c r="A1"> & ]]>]]&gt;', '<c r="A1"> & ]]>'],
  ['a\r\nb\rc&#13;&#10;d', 'a\nb\nc\r\nd'],
  ['  two blanks  ', '  two blanks  '],
  ['a&#9;b', 'a\tb'],
  ["'quoted'", "'quoted'"],
  ["'=1+1", '=1+1'],
  ['__proto__', '__proto__'],
];
save(
  'characters.xlsx',
  zip(
    book({
      sheets: {
        a: { rows: `${header}${escapes.map(([written], at) => row(at + 2, `t${at}`, written)).join('')}` },
      },
    }),
  ),
  ['topic_id', 'priority'],
  escapes.map(([, read], at) => [at + 2, `t${at}`, read]),
);

// Every kind of empty cell and every error; a formula without a result is neither.
const kinds = [
  ['<c r="B2" s="0"/>', null],
  ['<c r="B3"><v></v></c>', null],
  ['<c r="B4" t="inlineStr"><is/></c>', null],
  ['<c r="B5" t="s"><v>0</v></c>', null],
  ['<c r="B6" t="str"><f>""</f><v/></c>', null],
  ['<c r="B7"><f>C7</f></c>', noResult],
  ['<c r="B8"><f>C8</f><v></v></c>', noResult],
  ['<c r="B9" t="str"><f>C9</f></c>', noResult],
  ...['#NULL!', '#DIV/0!', '#VALUE!', '#REF!', '#NAME?', '#NUM!', '#N/A', '#GETTING_DATA', '#SPILL!'].map(
    (error, at) => [`<c r="B${at + 10}" t="e"><v>${error}</v></c>`, error],
  ),
  ['<c r="B19"><v> 5 </v></c>', 5],
  ['<c r="B20"><v>1E+2</v></c>', 100],
  ['<c r="B21"><v>Infinity</v></c>', 'Infinity'],
  ['<c r="B22"><v>0x10</v></c>', '0x10'],
  ['<c r="B23" t="b"><v>true</v></c>', true],
];
save(
  'empty-cells-and-errors.xlsx',
  zip(
    book({
      sheets: {
        a: {
          rows: `${header}${kinds.map(([cell], at) => `<row r="${at + 2}">${text(`A${at + 2}`, 'x')}${cell}</row>`).join('')}`,
        },
      },
      strings: ['<t/>'],
    }),
  ),
  ['topic_id', 'priority'],
  kinds.map(([, value], at) => (value === null ? [at + 2, 'x'] : [at + 2, 'x', value])),
);

// Which sheet: charts and hidden sheets are not read, nor the page that Apple Numbers adds.
const other = { rows: row(1, 'no') };
save(
  'numbers-export.xlsx',
  zip(
    book({
      sheets: {
        Chart: other,
        'Export Summary': other,
        Secret: { ...other, state: 'veryHidden' },
        'Sheet 1 - Table 1': { rows: `${header}${row(2, 't1', 'high')}` },
      },
      types: { Chart: 'chartsheet' },
    }),
  ),
  ...grid,
);
save(
  'topics-hidden.xlsx',
  zip(
    book({
      sheets: { First: other, ' TOPICS ': { rows: `${header}${row(2, 't1', 'high')}`, state: 'hidden' } },
    }),
  ),
  ...grid,
  { notes: ['Only the sheet " TOPICS " was read; the workbook has 2 sheets.'] },
);

// UTF-16, which the format allows, and a byte order mark of UTF-8.
const utf16 = (xml) => Buffer.from(`\uFEFF${xml.replace('UTF-8', 'UTF-16')}`, 'utf16le');
save(
  'utf-16.xlsx',
  zip({
    ...minimal,
    'xl/workbook.xml': utf16(minimal['xl/workbook.xml']),
    'xl/worksheets/sheet1.xml': utf16(minimal['xl/worksheets/sheet1.xml'].replace('high', 'hïgh 😀')),
    'xl/_rels/workbook.xml.rels': `\uFEFF${minimal['xl/_rels/workbook.xml.rels']}`,
  }),
  ['topic_id', 'priority'],
  [[2, 't1', 'hïgh 😀']],
);

// A zip that was streamed: its local headers do not say the sizes.
const streamed = [];
const stream = new Zip((error, chunk) => {
  if (error) throw error;
  streamed.push(chunk);
});
for (const [path, content] of Object.entries(minimal)) {
  const entry = new ZipDeflate(path, { level: 9, mtime });
  entry.mtime = mtime;
  stream.add(entry);
  entry.push(bytesOf(content), true);
}
stream.end();
save('streamed-zip.xlsx', Buffer.concat(streamed), ...grid);

// OpenDocument.
const namespaces = ['office', 'table', 'text', 'style', 'draw']
  .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .join(' ');
const calcext = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"';
const ods = (styles, body) => ({
  mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
  'content.xml': `${head}<office:document-content ${namespaces} ${calcext} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:spreadsheet>${body}</office:spreadsheet></office:body></office:document-content>`,
});
const p = (...paragraphs) => paragraphs.map((one) => `<text:p>${one}</text:p>`).join('');
const cell = (attributes, ...paragraphs) =>
  `<table:table-cell ${attributes}>${p(...paragraphs)}</table:table-cell>`;
const string = (...paragraphs) => cell('office:value-type="string"', ...paragraphs);
const line = (...cells) => `<table:table-row>${cells.join('')}</table:table-row>`;
const table = (name, rows, more = '') => `<table:table table:name="${name}" ${more}>${rows}</table:table>`;
const blank = '<table:table-cell table:number-columns-repeated="16380"/>';

save(
  'open-document.ods',
  zip(
    ods(
      '<style:style style:name="ta1" style:family="table"><style:table-properties table:display="true"/></style:style><style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style>',
      `<table:tracked-changes><table:deletion><table:cell-content-deletion><table:change-track-table-cell office:value-type="string">${p('deleted')}</table:change-track-table-cell></table:cell-content-deletion></table:deletion></table:tracked-changes>
${table('Secret', line(string('no')), 'table:style-name="ta2"')}
${table(
  'Plan',
  `<office:forms/><table:shapes><draw:frame><draw:text-box>${p('drawn')}</draw:text-box></draw:frame></table:shapes><table:table-column table:number-columns-repeated="16384"/>
<table:table-header-rows>${line(string('topic_id'), string('kind'), string('value'), string('twice'), string('twice too'), blank)}</table:table-header-rows>
<table:table-row table:number-rows-repeated="2">${blank}</table:table-row>
<table:table-row-group>${line(string('t1'), string('blanks'), string('<text:s/>two <text:s text:c="2"/>blanks\n   here<text:tab/>tab<text:line-break/>line', '<text:span>next</text:span> <text:a>link</text:a>'), '<table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="0.1"><text:p>0.1</text:p></table:table-cell>')}</table:table-row-group>
<table:table-row table:visibility="filter">${string('t2')}${string('note')}<table:table-cell office:value-type="string"><office:annotation><dc:creator>x</dc:creator>${p('comment')}</office:annotation>${p('with a comment')}<draw:frame>${p('picture')}</draw:frame></table:table-cell></table:table-row>
${line(string('t3'), string('percentage'), cell('office:value-type="percentage" office:value="0.125"', '13%'))}
${line(string('t4'), string('currency'), cell('office:value-type="currency" office:currency="EUR" office:value="1234.5"', '1.234,50 €'))}
${line(string('t5'), string('day'), cell('office:value-type="date" office:date-value="2026-03-04"', '04.03.26'))}
${line(string('t6'), string('moment'), cell('office:value-type="date" office:date-value="2026-03-29T02:30:59.999999999"', '…'))}
${line(string('t7'), string('duration'), cell('office:value-type="time" office:time-value="PT05H06M07.500000000S"', '05:06:07'))}
${line(string('t8'), string('boolean'), cell('office:value-type="boolean" office:boolean-value="true"', 'WAHR'))}
${line(string('t9'), string('error'), cell('table:formula="of:=1/0" office:value-type="string" office:string-value="" calcext:value-type="error"', '#DIV/0!'))}
${line(string('t10'), string('formula'), cell('table:formula="of:=[.A2]" office:value-type="string" office:string-value="t1"', 't1'))}
${line(string('t11'), string('no result'), '<table:table-cell table:formula="of:=[.A2]"/>')}
${line(string('t12'), string('no type'), `<table:table-cell>${p('text')}</table:table-cell>`)}
<table:table-row table:number-rows-repeated="2">${string('t13')}${string('repeated')}</table:table-row>
${line('<table:table-cell table:number-columns-spanned="2" office:value-type="string"><text:p>wide</text:p></table:table-cell>', '<table:covered-table-cell/>', string('x'))}
<table:table-row table:number-rows-repeated="1048550">${blank}</table:table-row>`,
  'table:style-name="ta1"',
)}
${table("'file:///x.ods'#$a", line(string('external')), 'table:style-name="ta2"')}
<table:dde-links><table:dde-link>${table('', line(string('dde')))}</table:dde-link></table:dde-links>`,
    ),
  ),
  ['topic_id', 'kind', 'value', 'twice', 'twice too'],
  [
    [4, 't1', 'blanks', ' two   blanks here\ttab\nline\nnext link', 0.1, 0.1],
    [5, 't2', 'note', 'with a comment'],
    [6, 't3', 'percentage', 0.125],
    [7, 't4', 'currency', 1234.5],
    [8, 't5', 'day', day('2026-03-04')],
    [9, 't6', 'moment', day('2026-03-29T02:31:00')],
    [10, 't7', 'duration', day('1899-12-30T05:06:07.500')],
    [11, 't8', 'boolean', true],
    [12, 't9', 'error', '#DIV/0!'],
    [13, 't10', 'formula', 't1'],
    [14, 't11', 'no result', noResult],
    [15, 't12', 'no type', 'text'],
    [16, 't13', 'repeated'],
    [17, 't13', 'repeated'],
    [18, 'wide', null, 'x'],
  ],
  {
    notes: [
      'Merged cells (first: A18:B18) have a value only in their top left cell; the others were read as empty.',
    ],
  },
);

// Other prefixes, no media type, several sheets.
const renamed = ods(
  '',
  `${table('How to use', line(string('no')))}${table('Companies', line(string('company_id')) + line(string('c1')))}${table('x', line(string('no')))}`,
);
save(
  'open-document-prefixes.ods',
  zip({
    'content.xml': renamed['content.xml']
      .replaceAll(/(<\/?)(office|table|text):/g, '$1$2-x:')
      .replaceAll(/ (office|table|text):/g, ' $1-x:')
      .replaceAll(/xmlns:(office|table|text)=/g, 'xmlns:$1-x='),
  }),
  ['company_id'],
  [[2, 'c1']],
  { notes: ['Only the sheet "Companies" was read; the workbook has 3 sheets.'] },
);
