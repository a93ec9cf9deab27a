import type { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { UsageError } from '../base/errors.js';
import { workbookText } from './cells.js';
import {
  type Cell,
  cellAddress,
  columnLetters,
  type GridRow,
  howToSheet,
  lastColumn,
  lastRowNumber,
  marksOf,
  type SheetColumn,
  type SheetSpec,
  type Tone,
  type WrittenCell,
} from './grid.js';
import { Styles } from './styles.js';
import { escapedAttribute, escapedText, main, xmlStart } from './xml.js';

export interface WrittenTable {
  readonly rows: number;
  /** Cells whose text was cut: longer than a cell can hold. */
  readonly cutCells: number;
}

/** A sheet of the workbook, and its content when its turn comes. */
interface Part {
  readonly name: string;
  readonly xml: () => AsyncIterable<string> | Iterable<string>;
  readonly table?: Worksheet;
}

/**
 * Writes a workbook with a sheet for each table, in this order: "How to use" when the first table has instructions, and the
 * tables. It opens at the first table. Rows are read while they are written, so a
 * table of any size takes a few MB. (write-excel-file keeps every cell and the whole XML: 350 MB for 20,000 rows.)
 */
export async function writeWorkbook(
  file: FileHandle,
  tables: readonly TableSheet[],
): Promise<readonly WrittenTable[]> {
  const styles = new Styles();
  const sheets = tables.map((table) => new Worksheet(table, styles));
  const howTo = tables[0]?.howTo;
  const parts: Part[] = [
    ...(howTo ? [{ name: howToSheet, xml: () => howToXml(howTo, styles) }] : []),
    ...sheets.map((table, at) => ({ name: table.sheet.name, table, xml: () => table.xml(at === 0) })),
  ];
  const paths = parts.map((_, at) => ['worksheet', `worksheets/sheet${at + 1}.xml`] as const);
  // The names of ranges and styles come after their sheets.
  await writeZip(file, [
    ['[Content_Types].xml', () => [contentTypes(parts)]],
    ['_rels/.rels', () => [relations([['officeDocument', 'xl/workbook.xml']])]],
    ...parts.flatMap(partFiles),
    ['xl/styles.xml', () => [styles.xml()]],
    ['xl/workbook.xml', () => [workbookXml(parts)]],
    ['xl/_rels/workbook.xml.rels', () => [relations([...paths, ['styles', 'styles.xml']])]],
  ]);
  return sheets.map(({ rows, cutCells }) => ({ rows, cutCells }));
}

/** A sheet, and the notes of its cells, which come after it: they are found while its rows are written. */
function partFiles({ xml, table }: Part, at: number): Entries {
  const number = at + 1;
  const sheet = [`xl/worksheets/sheet${number}.xml`, xml] as const;
  if (!table?.sheet.hasNotes) return [sheet];
  const targets = [
    ['comments', `../comments${number}.xml`],
    ['vmlDrawing', `../drawings/vmlDrawing${number}.vml`],
  ] as const;
  return [
    sheet,
    [`xl/worksheets/_rels/sheet${number}.xml.rels`, () => [relations(targets)]],
    [`xl/comments${number}.xml`, () => notesXml(table.notes)],
    [`xl/drawings/vmlDrawing${number}.vml`, () => drawingXml(table.notes)],
  ];
}

type Entries = readonly (readonly [path: string, content: Part['xml']])[];

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
    // After an error, the remaining rows are dropped.
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
  // The letters are larger than those of a table: fewer fit into the width of the column.
  for (const [at, step] of steps.entries())
    yield `<row r="${at + 3}" ht="${6 + 16 * Math.max(2, linesOf(step, 100))}" customHeight="1">${cell(`B${at + 3}`, stepStyle, step)}</row>`;
  yield `</sheetData>${landscapePages}</worksheet>`;
}

const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

