import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { type EncryptionKey, fromStored } from '../base/encryption.js';
import { UsageError } from '../base/errors.js';
import { textOfBytes } from '../sheet/read.js';
import { Zip } from '../sheet/zip.js';
import { stripPath } from '../warehouse/forget/apply.js';
import { type Fingerprints, unescaped } from '../warehouse/forget/fingerprints.js';

/** Looking for what was forgotten in a file of any kind: text in every encoding that an import reads, web pages, workbooks. */

/** Text files, whatever encoding they have. Any other file with bytes that are no text cannot be searched. */
const textFiles: ReadonlySet<string> = new Set([
  ...['.json', '.ndjson', '.jsonl', '.csv', '.tsv', '.txt', '.html', '.htm', '.svg', '.md', '.xml', '.log'],
  // The copy of an imported sheet.
  '.file',
]);

/** The first bytes of files that are compressed or encrypted: gzip, Zstandard, bzip2, xz, 7-Zip, PDF, old Office files. */
const unsearchable = ['1f8b', '28b52ffd', '425a68', 'fd377a58', '377abcaf', '25504446', 'd0cf11e0'];

/** Whether a file, or its name, holds any of it. What cannot be searched, such as Parquet or an archive, may. */
export async function holds(
  path: string,
  key: EncryptionKey | undefined,
  forgotten: Fingerprints,
): Promise<boolean> {
  if (isIn(forgotten, basename(path))) return true;
  const extension = extname(path).toLowerCase();
  if (['.parquet', '.duckdb'].includes(extension)) return true;
  const bytes = Buffer.from(fromStored(readFileSync(path), key, path));
  const start = bytes.subarray(0, 4).toString('hex');
  if (unsearchable.some((one) => start.startsWith(one))) return true;
  if (bytes.subarray(0, 2).toString('latin1') === 'PK') return workbookHolds(path, bytes, forgotten);
  const isText = textFiles.has(extension) || !bytes.includes(0) || hasByteOrderMark(bytes);
  return !isText || textsOf(bytes).some((text) => isIn(forgotten, text));
}

async function workbookHolds(path: string, bytes: Buffer, forgotten: Fingerprints): Promise<boolean> {
  try {
    const zip = await Zip.open(bytes, basename(path));
    for (const part of zip.paths()) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of zip.chunks(part)) chunks.push(chunk);
      const texts = [part, ...textsOf(Buffer.concat(chunks))];
      if (texts.some((text) => isIn(forgotten, text))) return true;
    }
    return false;
  } catch (error) {
    // An archive that is damaged or has a password.
    if (error instanceof UsageError) return true;
    throw error;
  }
}

/** The bytes as text; where they have zeros and no mark says which encoding it is, in each that they may have. */
function textsOf(bytes: Buffer): string[] {
  if (hasByteOrderMark(bytes) || !bytes.includes(0)) return [textOfBytes(bytes).text];
  return ['utf-16le', 'utf-16be', 'latin1'].map((name) => new TextDecoder(name).decode(bytes));
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return ['fffe', 'feff'].includes(bytes.subarray(0, 2).toString('hex'));
}

function isIn(forgotten: Fingerprints, text: string): boolean {
  return formsOf(text).some(
    (one) => forgotten.redact(one, { isFile: true }) !== one || stripPath(forgotten, one) !== one,
  );
}

/** A text as it is, and as a reader of HTML or XML, of JSON and of a link sees it. */
function formsOf(text: string): string[] {
  const plain = withoutEntities(text);
  const forms = [plain];
  // A name of which a part is bold, and one in two cells.
  if (plain.includes('<')) forms.push(plain.replace(/<[^<>]*>/g, ''), plain.replace(/<[^<>]*>/g, ' '));
  if (text.includes('\\')) forms.push(unescaped(text));
  if (text.includes('%')) forms.push(withoutPercents(plain));
  return forms;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Text of HTML or XML without its entities; tags stay. */
function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (found, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? found;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : found;
  });
}

function withoutPercents(text: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (found) =>
    Buffer.from(found.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
