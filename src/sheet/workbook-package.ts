/// <reference path="./saxen.d.ts" />

import type { Readable } from 'node:stream';
import { Parser } from 'saxen';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';
import { SignalhouseError } from '../base/errors.js';
import { maxInflatedBytes, sheetError } from './grid.js';

/** The events of a document, in order. Names come without their namespace prefix. */
export interface XmlEvents {
  open?(name: string, attribute: (name: string) => string | undefined): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** A part of a workbook that is not valid XML, or not what the format requires. */
export class MalformedXml extends Error {}

/** Characters of one tag or text; the longest of a workbook is one cell with every character escaped. */
const longestToken = 1024 * 1024;

/** Reads XML chunk by chunk, with the memory of a single tag. Raises MalformedXml when it is not well formed. */
export async function readXml(chunks: AsyncIterable<Uint8Array>, events: XmlEvents): Promise<void> {
  const parser = new Parser();
  let pending = 0;
  const resetPending = () => {
    pending = 0;
  };
  parser.on('error', (error) => {
    throw new MalformedXml(error.message);
  });
  parser.on('comment', resetPending);
  parser.on('openTag', (name, attributes, decode) => {
    resetPending();
    events.open?.(local(name), (wanted) => {
      const all = attributes();
      const key = wanted in all ? wanted : Object.keys(all).find((one) => local(one) === wanted);
      const value = key === undefined ? undefined : all[key];
      return value === undefined ? undefined : decode(value);
    });
  });
  parser.on('text', (text, decode) => {
    resetPending();
    events.text?.(decode(text));
  });
  parser.on('cdata', (text) => events.text?.(text));
  parser.on('closeTag', (name) => {
    resetPending();
    events.close?.(local(name));
  });

  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of chunks) {
    const text = decodedBy(decoder, bytes);
    // The parser scans an unfinished token again with each chunk; one of 200 MB would take hours.
    if (pending > longestToken) throw new MalformedXml('a tag or text is too long for a workbook');
    pending += text.length;
    parser.write(text);
  }
  parser.write(decodedBy(decoder));
  parser.end();
}

function decodedBy(decoder: InstanceType<typeof TextDecoder>, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (error) {
    throw new MalformedXml('it is not UTF-8', { cause: error });
  }
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** A zip in memory. Its files are inflated chunk by chunk and counted, so that a zip bomb does no harm. */
export class Zip {
  #inflated = 0;

  private constructor(
    readonly name: string,
    private readonly file: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** Reads the central directory of the zip; raises UsageError when it is damaged. */
  static async open(bytes: Uint8Array, name: string): Promise<Zip> {
    try {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const file = await new Promise<ZipFile>((resolve, reject) => {
        fromBuffer(buffer, { lazyEntries: true }, (error, opened) =>
          error ? reject(error) : resolve(opened),
        );
      });
      return new Zip(name, file, await entriesOf(file));
    } catch (error) {
      throw damagedError(name, error);
    }
  }

  has(path: string): boolean {
    return this.entries.has(path.toLowerCase());
  }

  /** The content of one file in chunks; none when there is no such file. Raises UsageError above the limit, or when damaged. */
  async *chunks(path: string): AsyncGenerator<Uint8Array> {
    const entry = this.entries.get(path.toLowerCase());
    if (!entry) return;
    try {
      for await (const chunk of await this.#stream(entry)) {
        this.#inflated += chunk.length;
        if (this.#inflated > maxInflatedBytes) {
          const limit = Math.round(maxInflatedBytes / 1024 / 1024);
          throw sheetError(
            this.name,
            `is larger than ${limit} MB when unpacked`,
            'Copy the rows that you need into a new workbook, and use that.',
          );
        }
        yield chunk;
      }
    } catch (error) {
      throw error instanceof SignalhouseError ? error : damagedError(this.name, error);
    }
  }

  #stream(entry: Entry): Promise<Readable> {
    return new Promise((resolve, reject) => {
      this.file.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
    });
  }
}

/** The error for a file that starts as a workbook but is not a complete one. */
export function damagedError(name: string, cause: unknown): Error {
  return sheetError(
    name,
    'is damaged or incomplete',
    'Copy or download it again. If it opens in a spreadsheet program, save it there and use that file.',
    cause,
  );
}

function entriesOf(file: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  return new Promise((resolve, reject) => {
    file.on('error', reject);
    file.on('end', () => resolve(entries));
    file.on('entry', (entry: Entry) => {
      entries.set(entry.fileName.toLowerCase(), entry);
      file.readEntry();
    });
    file.readEntry();
  });
}