function workbookXml(parts: readonly Part[]): string {
  const sheets = parts.map(
    ({ name }, at) => `<sheet name="${escapedAttribute(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
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

function contentTypes(parts: readonly Part[]): string {
  const part = (path: string, type: string) =>
    `<Override PartName="/xl/${path}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`;
  const sheets = parts.flatMap(({ table }, at) => [
    part(`worksheets/sheet${at + 1}`, 'worksheet'),
    ...(table?.sheet.hasNotes ? [part(`comments${at + 1}`, 'comments')] : []),
  ]);
  return [
    `${xmlStart}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`,
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
    '<Default Extension="xml" ContentType="application/xml"/>',
    '<Default Extension="vml" ContentType="application/vnd.openxmlformats-officedocument.vmlDrawing"/>',
    part('workbook', 'sheet.main'),
    part('styles', 'styles'),
    ...sheets,
    '</Types>',
  ].join('');
}

function relations(targets: readonly (readonly [type: string, target: string])[]): string {
  const all = targets.map(
    ([type, target], at) => `<Relationship Id="rId${at + 1}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `${xmlStart}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${all.join('')}</Relationships>`;
}

export interface TableSheet extends SheetSpec {
  /** Rows above the header stay blank, titles excepted; default 1. */
  readonly headerRow?: number;
  /** Titles of the table, above its header. */
  readonly titles?: readonly GridRow[];
  /** Whether cells have notes; without it they are not written. */
  readonly hasNotes?: boolean;
  /** Text goes into the cells as it is, for programs, and not with the marks that our reader takes away again. */
  readonly exactText?: boolean;
}

/** Grey for what is given, yellow for what can be edited, orange and bold for what was edited. */
const colours = {
  header: { fill: 'D9DDE2', color: '333333' },
  editableHeader: { fill: 'FFC533', color: '1A1A1A' },
  grey: { fill: 'F3F4F5', color: '4A4A4A' },
  editable: { fill: 'FFF9E3', color: '1A1A1A' },
  faint: '8A9099',
};

/** Green for what was applied, blue for what waits, amber for a conflict, red for what is wrong. */
const toneColours: Readonly<Record<Tone, { readonly fill: string; readonly color: string }>> = {
  done: { fill: 'D3EFD7', color: '14532D' },
  open: { fill: 'DCE9FB', color: '1E3A6E' },
  conflict: { fill: 'FFDDA6', color: '6B3A00' },
  wrong: { fill: 'F9D2D2', color: '7F1D1D' },
};

/** A header further down is not frozen: it would leave no room for the table. */
const frozenRows = 5;

/** Room for the filter button beside a header, in characters. */
const filterButton = 3;

/** Large enough that a sheet takes few steps, small enough not to matter in memory. */
const chunkChars = 64 * 1024;

/** Excel accepts a list of up to this many characters in a rule, and splits it at commas. A longer one is not offered. */
const longestList = 255;

/**
 * The XML of a sheet with a table, made while its rows come: a frozen header with filters, drop-down lists, colours for
 * what can be edited, and landscape pages with the header on each. `rows`, `cutCells` and `notes` are final when
 * `xml` ended.
 */
class Worksheet {
  /** Rows under the header. */
  rows = 0;
  /** Cells whose text was too long and was cut. */
  cutCells = 0;
  readonly notes: Note[] = [];
  readonly #headerRow: number;
  readonly #columns: readonly ColumnWriter[];

  constructor(
    readonly sheet: TableSheet,
    private readonly styles: Styles,
  ) {
    this.#headerRow = sheet.headerRow ?? 1;
    const forEditing = sheet.columns.some(({ edited }) => edited);
    this.#columns = sheet.columns.map((column, at) => new ColumnWriter(column, at, forEditing, styles));
    if (sheet.columns.length > lastColumn) throw tooLarge(sheet.name, 'columns', lastColumn);
  }

  /** Where the table is, header included: A1:D9, or $A$1:$D$9. */
  range(fixed: '' | '$' = ''): string {
    const right = columnLetters(Math.max(0, this.sheet.columns.length - 1));
    return `${fixed}A${fixed}${this.#headerRow}:${fixed}${right}${fixed}${this.#lastRow}`;
  }

  /** The rows that are printed at the top of each page: $1:$1. */
  get printedTitles(): string {
    return `$${this.#headerRow}:$${this.#headerRow}`;
  }

  async *xml(selected: boolean): AsyncGenerator<string> {
    yield this.#top(selected);
    let text = `${this.#titles()}${this.#header()}`;
    let number = this.#headerRow;
    for await (const cells of this.sheet.rows) {
      number++;
      if (number > lastRowNumber) throw tooLarge(this.sheet.name, 'rows', lastRowNumber - this.#headerRow);
      this.rows++;
      text += this.#row(number, cells);
      if (text.length < chunkChars) continue;
      yield text;
      text = '';
    }
    yield `${text}</sheetData>${this.#bottom()}</worksheet>`;
  }

  get #lastRow(): number {
    return this.#headerRow + this.rows;
  }

  #top(selected: boolean): string {
    const columns = this.#columns.map(
      ({ width, column }, at) =>
        `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"${column.hidden ? ' hidden="1"' : ''}/>`,
    );
    return [
      worksheetStart,
      '<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>',
      `<sheetViews><sheetView${selected ? ' tabSelected="1"' : ''} workbookViewId="0">${this.#panes()}</sheetView></sheetViews>`,
      columns.length > 0 ? `<cols>${columns.join('')}</cols>` : '',
      '<sheetData>',
    ].join('');
  }

  #panes(): string {
    const right = Math.min(this.sheet.frozenColumns ?? 0, this.sheet.columns.length);
    const below = this.#headerRow <= frozenRows ? this.#headerRow : 0;
    const firstEdited = Math.max(
      0,
      this.sheet.columns.findIndex(({ edited }) => edited),
    );
    const active = `${columnLetters(Math.max(firstEdited, right))}${this.#headerRow + 1}`;
    const cell = (pane: string) => `<selection${pane} activeCell="${active}" sqref="${active}"/>`;
    if (right === 0 && below === 0) return cell('');
    const pane = right > 0 && below > 0 ? 'bottomRight' : right > 0 ? 'topRight' : 'bottomLeft';
    const splits = `${right > 0 ? ` xSplit="${right}"` : ''}${below > 0 ? ` ySplit="${below}"` : ''}`;
    const corner = `${columnLetters(right)}${below + 1}`;
    return `<pane${splits} topLeftCell="${corner}" activePane="${pane}" state="frozen"/>${cell(` pane="${pane}"`)}`;
  }

  #titles(): string {
    const style = this.styles.of({ bold: true, size: 14, vertical: 'center' });
    const rows = (this.sheet.titles ?? []).map(({ number, cells }) => {
      const texts = cells.flatMap((cell, at) =>
        cell === null ? [] : [textCell(`${columnLetters(at)}${number}`, style, this.#text(String(cell)))],
      );
      return `<row r="${number}">${texts.join('')}</row>`;
    });
    return rows.join('');
  }

  #header(): string {
    const row = this.#headerRow;
    const cells = this.#columns.map(({ column, letters, headerStyle }) =>
      textCell(`${letters}${row}`, headerStyle, this.#text(column.key)),
    );
    return `<row r="${row}" ht="22" customHeight="1">${cells.join('')}</row>`;
  }

  #row(number: number, cells: readonly WrittenCell[]): string {
    if (cells.length === 0) return '';
    let text = '';
    let lines = 1;
    for (const [at, column] of this.#columns.entries()) {
      const { value, tone, note } = marksOf(cells[at] ?? null);
      text += this.#cell(`${column.letters}${number}`, value, column, tone);
      if (note !== undefined) this.notes.push({ column: at, row: number, text: this.#text(note) });
      if (column.column.wrap && typeof value === 'string')
        lines = Math.max(lines, linesOf(value, column.width));
    }
    // Excel measures a row without a height when it opens the file, LibreOffice leaves it at one line.
    const height = lines > 1 ? ` ht="${Math.min(lines, maxLines) * lineHeight}"` : '';
    return `<row r="${number}"${height}>${text}</row>`;
  }

  #cell(address: string, cell: Cell, column: ColumnWriter, tone: Tone | undefined): string {
    const style = (type: SheetColumn['type']) => column.style(type, tone);
    // A cell without a value only shows its column's colours.
    if (cell === null || cell === '')
      return column.coloured ? `<c r="${address}" s="${style(column.column.type)}"/>` : '';
    if (typeof cell === 'boolean')
      return `<c r="${address}" s="${style('boolean')}" t="b"><v>${cell ? 1 : 0}</v></c>`;
    if (typeof cell === 'number' && Number.isFinite(cell)) {
      const type = column.column.type === 'count' ? 'count' : 'number';
      return `<c r="${address}" s="${style(type)}"><v>${cell}</v></c>`;
    }
    if (cell instanceof Date) {
      const days = daysOf(cell);
      const midnight = cell.getTime() % 86_400_000 === 0 && column.column.type !== 'time';
      if (days !== undefined)
        return `<c r="${address}" s="${style(midnight ? 'date' : 'time')}"><v>${days}</v></c>`;
      return textCell(address, style('text'), cell.toISOString());
    }
    return textCell(address, style('text'), this.#text(String(cell)));
  }

  #text(text: string): string {
    const { text: written, cut } = workbookText(text, { exact: this.sheet.exactText ?? false });
    if (cut) this.cutCells++;
    return written;
  }

  /** The parts after the cells, in the order that the format requires: Excel calls a file with another order corrupt. */
  #bottom(): string {
    const rules = this.#validations();
    return [
      this.sheet.columns.length > 0 ? `<autoFilter ref="${this.range()}"/>` : '',
      ...this.#markedEdits(),
      rules.length > 0 ? `<dataValidations count="${rules.length}">${rules.join('')}</dataValidations>` : '',
      landscapePages,
      this.sheet.hasNotes ? '<legacyDrawing r:id="rId2"/>' : '',
    ].join('');
  }

  /** Marks cells that differ from their base as text: an empty cell and an empty text are the same, FALSE and empty are not. */
  #markedEdits(): string[] {
    const { columns } = this.sheet;
    const first = this.#headerRow + 1;
    return columns.flatMap(({ edited }, at) => {
      const base = columns.findIndex(({ key }) => key === edited?.base);
      if (base === -1 || this.#lastRow < first) return [];
      const letters = columnLetters(at);
      const formula = escapedText(`$${letters}${first}&""<>$${columnLetters(base)}${first}&""`);
      return [
        `<conditionalFormatting sqref="${letters}${first}:${letters}${this.#lastRow}">` +
          `<cfRule type="expression" dxfId="0" priority="${at + 1}">` +
          `<formula>${formula}</formula></cfRule></conditionalFormatting>`,
      ];
    });
  }

  #validations(): string[] {
    const first = this.#headerRow + 1;
    return this.sheet.columns.flatMap((column, at) => {
      const choices = column.allowed ?? (column.type === 'boolean' && column.edited ? ['TRUE', 'FALSE'] : []);
      const list = choices.join(',');
      const isOffered = list.length <= longestList && !choices.some((one) => /[",]|^\s|\s$/.test(one));
      if (list === '' || !isOffered) return [];
      const letters = columnLetters(at);
      const cells = `${letters}${first}:${letters}${Math.max(this.#lastRow, first)}`;
      const message = escapedAttribute(`Choose one of: ${choices.join(', ')}`.slice(0, 220));
      return [
        `<dataValidation type="list" allowBlank="1" showInputMessage="1" showErrorMessage="1"` +
          ` errorTitle="${escapedAttribute(column.key.slice(0, 31))}" error="${message}" sqref="${cells}">` +
          `<formula1>${escapedText(`"${list}"`)}</formula1></dataValidation>`,
      ];
    });
  }
}

