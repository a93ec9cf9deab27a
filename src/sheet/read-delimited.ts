import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import { withoutMark } from './formula-injection.js';
import { type Grid, GridBuilder, maxCellChars, type Separator, saveAsHint, sheetError } from './grid.js';

/** In the order in which they win when the header has as many of one as of another. */
const separators: readonly Separator[] = ['\t', ';', ',', '|'];

/** Small enough that other work of the process continues while a large file is parsed. */
const sliceBytes = 64 * 1024;

/** Characters of one row. A longer row means that a quote was opened and never closed. */
const maxRowChars = 500 * maxCellChars;

/**
 * Reads text with separators: RFC 4180, with any line ends, stray quotes, and rows of any width. The separator is the
 * most frequent one in the first row outside quotes, or the one in Excel's `sep=;` on the first line.
 */
export async function readDelimited(bytes: Uint8Array, name: string): Promise<Grid> {
  const { text, note } = textOfBytes(bytes);
  refuseOtherFormats(text, name);
  const builder = new GridBuilder(name);
  if (note !== undefined) builder.note(note);
  const declared = /^\uFEFF?sep=([,;\t|])(\r\n|\n|\r|$)/i.exec(text);
  const body = declared ? text.slice(declared[0].length) : text.replace(/^\uFEFF/, '');
  const separator = (declared?.[1] as Separator | undefined) ?? separatorOf(body);

  let number = 0;
  const parser = parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: maxRowChars,
    // Takes each row here and passes none on: a file of a million blank lines costs no memory.
    on_record: (record: string[]) => {
      number++;
      const cells = record.map((cell) => (cell === '' ? null : withoutMark(cell)));
      builder.add(number, cells);
      return null;
    },
  });
  try {
    await pipeline(Readable.from(slices(Buffer.from(body))), parser, async (records) => {
      for await (const _ of records) throw new Error('on_record kept a row');
    });
  } catch (error) {
    throw error instanceof CsvError ? parseError(error, number + 1, name) : error;
  }
  return builder.grid([], separator);
}

/**
 * Decodes UTF-8 (with or without a byte order mark) and UTF-16 (with one). Anything that is not valid UTF-8 is read as
 * Windows-1252, which Excel writes as "CSV" in western countries and which fits any bytes; the note then says so.
 */
export function textOfBytes(bytes: Uint8Array): { readonly text: string; readonly note?: string } {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: new TextDecoder('utf-16le').decode(bytes) };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: new TextDecoder('utf-16be').decode(bytes) };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return {
      text: fromWindows1252(bytes),
      note: 'The file is not UTF-8 and was read as Windows-1252: check letters with accents before you continue.',
    };
  }
}

/** The characters of Windows-1252 from 0x80 to 0x9f, where Latin-1 has control characters; five are undefined. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Node's own decoder of this name gives Latin-1 in some releases (20.20 is one): dashes and the euro would be lost. */
function fromWindows1252(bytes: Uint8Array): string {
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return latin1.replace(/[\x80-\x9f]/g, (character) => windows1252.charAt(character.charCodeAt(0) - 0x80));
}

/** Raises UsageError when the text is another kind of file with the name of a spreadsheet. */
function refuseOtherFormats(text: string, name: string): void {
  if (/^\s*<(!doctype|html|table|head|body|\?xml|meta)\b/i.test(text.slice(0, 1024))) {
    throw sheetError(
      name,
      'is a web page or XML, not a spreadsheet (some programs save such files as .xls)',
      saveAsHint,
    );
  }
  // A picture, a program, or text in an encoding without a byte order mark. One control character alone proves nothing.
  const start = text.slice(0, 4096);
  const controls = start.match(/[^\P{Cc}\s]/gu)?.length ?? 0;
  if (start.includes('\0') || controls * 50 > start.length) {
    throw sheetError(
      name,
      'is not a spreadsheet: it contains bytes that are not text',
      'Save it as .xlsx, or as text ("CSV UTF-8").',
    );
  }
}

function separatorOf(text: string): Separator {
  const counts = new Map<string, number>();
  let isQuoted = false;
  let hasText = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === '\n' || character === '\r') {
      if (hasText) break;
    } else if (separators.includes(character as Separator)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    } else if (character.trim() !== '') hasText = true;
  }
  const most = Math.max(0, ...counts.values());
  return (most > 0 && separators.find((one) => counts.get(one) === most)) || ',';
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

function parseError(error: CsvError, row: number, name: string): Error {
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    const hint = 'Is a quote (") missing before it, or are the line breaks between the rows missing?';
    return sheetError(name, `has a row that is too long (row ${row})`, hint, error);
  }
  return sheetError(
    name,
    `has a quote (") in row ${row} that is never closed`,
    'Close the quote, or write it twice ("") when it is part of the text.',
    error,
  );
}
