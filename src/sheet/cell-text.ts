import { markedForWorkbook } from './formula-injection.js';
import { maxCellChars } from './grid.js';

/** Control characters, lone surrogates and code points that are not characters: XML cannot contain them. */
const impossible = /[^\P{Cc}\t\n\r\x7f-\x9f]|[\p{Cs}\uFFFE\uFFFF]/gu;

/** Text that any file format can contain. No spreadsheet program shows what is removed. */
export function withoutControls(text: string): string {
  return text.replace(impossible, '');
}

/** Text that fits into one cell. Longer text is cut, never within a character, and ends with an ellipsis. */
export function cutToCell(text: string): string {
  if (text.length <= maxCellChars) return text;
  return `${text.slice(0, maxCellChars - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Characters that an XML parser changes, or that XML discourages: a workbook writes them as `_x000D_`. */
const delicate = /[\r\x7f-\x9f\uFDD0-\uFDEF\uFFFD]/g;

const escaped = (character: string) =>
  `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;

/**
 * Text as it goes into the XML of a workbook, before the XML escapes, and whether it had to be cut. `exact` is for
 * programs: without the mark that our own reader takes away again.
 */
export function workbookText(
  text: string,
  { exact }: { readonly exact: boolean },
): { text: string; cut: boolean } {
  const clean = withoutControls(text);
  const whole = exact ? clean : markedForWorkbook(clean);
  const written = cutToCell(whole)
    .replace(/_x(?=[0-9a-f]{4}_)/gi, '_x005F_x')
    .replace(delicate, escaped);
  return { text: written, cut: whole.length > maxCellChars };
}
