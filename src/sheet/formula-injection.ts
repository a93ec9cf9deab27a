/**
 * A spreadsheet program runs a CSV cell as a formula when it begins with = + - @ (also in full width), a tab or a line
 * break, with or without blanks before it. An apostrophe in front prevents that. Text that already begins with
 * apostrophes and such a character gets one more, which makes the rule exact: `withoutMark(neutralized(text))` is `text`
 * for every text. What a person types by hand (`'high`, `'90s`) is not such text and stays as it is.
 *
 * A text cell of a workbook is never run, so it needs no apostrophe: `markedForWorkbook` marks only text from which
 * `withoutMark` would otherwise remove one. One rule therefore reads both formats, and a file that a spreadsheet program
 * saved in the other format still gives the same text.
 */
const formula = /^'*\s*[=+\-@\t\r\n＝＋－＠]/u;
const marked = /^'+\s*[=+\-@\t\r\n＝＋－＠]/u;

/** Text as it is written into a CSV file. */
export function neutralized(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

/** Text as it is written into a text cell of a workbook. */
export function markedForWorkbook(text: string): string {
  return marked.test(text) ? `'${text}` : text;
}

/** The text that `neutralized` or `markedForWorkbook` was given. */
export function withoutMark(text: string): string {
  return marked.test(text) ? text.slice(1) : text;
}
