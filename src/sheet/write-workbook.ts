import type { FileHandle } from 'node:fs/promises';
import writeExcelFile, { type CellObject, type Row } from 'write-excel-file/node';
import { columnLetters } from './cell-address.js';
import { workbookText } from './cell-text.js';
import type { Cell } from './grid.js';
import { howToSheet, type SheetColumn, type SheetSpec } from './spec.js';
import {
  listsSheet,
  longLists,
  type TablePosition,
  withFilterAndLists,
  withFilterName,
} from './workbook-markup.js';

const colours = { header: '#dde3ea', greyFill: '#f4f4f4', greyText: '#8a8a8a', edited: '#ffe699' };

/** A header further down is not frozen: it would leave no room for the table. */
const frozenRows = 5;

/**
 * Writes a workbook: the table with a frozen, bold header, filters, drop-down lists and coloured edits, and the sheet
 * "How to use". All rows are in memory before they are written. `headerRow` leaves blank rows above the header.
 */
export async function writeWorkbook(
  file: FileHandle,
  sheet: SheetSpec & { readonly headerRow?: number },
): Promise<void> {
  const headerRow = sheet.headerRow ?? 1;
  const data: Row[] = Array.from({ length: headerRow - 1 }, () => []);
  data.push(sheet.columns.map(headerCell));
  for await (const row of sheet.rows)
    data.push(sheet.columns.map((column, at) => styled(row[at] ?? null, column)));
  const position: TablePosition = {
    sheet: sheet.name,
    columns: sheet.columns,
    headerRow,
    lastRow: data.length,
  };

  const edited = edits(position);
  const table = {
    data,
    sheet: sheet.name,
    columns: sheet.columns.map(({ width }) => ({ width: width ?? 14 })),
    // An empty list would be a corrupt file.
    ...(edited.length > 0 && { conditionalFormatting: edited }),
    ...(headerRow <= frozenRows && { stickyRowsCount: headerRow }),
  };
  const lists = longLists(sheet.columns);
  const sheets = [
    table,
    ...(sheet.howTo ? [{ data: howTo(sheet.howTo), sheet: howToSheet, columns: [{ width: 110 }] }] : []),
    ...(lists.length > 0 ? [{ data: columnsOf(lists), sheet: listsSheet }] : []),
  ];
  const workbook = writeExcelFile(sheets, {
    features: [tableFeature(position)],
    fontFamily: 'Calibri',
    fontSize: 11,
  });
  await file.writeFile(await workbook.toBuffer());
}

/** What the library does not write itself: it passes the XML of each file of the workbook through here. */
function tableFeature(position: TablePosition) {
  return {
    files: {
      transform: {
        'xl/worksheets/sheet{id}.xml': {
          transform: (xml: string, _options: unknown, { sheetIndex }: { sheetIndex: number }) =>
            sheetIndex === 0 ? withFilterAndLists(xml, position) : xml,
        },
        'xl/workbook.xml': {
          transform: (xml: string) => withFilterName(xml, position),
          transformElementAttributes: (tag: string, attributes: Record<string, string | number>) =>
            tag === 'sheet' && attributes.name === listsSheet
              ? { ...attributes, state: 'hidden' }
              : attributes,
        },
      },
    },
  };
}

function headerCell({ key, grey }: SheetColumn): CellObject {
  return {
    value: workbookText(key),
    type: String,
    format: '@',
    fontWeight: 'bold',
    backgroundColor: colours.header,
    alignVertical: 'top',
    wrap: true,
    ...(grey && { textColor: colours.greyText }),
  };
}

/** A cell for the library. Text has the text format, so that editing it does not turn it into a formula. */
function styled(cell: Cell, { type, wrap, grey }: SheetColumn): CellObject {
  return {
    ...valued(cell, type),
    alignVertical: 'top',
    ...(wrap && { wrap }),
    ...(grey && { textColor: colours.greyText, backgroundColor: colours.greyFill }),
  };
}

function valued(cell: Cell, type: SheetColumn['type']): CellObject {
  if (cell === null || cell === '') return type === 'text' ? { type: String, format: '@' } : {};
  if (typeof cell === 'boolean') return { value: cell, type: Boolean };
  if (cell instanceof Date) {
    const midnight = cell.getTime() % 86_400_000 === 0 && type !== 'time';
    return { value: cell, type: Date, format: midnight ? 'yyyy-mm-dd' : 'yyyy-mm-dd hh:mm:ss' };
  }
  if (typeof cell === 'number' && Number.isFinite(cell)) return { value: cell, type: Number };
  return { value: workbookText(String(cell)), type: String, format: '@' };
}

/** Colours cells that differ from their base as text: an empty cell and an empty text are the same, FALSE and empty are not. */
function edits({ columns, headerRow, lastRow }: TablePosition) {
  const first = headerRow + 1;
  return columns.flatMap(({ edited }, at) => {
    const base = columns.findIndex(({ key }) => key === edited?.base);
    if (base === -1 || lastRow < first) return [];
    const formula = `$${columnLetters(at)}${first}&""<>$${columnLetters(base)}${first}&""`;
    const style = { backgroundColor: colours.edited };
    const cellRange = { from: { row: first, column: at + 1 }, to: { row: lastRow, column: at + 1 } };
    return [{ cellRange, condition: { formula }, style }];
  });
}

function howTo(paragraphs: readonly string[]): Row[] {
  return paragraphs.map((text, at) => [
    {
      value: workbookText(text),
      type: String,
      wrap: true,
      alignVertical: 'top' as const,
      ...(at === 0 && { fontWeight: 'bold' as const, fontSize: 14 }),
    },
  ]);
}

/** Lists side by side, one in each column. */
function columnsOf(lists: readonly (readonly string[])[]): Row[] {
  const height = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: height }, (_, row) =>
    lists.map((list) => {
      const text = list[row];
      return text === undefined ? null : { value: workbookText(text), type: String };
    }),
  );
}