/** The common properties of a column's cells. */
class ColumnWriter {
  readonly letters: string;
  readonly width: number;
  readonly headerStyle: number;
  /** Whether a cell without a value has colours as well. */
  readonly coloured: boolean;
  readonly #styles = new Map<string, number>();

  constructor(
    readonly column: SheetColumn,
    at: number,
    private readonly forEditing: boolean,
    private readonly all: Styles,
  ) {
    const { key, width = 14, edited } = column;
    this.letters = columnLetters(at);
    this.width = Math.max(width, key.length + filterButton);
    this.coloured = forEditing;
    this.headerStyle = all.of({
      ...(edited ? colours.editableHeader : colours.header),
      bold: true,
      format: '@',
      vertical: 'center',
      lines: true,
    });
  }

  style(type: SheetColumn['type'], tone?: Tone): number {
    const known = this.#styles.get(`${type} ${tone}`);
    if (known !== undefined) return known;
    const { edited, wrap, faint } = this.column;
    const style = this.all.of({
      ...(this.forEditing && { ...(edited ? colours.editable : colours.grey), lines: true }),
      ...(faint && { color: colours.faint, size: 9 }),
      ...(tone && toneColours[tone]),
      ...(type in formats && { format: formats[type] }),
      ...(type === 'boolean' && { align: 'center' }),
      // A number at the edge of its cell runs into the text beside it.
      ...(type === 'count' && { align: 'right', indent: 1 }),
      ...(wrap && { wrap }),
      vertical: 'top',
    });
    this.#styles.set(`${type} ${tone}`, style);
    return style;
  }
}

