/**
 * A cell of a CSV file that begins with = + - @ (also in full width), a tab or a line break is a formula for a
 * spreadsheet program, also after blanks. It is neutralised by an apostrophe in front; so is text that already begins
 * with apostrophes and such a sign, which makes the rule exact: `original(neutral(text))` is `text` for every text,
 * and what a person typed by hand (`'high`, `'90s`) is no such text and stays.
 *
 * A text cell of a workbook is never run, so it needs no apostrophe: there `inWorkbook` marks only text that
 * `original` would otherwise take one from. That way one rule reads both, and a file that a spreadsheet program saved
 * in the other format still gives the same text.
 */
const formula = /^'*\s*[=+\-@\t\r\n＝＋－＠]/u;
const marked = /^'+\s*[=+\-@\t\r\n＝＋－＠]/u;

/** Text as it may stand in a CSV file. */
export function neutral(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

/** Text as it may stand in a text cell of a workbook. */
export function inWorkbook(text: string): string {
  return marked.test(text) ? `'${text}` : text;
}

/** What `neutral` or `inWorkbook` was given. */
export function original(text: string): string {
  return marked.test(text) ? text.slice(1) : text;
}
