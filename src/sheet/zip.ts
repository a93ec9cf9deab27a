import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { SignalhouseError } from '../base/errors.js';
import { maxInflatedBytes, sheetError } from './grid.js';

/** Files of a zip. A workbook has some dozens; a directory of a million names alone would take 500 MB. */
const maxEntries = 5000;

/** Bytes before the name in the header of each file of a zip. */
const localHeaderBytes = 30;

/**
 * A zip in memory. What its directory says is checked before anything is unpacked, and its files are inflated chunk by
 * chunk, counted and compared with their checksums: a zip bomb does no harm, and a changed byte is not read as a value.
 */
export class Zip {
  readonly #inflated = new Map<string, number>();

  private constructor(
    readonly name: string,
    private readonly file: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** Reads the directory of the zip; raises UsageError when it is damaged, or when no workbook has such files. */
  static async open(bytes: Uint8Array, name: string): Promise<Zip> {
    try {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const file = await fromBufferPromise(buffer);
      const entries = await entriesOf(file, name);
      refuseOverlaps(entries, name);
      return new Zip(name, file, new Map(entries.map((entry) => [entry.fileName.toLowerCase(), entry])));
    } catch (error) {
      throw error instanceof SignalhouseError ? error : damagedError(name, error);
    }
  }

  paths(): string[] {
    return [...this.entries.values()].map(({ fileName }) => fileName);
  }

  has(path: string): boolean {
    return this.entries.has(path.toLowerCase());
  }

  /**
   * The content of one file in chunks; none when there is no such file. All files together may have `maxInflatedBytes`;
   * one that is read twice counts once. Raises UsageError above the limit, or when damaged.
   */
  async *chunks(path: string): AsyncGenerator<Uint8Array> {
    const entry = this.entries.get(path.toLowerCase());
    if (!entry) return;
    if (entry.isEncrypted()) throw encryptedError(this.name);
    this.#count(entry, entry.uncompressedSize);
    let [size, checksum] = [0, 0];
    try {
      for await (const chunk of await this.file.openReadStreamPromise(entry)) {
        size += chunk.length;
        this.#count(entry, size);
        checksum = crc32(chunk, checksum);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof SignalhouseError ? error : damagedError(this.name, error);
    }
    if (checksum !== entry.crc32)
      throw damagedError(this.name, new Error(`the checksum of ${path} is wrong`));
  }

  /** Raises UsageError when the files that were read are too large together. */
  #count({ fileName }: Entry, size: number): void {
    this.#inflated.set(fileName, Math.max(size, this.#inflated.get(fileName) ?? 0));
    const total = [...this.#inflated.values()].reduce((sum, one) => sum + one, 0);
    if (total <= maxInflatedBytes) return;
    const limit = Math.round(maxInflatedBytes / 1024 / 1024);
    throw sheetError(
      this.name,
      `is larger than ${limit} MB when unpacked`,
      'Copy the rows that you need into a new workbook, and use that.',
    );
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

/** The error for a workbook that cannot be read without its password. */
export function encryptedError(name: string): Error {
  return sheetError(
    name,
    'is encrypted: it needs a password',
    'Open it in the program that made it, save it without a password, and use that file.',
  );
}

async function entriesOf(file: ZipFile, name: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of file.eachEntry()) {
    entries.push(entry);
    if (entries.length > maxEntries)
      throw unusualError(name, `has more than ${maxEntries.toLocaleString('en-US')} files in its zip`);
  }
  return entries;
}

/** A zip whose files share bytes unpacks to far more than any of its sizes says; two of the same name are ambiguous. */
function refuseOverlaps(entries: readonly Entry[], name: string): void {
  const inOrder = entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader);
  let end = 0;
  for (const { relativeOffsetOfLocalHeader: start, fileNameRaw, compressedSize } of inOrder) {
    if (start < end) throw unusualError(name, 'has files in its zip that overlap');
    end = start + localHeaderBytes + fileNameRaw.length + compressedSize;
  }
  const names = new Set(entries.map(({ fileName }) => fileName.toLowerCase()));
  if (names.size < entries.length) throw unusualError(name, 'has two files of the same name in its zip');
}

function unusualError(name: string, what: string): Error {
  const hint = 'No spreadsheet program writes such a file. Ask for a new copy from the person who made it.';
  return sheetError(name, what, hint);
}