/** Text has a format of its own, so that editing it does not turn it into a formula. */
const formats: Readonly<Partial<Record<SheetColumn['type'], string>>> = {
  text: '@',
  count: '#,##0',
  // Under the general format, LibreOffice shows some booleans as 0 and 1. Under this one, it saves them as 0 and 1.
  boolean: '"TRUE";"TRUE";"FALSE"',
  date: 'yyyy-mm-dd',
  time: 'yyyy-mm-dd hh:mm:ss',
};

const worksheetStart = `${xmlStart}<worksheet xmlns="${main}" xmlns:r="${office}">`;

/** All columns on the width of a page, as many pages as the rows need. */
const landscapePages =
  '<pageMargins left="0.4" right="0.4" top="0.5" bottom="0.6" header="0.3" footer="0.3"/>' +
  '<pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/>' +
  '<headerFooter><oddFooter>&amp;L&amp;A&amp;R&amp;P / &amp;N</oddFooter></headerFooter>';

/** A text cell. The text is in the cell itself: a table of all texts would be in memory until the end. */
function textCell(address: string, style: number, text: string): string {
  const space = /^\s|\s$|\s\s|[\n\t]/.test(text) ? ' xml:space="preserve"' : '';
  return `<c r="${address}" s="${style}" t="inlineStr"><is><t${space}>${escapedText(text)}</t></is></c>`;
}

