import { posix } from 'node:path';
import type { Grid } from './grid.js';
import { GridBuilder, saveAsHint, sheetError } from './grid.js';
import { readDateStyles, readSharedStrings, readWorksheet } from './read-worksheet.js';
import { howToSheet } from './spec.js';
import { damagedError, MalformedXml, readXml, Zip } from './workbook-package.js';

/** Sheets that are read before any other, whatever their position. */
const preferred = ['topics', 'companies'];

/** A file of the package. */
interface Part {
  readonly type: string;
  readonly path: string;
}

interface SheetEntry {
  readonly name: string;
  readonly path: string;
  readonly hidden: boolean;
}

/**
 * Reads the sheet "Topics" or "Companies" of an .xlsx workbook, or its first visible sheet that is not "How to use".
 * Formulas give the value that the spreadsheet program saved; an error in a cell (`#REF!`) is given as text.
 */
export async function readWorkbook(bytes: Uint8Array, name: string): Promise<Grid> {
  const zip = await Zip.open(bytes, name);
  try {
    return await read(zip, await workbookPath(zip));
  } catch (error) {
    throw error instanceof MalformedXml ? damagedError(name, error) : error;
  }
}

async function read(zip: Zip, workbook: string): Promise<Grid> {
  const parts = await relations(zip, workbook);
  const { sheets, from1904 } = await contents(zip, workbook, parts);
  const chosen = choose(sheets);
  if (!chosen) throw sheetError(zip.name, 'has no sheet with data', saveAsHint);
  const builder = new GridBuilder(zip.name);
  const others = sheets.filter((one) => one !== chosen && !one.hidden && !isHowTo(one));
  if (others.length > 0) {
    builder.note(`Only the sheet "${chosen.name}" was read; the workbook has ${sheets.length} sheets.`);
  }
  const pathOf = (type: string) => [...parts.values()].find((part) => part.type === type)?.path ?? '';
  const merged = await readWorksheet(zip.chunks(chosen.path), builder, {
    strings: await readSharedStrings(zip.chunks(pathOf('sharedStrings'))),
    dateStyles: await readDateStyles(zip.chunks(pathOf('styles'))),
    from1904,
  });
  return builder.grid(merged);
}

async function workbookPath(zip: Zip): Promise<string> {
  const parts = [...(await relations(zip, '')).values()];
  const path = parts.find(({ type }) => type === 'officeDocument')?.path ?? 'xl/workbook.xml';
  if (zip.has(path) && path.toLowerCase().endsWith('.xml') && path.toLowerCase().startsWith('xl/'))
    return path;
  const what = zip.has('xl/workbook.bin')
    ? 'is a binary workbook (.xlsb)'
    : zip.has('mimetype') || zip.has('content.xml')
      ? 'is a LibreOffice or OpenOffice document (.ods)'
      : 'is a zip file, but not an Excel workbook';
  throw sheetError(zip.name, what, saveAsHint);
}

/** The parts that a part of the package refers to, by id; paths start at the root of the zip. */
async function relations(zip: Zip, part: string): Promise<Map<string, Part>> {
  const folder = part === '' ? '' : posix.dirname(part);
  const path = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const found = new Map<string, Part>();
  if (!zip.has(path)) return found;
  await readXml(zip.chunks(path), {
    open: (name, attribute) => {
      const [id, target] = [attribute('Id'), attribute('Target')];
      if (name !== 'Relationship' || id === undefined || target === undefined) return;
      const type = attribute('Type')?.split('/').at(-1) ?? '';
      found.set(id, {
        type,
        path: posix.join(target.startsWith('/') ? '' : folder, target).replace(/^\//, ''),
      });
    },
  });
  return found;
}

async function contents(zip: Zip, workbook: string, parts: ReadonlyMap<string, Part>) {
  const sheets: SheetEntry[] = [];
  let from1904 = false;
  await readXml(zip.chunks(workbook), {
    open: (name, attribute) => {
      if (name === 'workbookPr') from1904 = ['1', 'true'].includes(attribute('date1904') ?? '');
      if (name !== 'sheet') return;
      const part = parts.get(attribute('id') ?? '');
      // Charts and macros are in the same list.
      if (part?.type !== 'worksheet' || !zip.has(part.path)) return;
      const hidden = (attribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: attribute('name') ?? '', path: part.path, hidden });
    },
  });
  return { sheets, from1904 };
}

function choose(sheets: readonly SheetEntry[]): SheetEntry | undefined {
  const named = (wanted: string) => sheets.find(({ name }) => name.trim().toLowerCase() === wanted);
  const candidates = sheets.filter((one) => !isHowTo(one));
  return (
    preferred.map(named).find((one) => one !== undefined) ??
    candidates.find(({ hidden }) => !hidden) ??
    candidates[0]
  );
}

function isHowTo({ name }: SheetEntry): boolean {
  return name.trim().toLowerCase() === howToSheet.toLowerCase();
}
