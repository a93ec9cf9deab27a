import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { strToU8, type Zippable, zipSync } from 'fflate';
import { onTestFinished } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import type { Grid } from '../../../src/sheet/grid.js';
import { readSheet } from '../../../src/sheet/read.js';

/** A folder that is gone after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sheet-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Reads bytes, or text as UTF-8, as if they came on standard input. */
export function readBytes(content: Uint8Array | string): Promise<Grid> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return readSheet({ bytes, name: 'standard input' });
}

/** Columns, and rows without their numbers. */
export function table({ columns, rows }: Grid): unknown[][] {
  return [[...columns], ...rows.map(({ cells }) => [...cells])];
}

/** The message and hint of the UsageError that must come. */
export async function refused(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof UsageError)) throw new Error(`no UsageError: ${String(error)}`);
  return `${error.message} | ${error.hint}`;
}

interface Made {
  /** What stands within `<sheetData>`. */
  readonly rows: string;
  /** What stands after it. */
  readonly after?: string;
  readonly strings?: readonly string[];
  /** Format codes by style; style 0 is the general one. */
  readonly formats?: readonly string[];
  readonly workbookPr?: string;
  /** More sheets: name, rows. */
  readonly sheets?: readonly (readonly [name: string, rows: string, state?: string])[];
  readonly name?: string;
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const head = '<?xml version="1.0" encoding="UTF-8"?>';

/** The files of a workbook made by hand, as another program might have made it. */
export function workbookFiles(made: Made): Record<string, string> {
  const sheets = [[made.name ?? 'Sheet1', made.rows] as const, ...(made.sheets ?? [])];
  const formats = made.formats ?? [];
  const files: Record<string, string> = {
    '_rels/.rels': `${head}<Relationships><Relationship Id="a" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `${head}<workbook xmlns="${main}" xmlns:r="${office}">${made.workbookPr ?? ''}<sheets>${sheets
      .map(
        ([name, , state], at) =>
          `<sheet name="${name}" sheetId="${at + 1}" r:id="r${at}"${state ? ` state="${state}"` : ''}/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships>${sheets
      .map(
        (_, at) =>
          `<Relationship Id="r${at}" Type="${office}/worksheet" Target="worksheets/sheet${at}.xml"/>`,
      )
      .join(
        '',
      )}<Relationship Id="s" Type="${office}/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="t" Type="${office}/styles" Target="/xl/styles.xml"/></Relationships>`,
    'xl/sharedStrings.xml': `${head}<sst xmlns="${main}">${(made.strings ?? []).map((one) => `<si>${one}</si>`).join('')}</sst>`,
    'xl/styles.xml': `${head}<styleSheet xmlns="${main}"><numFmts>${formats
      .map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${code}"/>`)
      .join('')}</numFmts><cellXfs><xf numFmtId="0"/>${formats
      .map((_, at) => `<xf numFmtId="${164 + at}"/>`)
      .join('')}</cellXfs></styleSheet>`,
  };
  for (const [at, [, rows]] of sheets.entries()) {
    const after = at === 0 ? (made.after ?? '') : '';
    files[`xl/worksheets/sheet${at}.xml`] =
      `${head}<worksheet xmlns="${main}"><sheetData>${rows}</sheetData>${after}</worksheet>`;
  }
  return files;
}

export function zipped(files: Record<string, string | Uint8Array>, level: 0 | 6 = 6): Uint8Array {
  const entries: Zippable = {};
  for (const [path, content] of Object.entries(files)) {
    entries[path] = typeof content === 'string' ? strToU8(content) : content;
  }
  return zipSync(entries, { level });
}

/** As `zipped`, by hand: `size` is what the zip says of a file, true or not. */
export function zippedSaying(files: Record<string, { content: Uint8Array; size?: number }>): Uint8Array {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const [name, { content, size = content.length }] of Object.entries(files)) {
    const packed = deflateRawSync(content, { level: 1 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(name.length, 22);
    const local = [Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed];
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00'), common, rest, Buffer.from(name));
    parts.push(...local);
    at += local.reduce((sum, { length }) => sum + length, 0);
  }
  const end = Buffer.alloc(18);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...parts, ...directory, Buffer.from('PK\x05\x06'), end]);
}

export function workbook(made: Made): Uint8Array {
  return zipped(workbookFiles(made));
}

/** A text cell that needs no shared strings. */
export function inline(address: string, text: string): string {
  return `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`;
}

/** A row of text cells from column A. */
export function textRow(number: number, ...texts: string[]): string {
  const cells = texts.map((text, at) =>
    text === '' ? '' : inline(`${String.fromCharCode(65 + at)}${number}`, text),
  );
  return `<row r="${number}">${cells.join('')}</row>`;
}