/** Points of a line of text. */
const lineHeight = 15;

/** A row is not higher than this: a single long text would fill the window. */
const maxLines = 8;

/** The lines that a text needs in a column, wrapped between words: an estimate, because only a font knows. */
function linesOf(text: string, width: number): number {
  // A column is measured in digits, and letters are narrower on average.
  const room = width * 1.14;
  let lines = 0;
  for (const paragraph of text.split('\n', maxLines)) {
    let used = 0;
    lines++;
    for (const word of paragraph.split(' ')) {
      const length = widthOf(word);
      if (used > 0 && used + 1 + length > room) {
        lines++;
        used = 0;
      }
      used += (used > 0 ? 1 : 0) + length;
      lines += Math.floor(used / room);
      used %= room;
    }
    if (lines >= maxLines) break;
  }
  return lines;
}

/** Chinese, Japanese and Korean characters and emoji are as wide as two others. */
function widthOf(word: string): number {
  return (
    word.length +
    (word.match(/[\u1100-\u11FF\u2E80-\uA4CF\uAC00-\uD7AF\uF900-\uFAFF\uFF00-\uFF60]/g)?.length ?? 0)
  );
}

/** The days since 1899-12-30; undefined for a date that spreadsheet programs count differently, or cannot show. */
function daysOf(date: Date): number | undefined {
  const days = (date.getTime() - Date.UTC(1899, 11, 30)) / 86_400_000;
  return days >= 61 && days < 2_958_466 ? days : undefined;
}

function tooLarge(name: string, what: 'rows' | 'columns', limit: number): UsageError {
  const most = limit.toLocaleString('en-US');
  return new UsageError(`${name} has more than ${most} ${what}, the limit of a sheet in an .xlsx file`, [], {
    hint: 'Write it as .csv or .parquet, or export a part of it with --query.',
  });
}

/** A note (Excel: comment) that a spreadsheet program shows beside a cell. */
interface Note {
  /** Counted from 0. */
  readonly column: number;
  /** Counted from 1. */
  readonly row: number;
  readonly text: string;
}

/** The texts of the notes of a sheet: xl/comments1.xml. */
function* notesXml(notes: readonly Note[]): Generator<string> {
  yield `${xmlStart}<comments xmlns="${main}"><authors><author>Signalhouse</author></authors><commentList>`;
  for (const { column, row, text } of notes)
    yield `<comment ref="${cellAddress(column, row)}" authorId="0"><text><t xml:space="preserve">${escapedText(text)}</t></text></comment>`;
  yield '</commentList></comments>';
}

/** Where the notes are drawn: without it, Excel shows none. LibreOffice and openpyxl need only the texts. */
function* drawingXml(notes: readonly Note[]): Generator<string> {
  yield '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:x="urn:schemas-microsoft-com:office:excel">';
  yield '<o:shapelayout v:ext="edit"><o:idmap v:ext="edit" data="1"/></o:shapelayout>';
  yield '<v:shapetype id="_x0000_t202" coordsize="21600,21600" o:spt="202" path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/><v:path gradientshapeok="t" o:connecttype="rect"/></v:shapetype>';
  for (const [at, { column, row }] of notes.entries()) {
    // From the column beside the cell, two columns and four rows large.
    const anchor = [column + 1, 15, Math.max(0, row - 2), 4, column + 3, 15, row + 2, 4].join(',');
    yield `<v:shape id="_x0000_s${1025 + at}" type="#_x0000_t202" style="position:absolute;visibility:hidden" fillcolor="#ffffe1" o:insetmode="auto">` +
      '<v:fill color2="#ffffe1"/><v:path o:connecttype="none"/><v:textbox style="mso-direction-alt:auto"/>' +
      `<x:ClientData ObjectType="Note"><x:MoveWithCells/><x:SizeWithCells/><x:Anchor>${anchor}</x:Anchor>` +
      `<x:AutoFill>False</x:AutoFill><x:Row>${row - 1}</x:Row><x:Column>${column}</x:Column></x:ClientData></v:shape>`;
  }
  yield '</xml>';
}
