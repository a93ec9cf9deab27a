import type { Json } from '../base/json.js';
import { count, counted } from '../base/units.js';
import type { Answer } from '../warehouse/read/query.js';

/** How much of an answer an assistant gets: what it reads costs money and attention. */
export interface Bounds {
  readonly rows: number;
  /** The longest text of one value. */
  readonly cell: number;
}

/** The most characters of one answer. */
const mostCharacters = 30_000;

/**
 * The first rows of an answer as a Markdown table, within bounds. Reads no further than it shows, and says when there is
 * more and how to get it.
 */
export async function tableText({ columns, rows }: Answer, { rows: most, cell }: Bounds): Promise<string> {
  if (columns.length === 0) return 'Done; the statement returns no rows.';
  const lines = [row(columns.map(({ name }) => name)), row(columns.map(() => '---'))];
  let length = 0;
  let shown = 0;
  let cut = 0;
  let why = '';
  for await (const values of rows) {
    if (shown === most) why = 'ask for more with max_rows, or narrow the query';
    const texts = values.map((value) => shownText(value, cell, () => (cut += 1)));
    const line = row(texts);
    if (length + line.length > mostCharacters) why = 'this answer would be too long: select fewer columns';
    if (why !== '') break;
    lines.push(line);
    length += line.length + 1;
    shown += 1;
  }
  if (shown === 0 && why === '') return `No rows. Columns: ${columns.map(({ name }) => name).join(', ')}.`;
  const total =
    why === '' ? `${counted(shown, 'row')}.` : `The first ${count(shown)} rows; there are more (${why}).`;
  const shortened =
    cut === 0 ? '' : ` ${counted(cut, 'long value')} cut (…): raise max_cell to read all of it.`;
  return `${lines.join('\n')}\n\n${total}${shortened}`;
}

function shownText(value: Json, most: number, onCut: () => void): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  if (text.length <= most) return text;
  onCut();
  return `${text.slice(0, most)}…`;
}

/** One line of Markdown: what a value contains cannot end its cell or its row, not even with a backslash of its own. */
function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ⏎ ').replace(/(\\*)\|/g, '$1$1\\|')).join(' | ')} |`;
}
