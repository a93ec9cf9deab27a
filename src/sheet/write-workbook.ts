import type { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { columnLetters } from './cell-address.js';
import { workbookText } from './cell-text.js';
import { howToSheet } from './spec.js';
import { escapedAttribute, escapedText, Styles } from './workbook-styles.js';
import {
  landscapePages,
  listsSheet,
  type TableSheet,
  textCell,
  Worksheet,
  worksheetStart,
} from './worksheet.js';

/** What was written of a table. */
export interface WrittenTable {
  readonly rows: number;
  /** Cells whose text was cut: longer than a cell can hold. */
  readonly cutCells: number;
}

/** A sheet of the workbook, and its content when its turn comes. */
interface Part {
  readonly name: string;
  readonly hidden?: boolean;
  readonly xml: () => AsyncIterable<string> | Iterable<string>;
  readonly table?: Worksheet;
}

/**
 * Writes a workbook with a sheet for each table, in this order: "How to use" when the first table has instructions, the
 * tables, and a hidden sheet for long lists. It opens at the first table. Rows are read while they are written, so a
 * table of any size takes a few MB. (write-excel-file keeps every cell and the whole XML: 350 MB for 20,000 rows.)
 */
export async function writeWorkbook(
  file: FileHandle,
  tables: readonly TableSheet[],
): Promise<readonly WrittenTable[]> {
  const styles = new Styles();
  const sheets = tables.map((table) => new Worksheet(table, styles));
  await writeZip(file, entriesOf(partsOf(sheets, styles), styles));
  return sheets.map(({ rows, cutCells }) => ({ rows, cutCells }));
}

function partsOf(sheets: readonly Worksheet[], styles: Styles): Part[] {
  const howTo = sheets[0]?.sheet.howTo;
  const lists: (readonly string[])[] = [];
  const tables = sheets.map((table, at): Part => {
    const firstList = lists.length;
    lists.push(...table.longLists);
    return { name: table.sheet.name, table, xml: () => table.xml({ selected: at === 0, firstList }) };
  });
  return [
    ...(howTo ? [{ name: howToSheet, xml: () => howToXml(howTo, styles) }] : []),
    ...tables,
    ...(lists.length > 0 ? [{ name: listsSheet, hidden: true, xml: () => listsXml(lists) }] : []),
  ];
}

type Entries = readonly (readonly [path: string, content: () => AsyncIterable<string> | Iterable<string>])[];

/** The files of the workbook. What names the ranges and the looks comes after the sheets that they are about. */
function entriesOf(parts: readonly Part[], styles: Styles): Entries {
  return [
    ['[Content_Types].xml', () => [contentTypes(parts.length)]],
    ['_rels/.rels', () => [relations([['officeDocument', 'xl/workbook.xml']])]],
    ...parts.map(({ xml }, at) => [`xl/worksheets/sheet${at + 1}.xml`, xml] as const),
    ['xl/styles.xml', () => [styles.xml()]],
    ['xl/workbook.xml', () => [workbookXml(parts)]],
    [
      'xl/_rels/workbook.xml.rels',
      () => [
        relations([
          ...parts.map((_, at) => ['worksheet', `worksheets/sheet${at + 1}.xml`] as const),
          ['styles', 'styles.xml'],
        ]),
      ],
    ],
  ];
}

/** Writes a zip. Each file is made when those before it are written. */
async function writeZip(file: FileHandle, entries: Entries): Promise<void> {
  const zip = new ZipFile();
  const output = zip.outputStream.pipe(new PassThrough());
  const failed = (error: Error) => output.destroy(error);
  (zip as EventEmitter).on('error', failed);
  let current: Readable | undefined;
  for (const [path, content] of entries) {
    zip.addReadStreamLazy(path, (give) => {
      current = Readable.from(asBytes(content()), { objectMode: false }).on('error', failed);
      give(null, current);
    });
  }
  zip.end();
  try {
    await pipeline(output, async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) await file.appendFile(chunk);
    });
  } finally {
    // After an error, rows that nobody will ask for are given up.
    current?.destroy();
  }
}

