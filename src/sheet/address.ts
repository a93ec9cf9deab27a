/** The letters of a column as a spreadsheet program shows them: 0 is A, 26 is AA. */
export function columnLetters(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}

/** `B7` for column 1 in row 7. */
export function address(column: number, row: number): string {
  return `${columnLetters(column)}${row}`;
}

/** The place that `B7` or `$B$7` names, the column from 0 and the row from 1; undefined when it names none. */
export function placeOf(text: string): { column: number; row: number } | undefined {
  const parts = /^\$?([A-Z]{1,7})\$?([0-9]{1,9})$/i.exec(text);
  const [letters, digits] = [parts?.[1], parts?.[2]];
  if (letters === undefined || digits === undefined) return undefined;
  let column = 0;
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return { column: column - 1, row: Number(digits) };
}

/** A rectangle of cells, both corners included; columns from 0, rows from 1. */
export interface Range {
  readonly text: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The rectangle that `B2:D2` names; undefined when it names none. */
export function rangeOf(text: string): Range | undefined {
  const [from = '', to = from] = text.split(':');
  const [a, b] = [placeOf(from), placeOf(to)];
  return a && b && { text, left: a.column, top: a.row, right: b.column, bottom: b.row };
}
