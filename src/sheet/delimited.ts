import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import { decoded } from './encoding.js';
import { refuseForeign } from './form.js';
import { Gathered } from './gather.js';
import type { Grid, Separator } from './grid.js';
import { maxCellChars } from './limits.js';
import { original } from './neutral.js';
import { refusal } from './refusal.js';

/** In the order in which they win when the header holds as many of one as of another. */
const separators: readonly Separator[] = ['\t', ';', ',', '|'];

/** Small enough that other work of the process goes on while a large file is parsed. */
const sliceBytes = 64 * 1024;

/** Characters of one row, above which a file is no table: a quote was opened and never closed. */
const maxRowChars = 500 * maxCellChars;

/**
 * Reads text with separators: RFC 4180, with any line ends, stray quotes, and rows of any width. The separator is the
 * one that stands most often in the first row outside quotes, or what Excel's `sep=;` in the first line says.
 */
export async function readDelimited(bytes: Uint8Array, name: string): Promise<Grid> {
  const { text, note } = decoded(bytes);
  refuseForeign(text, name);
  const gathered = new Gathered(name);
  if (note !== undefined) gathered.note(note);
  const said = /^\uFEFF?sep=([,;\t|])(\r\n|\n|\r|$)/i.exec(text);
  const body = said ? text.slice(said[0].length) : text.replace(/^\uFEFF/, '');
  const separator = (said?.[1] as Separator | undefined) ?? separatorOf(body);

  let number = 0;
  const parser = parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: maxRowChars,
    // Rows are taken here, and none is handed on: a file of a million blank lines costs no memory.
    on_record: (record: string[]) => {
      number++;
      const cells = record.map((cell) => (cell === '' ? null : original(cell)));
      gathered.add(number, cells);
      return null;
    },
  });
  try {
    await pipeline(Readable.from(slices(Buffer.from(body))), parser, async (records) => {
      for await (const _ of records) throw new Error('on_record kept a row');
    });
  } catch (error) {
    throw error instanceof CsvError ? broken(error, number + 1, name) : error;
  }
  return gathered.grid([], separator);
}

function separatorOf(text: string): Separator {
  const counts = new Map<string, number>();
  let quoted = false;
  let filled = false;
  for (const sign of text) {
    if (sign === '"') quoted = !quoted;
    if (quoted) continue;
    if (sign === '\n' || sign === '\r') {
      if (filled) break;
    } else if (separators.includes(sign as Separator)) {
      counts.set(sign, (counts.get(sign) ?? 0) + 1);
    } else if (sign.trim() !== '') filled = true;
  }
  const most = Math.max(0, ...counts.values());
  return (most > 0 && separators.find((one) => counts.get(one) === most)) || ',';
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

function broken(error: CsvError, row: number, name: string): Error {
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    const hint = 'Is a quote (") missing before it, or are the line breaks between the rows gone?';
    return refusal(name, `has a row ${row} that is longer than that of any table`, hint, error);
  }
  return refusal(
    name,
    `cannot be read from row ${row} on: a quote (") opens a cell there and is never closed`,
    'Close the quote, or write it twice ("") when it belongs to the text.',
    error,
  );
}
