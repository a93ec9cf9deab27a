import {
  findElement,
  replaceElement,
  sanitizeAttributeValue,
  sanitizeTextContent,
} from 'write-excel-file/utility';
import { columnLetters } from './address.js';
import type { SheetColumn } from './spec.js';

/** Where the table lies in its sheet; rows from 1. */
export interface Laid {
  readonly sheet: string;
  readonly columns: readonly SheetColumn[];
  readonly headerRow: number;
  readonly lastRow: number;
}

/** The sheet, hidden, for lists that are too long to stand within a rule. */
export const listsSheet = 'Lists';

/** Excel takes a list within a rule up to this many characters, and parts it at commas. */
const longestInlineList = 255;

/** What a column lets a person choose from; undefined for anything. */
export function choicesOf({ allowed, type, edited }: SheetColumn): readonly string[] | undefined {
  return allowed ?? (type === 'boolean' && edited ? ['TRUE', 'FALSE'] : undefined);
}

/** The columns whose lists need a sheet of their own. */
export function longLists(columns: readonly SheetColumn[]): readonly (readonly string[])[] {
  return columns.flatMap((column) => {
    const choices = choicesOf(column);
    return choices && !fitsInline(choices) ? [choices] : [];
  });
}

/**
 * Adds the filter buttons and the lists to choose from to the XML of a sheet, in the order that the format demands of
 * what follows the cells (filter, merged cells, conditional formats, lists): another is a "corrupt" file to Excel.
 */
export function withFilterAndLists(xml: string, laid: Laid): string {
  const cells = ['</sheetData>', '<sheetData/>'];
  // The library names the pane at the bottom right, which a sheet that is parted in rows alone does not have.
  const parted = xml.replace(/ xSplit="0"( [^>]*)activePane="bottomRight"/, '$1activePane="bottomLeft"');
  const filtered = insertedAfter(parted, cells, `<autoFilter ref="${tableRange(laid, '')}"/>`);
  const rules = validations(laid);
  if (rules.length === 0) return filtered;
  const before = ['</conditionalFormatting>', '</mergeCells>', '<autoFilter [^>]*>'];
  const markup = `<dataValidations count="${rules.length}">${rules.join('')}</dataValidations>`;
  return insertedAfter(filtered, before, markup);
}

/** Puts markup after the last of the first of `tags` that is there; texts of cells stand in another file. */
function insertedAfter(xml: string, tags: readonly string[], markup: string): string {
  for (const tag of tags) {
    const last = [...xml.matchAll(new RegExp(tag, 'g'))].at(-1);
    if (!last) continue;
    const at = last.index + last[0].length;
    return xml.slice(0, at) + markup + xml.slice(at);
  }
  throw new Error(`none of ${tags.join(' ')} is in the sheet`);
}

/** Adds to the XML of the workbook the name by which Excel knows a filtered table. */
export function withFilterName(xml: string, laid: Laid): string {
  const range = `'${laid.sheet.replaceAll("'", "''")}'!${tableRange(laid, '$')}`;
  const name = `<definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">${sanitizeTextContent(range)}</definedName>`;
  const names = `<definedNames>${name}</definedNames>`;
  const empty = findElement(xml, 'definedNames');
  if (!empty) throw new Error('the workbook has no place for names');
  return replaceElement(xml, empty, names);
}

/** A1:D9, or $A$1:$D$9. */
function tableRange({ columns, headerRow, lastRow }: Laid, fixed: '' | '$'): string {
  const right = columnLetters(Math.max(0, columns.length - 1));
  return `${fixed}A${fixed}${headerRow}:${fixed}${right}${fixed}${lastRow}`;
}

function validations({ columns, headerRow, lastRow }: Laid): string[] {
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