async function* asBytes(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  for await (const text of texts) yield Buffer.from(text);
}

function* howToXml([title = '', ...steps]: readonly string[], styles: Styles): Generator<string> {
  const [titleStyle, stepStyle] = [
    styles.of({ bold: true, size: 16, vertical: 'center' }),
    styles.of({ size: 12, wrap: true, vertical: 'center' }),
  ];
  const cell = (address: string, style: number, text: string) =>
    textCell(address, style, workbookText(text, { exact: true }).text);
  yield worksheetStart;
  yield '<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView showGridLines="0" workbookViewId="0"/></sheetViews>';
  yield '<cols><col min="1" max="1" width="3" customWidth="1"/><col min="2" max="2" width="120" customWidth="1"/></cols><sheetData>';
  yield `<row r="2" ht="30" customHeight="1">${cell('B2', titleStyle, title)}</row>`;
  for (const [at, step] of steps.entries())
    yield `<row r="${at + 3}" ht="38" customHeight="1">${cell(`B${at + 3}`, stepStyle, step)}</row>`;
  yield `</sheetData>${landscapePages}</worksheet>`;
}

/** Lists side by side, one in each column. */
function* listsXml(lists: readonly (readonly string[])[]): Generator<string> {
  yield `${worksheetStart}<sheetData>`;
  for (let row = 0; row < Math.max(...lists.map(({ length }) => length)); row++) {
    const cells = lists.flatMap((list, at) => {
      const text = list[row];
      if (text === undefined) return [];
      return [textCell(`${columnLetters(at)}${row + 1}`, 0, workbookText(text, { exact: true }).text)];
    });
    yield `<row r="${row + 1}">${cells.join('')}</row>`;
  }
  yield '</sheetData></worksheet>';
}

const xmlStart = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

function workbookXml(parts: readonly Part[]): string {
  const sheets = parts.map(
    ({ name, hidden }, at) =>
      `<sheet name="${escapedAttribute(name)}" sheetId="${at + 1}"${hidden ? ' state="hidden"' : ''} r:id="rId${at + 1}"/>`,
  );
  const names = parts.flatMap(({ name, table }, at) => {
    if (!table || table.sheet.columns.length === 0) return [];
    const sheet = `'${name.replaceAll("'", "''")}'!`;
    const filter = `<definedName name="_xlnm._FilterDatabase" localSheetId="${at}" hidden="1">${escapedText(sheet + table.range('$'))}</definedName>`;
    const titles = `<definedName name="_xlnm.Print_Titles" localSheetId="${at}">${escapedText(sheet + table.printedTitles)}</definedName>`;
    return [filter, titles];
  });
  const active = Math.max(
    0,
    parts.findIndex(({ table }) => table),
  );
  return [
    `${xmlStart}<workbook xmlns="${main}" xmlns:r="${office}">`,
    `<bookViews><workbookView activeTab="${active}"/></bookViews>`,
    `<sheets>${sheets.join('')}</sheets>`,
    names.length > 0 ? `<definedNames>${names.join('')}</definedNames>` : '',
    '</workbook>',
  ].join('');
}

function contentTypes(sheets: number): string {
  const part = (path: string, type: string) =>
    `<Override PartName="/xl/${path}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`;
  const worksheets = Array.from({ length: sheets }, (_, at) =>
    part(`worksheets/sheet${at + 1}`, 'worksheet'),
  );
  return [
    `${xmlStart}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`,
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
    '<Default Extension="xml" ContentType="application/xml"/>',
    ...[part('workbook', 'sheet.main'), part('styles', 'styles'), ...worksheets],
    '</Types>',
  ].join('');
}

function relations(targets: readonly (readonly [type: string, target: string])[]): string {
  const all = targets.map(
    ([type, target], at) => `<Relationship Id="rId${at + 1}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `${xmlStart}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${all.join('')}</Relationships>`;
}
