import { refusal } from './refusal.js';

/** What a file is by its content. A zip may still turn out to hold no workbook. */
export type Form = 'zip' | 'text';

const asWorkbook = 'Open it in a spreadsheet program and save it as .xlsx or .csv.';
const ole = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/** Tells by the first bytes what a file is, whatever it is named; raises UsageError for what holds no table. */
export function formOf(bytes: Uint8Array, name: string): Form {
  if (bytes.length === 0)
    throw refusal(name, 'is empty', 'It needs a row of column names, and rows under it.');
  if (begins(bytes, [0x50, 0x4b, 3, 4]) || begins(bytes, [0x50, 0x4b, 5, 6])) return 'zip';
  if (begins(bytes, ole)) {
    // Excel puts an encrypted workbook into the container of its old format, under this name in UTF-16.
    const container = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (container.includes(Buffer.from('EncryptedPackage', 'utf16le'))) {
      throw refusal(
        name,
        'is protected by a password',
        'Remove the password in Excel, save it, and try again.',
      );
    }
    throw refusal(name, 'is a workbook of the old Excel format (.xls)', asWorkbook);
  }
  if (begins(bytes, [0x25, 0x50, 0x44, 0x46])) throw refusal(name, 'is a PDF, not a sheet', asWorkbook);
  return 'text';
}

/** Raises UsageError when text is no table: another kind of file under the name of a sheet. */
export function refuseForeign(text: string, name: string): void {
  if (/^\s*<(!doctype|html|table|head|body|\?xml|meta)\b/i.test(text.slice(0, 1024))) {
    throw refusal(
      name,
      'is a web page or XML, not a sheet (some programs name such a file .xls)',
      asWorkbook,
    );
  }
  // A picture, a program, or text in an encoding without its mark. A stray control character is none of them.
  const start = text.slice(0, 4096);
  const controls = start.match(/[^\P{Cc}\s]/gu)?.length ?? 0;
  if (start.includes('\0') || controls * 50 > start.length) {
    throw refusal(
      name,
      'is no sheet: it holds bytes that are not text',
      'It must be .xlsx, or text saved as "CSV UTF-8".',
    );
  }
}

function begins(bytes: Uint8Array, with_: readonly number[]): boolean {
  return with_.every((byte, at) => bytes[at] === byte);
}
