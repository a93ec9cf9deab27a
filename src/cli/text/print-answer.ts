import type { Json } from '../../base/json.js';
import { print, tableWidth } from '../output.js';
import {
  type AnswerColumn,
  answerTable,
  csvLine,
  markdownLine,
  markdownRule,
  uniqueNames,
} from './answer.js';

export const answerFormats = ['table', 'csv', 'json', 'markdown'] as const;
export type AnswerFormat = (typeof answerFormats)[number];

export interface PrintableAnswer {
  readonly columns: readonly AnswerColumn[];
  readonly rows: AsyncIterable<readonly Json[]>;
}

/** Written at once: a write for each of a million lines takes its time. */
const pieceLength = 1 << 16;

/**
 * Prints an answer as its rows come, in bounded memory (a table, which has to know how wide it gets, holds those up to
 * the limit). Gives the rows that were printed, and whether there are more than `limit`.
 */
export async function printAnswer(
  { columns, rows }: PrintableAnswer,
  format: AnswerFormat,
  limit: number,
): Promise<{ printed: number; more: boolean }> {
  const out = new Pieces();
  const held: (readonly Json[])[] = [];
  const names = uniqueNames(columns);
  if (format === 'csv') out.add(`${csvLine(columns.map(({ name }) => name))}\n`);
  if (format === 'markdown')
    out.add(`${markdownLine(columns.map(({ name }) => name))}\n${markdownRule(columns)}\n`);
  let printed = 0;
  let more = false;
  for await (const row of rows) {
    if (printed === limit) {
      more = true;
      break;
    }
    if (format === 'table') held.push(row);
    else if (format === 'csv') out.add(`${csvLine(row)}\n`);
    else if (format === 'markdown') out.add(`${markdownLine(row)}\n`);
    else out.add(`${printed === 0 ? '[\n' : ',\n'}${objectOf(names, row)}`);
    printed++;
  }
  if (format === 'table') out.add(`${answerTable(columns, held, tableWidth())}\n`);
  if (format === 'json') out.add(printed === 0 ? '[]\n' : '\n]\n');
  out.flush();
  return { printed, more };
}

function objectOf(names: readonly string[], row: readonly Json[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
}

/** Text gathered to larger pieces. */
class Pieces {
  #held = '';

  add(text: string): void {
    this.#held += text;
    if (this.#held.length >= pieceLength) this.flush();
  }

  flush(): void {
    if (this.#held !== '') print(this.#held);
    this.#held = '';
  }
}
