import type { Readable } from 'node:stream';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';
import { SignalhouseError } from '../base/errors.js';
import { maxInflatedBytes } from './limits.js';
import { refusal } from './refusal.js';

/** A zip in memory, whose files are inflated piece by piece and counted: it cannot blow up. */
export class Zip {
  #inflated = 0;

  private constructor(
    readonly name: string,
    private readonly file: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** Reads the zip's table of contents; raises UsageError when it is damaged. */
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
      throw damaged(name, error);
    }
  }

  has(path: string): boolean {
    return this.entries.has(path.toLowerCase());
  }

  /** The pieces of one file; none when there is no such file. Raises UsageError above the limit, or when damaged. */
  async *pieces(path: string): AsyncGenerator<Uint8Array> {
    const entry = this.entries.get(path.toLowerCase());
    if (!entry) return;
    try {
      for await (const piece of await this.#stream(entry)) {
        this.#inflated += piece.length;
        if (this.#inflated > maxInflatedBytes) {
          const limit = Math.round(maxInflatedBytes / 1024 / 1024);
          throw refusal(
            this.name,
            `holds more than ${limit} MB once unpacked`,
            'Copy the rows that are needed into a new workbook, and use that.',
          );
        }
        yield piece;
      }
    } catch (error) {
      throw error instanceof SignalhouseError ? error : damaged(this.name, error);
    }
  }

  #stream(entry: Entry): Promise<Readable> {
    return new Promise((resolve, reject) => {
      this.file.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
    });
  }
}

/** A file that begins as a workbook and does not go on as one. */
export function damaged(name: string, cause: unknown): Error {
  return refusal(
    name,
    'is damaged or was cut short',
    'Copy or download it again; when it opens in a spreadsheet program, save it there and use that.',
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
