import type { Cell } from './grid.js';
import { maxCellChars } from './limits.js';

/** Control characters, half characters and what Unicode keeps out of text; XML cannot hold them. */
const impossible = /[^\P{Cc}\t\n\r\x7f-\x9f]|[\p{Cs}\uFFFE\uFFFF]/gu;

/** Text that any file can hold: no spreadsheet program shows what is left out. */
export function showable(text: string): string {
  return text.replace(impossible, '');
}

/** Text that fits into one cell: longer text ends with an ellipsis, and never within a character. */
export function fitting(text: string): string {
  if (text.length <= maxCellChars) return text;
  return `${text.slice(0, maxCellChars - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** What stands in a text file for a value that is not text. */
export function plain(cell: Exclude<Cell, string>): string {
  if (cell === null) return '';
  if (cell instanceof Date) return cell.toISOString();
  return typeof cell === 'boolean' ? (cell ? 'TRUE' : 'FALSE') : String(cell);
}
