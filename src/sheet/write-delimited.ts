import type { FileHandle } from 'node:fs/promises';
import { fitting, plain, showable } from './cell-text.js';
import type { Cell, Separator } from './grid.js';
import { neutral } from './neutral.js';

/** Large enough that writing is few calls, small enough to be no matter. */
const pieceChars = 256 * 1024;

export interface DelimitedOptions {
  readonly separator: Separator;
  /** Text that is a plain number is left as it is, although it may begin with a minus. */
  readonly numbersAsText?: boolean;
}

/** Writes rows as Excel takes them without asking: UTF-8 with its mark, CRLF, and no cell that is a formula. */
export async function writeDelimited(
  file: FileHandle,
  rows: Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>,
  options: DelimitedOptions,
): Promise<void> {
  let piece = '\uFEFF';
  for await (const row of rows) {
    piece += `${row.map((cell) => written(cell, options)).join(options.separator)}\r\n`;
    if (piece.length < pieceChars) continue;
    await file.appendFile(piece);
    piece = '';
  }
  await file.appendFile(piece);
}

function written(cell: Cell, { separator, numbersAsText }: DelimitedOptions): string {
  if (typeof cell !== 'string') return plain(cell);
  const harmless = numbersAsText && /^-?\d+([.,]\d+)?$/.test(cell);
  const text = harmless ? cell : fitting(neutral(showable(cell)));
  const quoted = text.includes(separator) || /["\r\n]|^\s|\s$/.test(text);
  return quoted ? `"${text.replaceAll('"', '""')}"` : text;
}
