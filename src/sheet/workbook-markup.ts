import {
  findElement,
  replaceElement,
  sanitizeAttributeValue,
  sanitizeTextContent,
} from 'write-excel-file/utility';
import { columnLetters } from './cell-address.js';
import type { SheetColumn } from './spec.js';

/** Where the table is in its sheet; rows from 1. */
export interface TablePosition {
  readonly sheet: string;
  readonly columns: readonly SheetColumn[];
  readonly headerRow: number;
  readonly lastRow: number;
}

/** The hidden sheet for lists that are too long for a validation rule. */
export const listsSheet = 'Lists';

/** Excel accepts a list of up to this many characters in a rule, and splits it at commas. */
const longestInlineList = 255;

/** The choices of a column; undefined when any value is allowed. */
function choicesOf({ allowed, type, edited }: SheetColumn): readonly string[] | undefined {
  return allowed ?? (type === 'boolean' && edited ? ['TRUE', 'FALSE'] : undefined);
}

/** The lists that are too long for a rule. */
export function longLists(columns: readonly SheetColumn[]): readonly (readonly string[])[] {
  return columns.flatMap((column) => {
    const choices = choicesOf(column);
    return choices && !fitsInline(choices) ? [choices] : [];
  });
}

/**
 * Adds the filter buttons and the drop-down lists to the XML of a sheet, in the order that the format requires after the
 * cells (filter, merged cells, conditional formats, lists): Excel calls a file with another order corrupt.
 */
export function withFilterAndLists(xml: string, table: TablePosition): string {
  const cells = ['</sheetData>', '<sheetData/>'];
  // The library names the pane at the bottom right, which a sheet that is split only by rows does not have.
  const split = xml.replace(/ xSplit="0"( [^>]*)activePane="bottomRight"/, '$1activePane="bottomLeft"');
  const filtered = insertedAfter(split, cells, `<autoFilter ref="${tableRange(table, '')}"/>`);
  const rules = validations(table);
  if (rules.length === 0) return filtered;
  const before = ['</conditionalFormatting>', '</mergeCells>', '<autoFilter [^>]*>'];
  const markup = `<dataValidations count="${rules.length}">${rules.join('')}</dataValidations>`;
  return insertedAfter(filtered, before, markup);
}

/** Inserts markup after the last occurrence of the first of `tags` that occurs; texts of cells are in another file. */
function insertedAfter(xml: string, tags: readonly string[], markup: string): string {
  for (const tag of tags) {
    const last = [...xml.matchAll(new RegExp(tag, 'g'))].at(-1);
    if (!last) continue;
    const at = last.index + last[0].length;
    return xml.slice(0, at) + markup + xml.slice(at);
  }
  throw new Error(`the sheet has none of ${tags.join(' ')}`);
}

/** Adds the defined name that Excel expects for a filtered table to the XML of the workbook. */
export function withFilterName(xml: string, table: TablePosition): string {
  const range = `'${table.sheet.replaceAll("'", "''")}'!${tableRange(table, '$')}`;
  const name = `<definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">${sanitizeTextContent(range)}</definedName>`;
  const names = `<definedNames>${name}</definedNames>`;
  const empty = findElement(xml, 'definedNames');
  if (!empty) throw new Error('the workbook has no place for names');
  return replaceElement(xml, empty, names);
}

/** A1:D9, or $A$1:$D$9. */
function tableRange({ columns, headerRow, lastRow }: TablePosition, fixed: '' | '$'): string {
  const right = columnLetters(Math.max(0, columns.length - 1));
  return `${fixed}A${fixed}${headerRow}:${fixed}${right}${fixed}${lastRow}`;
}

function validations({ columns, headerRow, lastRow }: TablePosition): string[] {
  let list = 0;
  return columns.flatMap((column, at) => {
    const choices = choicesOf(column);
    if (!choices) return [];
    const letters = columnLetters(at);
    const cells = `${letters}${headerRow + 1}:${letters}${Math.max(lastRow, headerRow + 1)}`;
    const from = fitsInline(choices) ? `"${choices.join(',')}"` : listRange(list++, choices.length);
    const message = sanitizeAttributeValue(`Choose one of: ${choices.join(', ')}`.slice(0, 220));
    return [
      `<dataValidation type="list" allowBlank="1" showInputMessage="1" showErrorMessage="1"` +
        ` errorTitle="${sanitizeAttributeValue(column.key.slice(0, 31))}" error="${message}" sqref="${cells}">` +
        `<formula1>${sanitizeTextContent(from)}</formula1></dataValidation>`,
    ];
  });
}

function fitsInline(choices: readonly string[]): boolean {
  return choices.join(',').length <= longestInlineList && !choices.some((one) => /[",]|^\s|\s$/.test(one));
}

function listRange(list: number, length: number): string {
  const letters = columnLetters(list);
  return `${listsSheet}!$${letters}$1:$${letters}$${length}`;
}
