import { posix } from 'node:path';
import type { Grid } from './grid.js';
import { GridBuilder, saveAsHint, sheetError, sheetNames } from './grid.js';
import { lastEditorIn } from './last-editor.js';
import { isOpenDocument, openDocumentSheets, readTable } from './read-opendocument.js';
import { readDateStyles, readSharedStrings, readWorksheet } from './read-worksheet.js';
import { howToSheet } from './spec.js';
import { ForbiddenXml, MalformedXml, readXml } from './xml.js';
import { damagedError, Zip } from './zip.js';

/** Sheets that are read before any other, whatever their position. */
const preferred = ['topics', 'companies'];

/** Sheets that hold no data: our own instructions, and what Apple Numbers puts in front of what it exports. */
const withoutData = [howToSheet.toLowerCase(), 'export summary'];

/** More of anything that a workbook lists has no use, and would only take memory. */
const maxParts = 20_000;

/** A file of the package. */
interface Part {
  readonly type: string;
  readonly path: string;
}

interface SheetEntry {
  readonly name: string;
  readonly hidden: boolean;
}

interface WorksheetEntry extends SheetEntry {
  readonly path: string;
}

/**
 * Reads a sheet of an .xlsx or .ods workbook: the one of this name, otherwise "Topics" or "Companies", otherwise the first
 * visible one that is not known to hold no data. Raises UsageError when there is none of that name. A formula
 * gives the value that the spreadsheet program saved, or `noResult`; an error in a cell (`#REF!`) is given as text. Rows
 * and columns that are hidden or filtered out are read like any other.
 */
export async function readWorkbook(bytes: Uint8Array, name: string, sheet?: string): Promise<Grid> {
  const zip = await Zip.open(bytes, name);
  try {
    return await ((await isOpenDocument(zip)) ? readOpenDocument(zip, sheet) : readOfficeOpenXml(zip, sheet));
  } catch (error) {
    if (error instanceof ForbiddenXml) {
      throw sheetError(
        name,
        'contains a document type definition (DTD), which no workbook needs',
        'Do not open it if you do not know where it comes from. Otherwise save it again in a spreadsheet program.',
        error,
      );
    }
    throw error instanceof MalformedXml ? damagedError(name, error) : error;
  }
}

async function readOpenDocument(zip: Zip, sheet: string | undefined): Promise<Grid> {
  const { chosen, builder } = choose(zip, await openDocumentSheets(zip), sheet);
  const grid = builder.grid(await readTable(zip, chosen.index, builder));
  return editedBy(grid, await lastEditorIn(zip, 'meta.xml', 'creator'));
}

async function readOfficeOpenXml(zip: Zip, sheet: string | undefined): Promise<Grid> {
  const workbook = await workbookPath(zip);
  const parts = await relations(zip, workbook);
  const { sheets, from1904 } = await contents(zip, workbook, parts);
  const { chosen, builder } = choose(zip, sheets, sheet);
  // Both are optional: some writers put all texts into the cells, and use no format but the general one.
  const chunksOf = (type: string) => {
    const path = [...parts.values()].find((part) => part.type === type)?.path;
    return path !== undefined && zip.has(path) ? zip.chunks(path) : undefined;
  };
  const [strings, styles] = [chunksOf('sharedStrings'), chunksOf('styles')];
  const merged = await readWorksheet(zip.chunks(chosen.path), builder, {
    strings: strings ? await readSharedStrings(strings, zip.name) : [],
    dateStyles: styles ? await readDateStyles(styles) : [],
    from1904,
  });
  const properties = [...(await relations(zip, '')).values()].find(({ type }) => type === 'core-properties');
  const editor = await lastEditorIn(zip, properties?.path ?? 'docProps/core.xml', 'lastModifiedBy');
  return editedBy(builder.grid(merged), editor);
}

function editedBy(grid: Grid, lastEditor: string | undefined): Grid {
  return lastEditor === undefined ? grid : { ...grid, lastEditor };
}

/** The sheet to read, and a grid for it that names the others. */
function choose<Entry extends SheetEntry>(zip: Zip, sheets: readonly Entry[], wanted: string | undefined) {
  if (wanted !== undefined) return { chosen: named(zip, sheets, wanted), builder: new GridBuilder(zip.name) };
  const candidates = sheets.filter(hasData);
  const chosen =
    preferred.map((wanted) => sheets.find(({ name }) => simple(name) === wanted)).find(Boolean) ??
    candidates.find(({ hidden }) => !hidden) ??
    candidates[0];
  if (!chosen) throw sheetError(zip.name, 'has no sheet with data', saveAsHint);
  const others = candidates.flatMap((one) => (one === chosen || one.hidden ? [] : [one.name]));
  const builder = new GridBuilder(zip.name, others.length > 0 ? { read: chosen.name, others } : undefined);
  if (others.length > 0) {
    builder.note(`Only the sheet "${chosen.name}" was read; the workbook has ${sheets.length} sheets.`);
  }
  return { chosen, builder };
}

/** The sheet of this name: exactly, otherwise in any case and without the spaces around it. */
function named<Entry extends SheetEntry>(zip: Zip, sheets: readonly Entry[], wanted: string): Entry {
  const found =
    sheets.find(({ name }) => name === wanted) ?? sheets.find(({ name }) => simple(name) === simple(wanted));
  if (found) return found;
  const names = sheetNames(sheets);
  throw sheetError(zip.name, `has no sheet "${wanted}": it has ${names}`, 'Pass one of these with --sheet.');
}

function hasData({ name }: SheetEntry): boolean {
  return !withoutData.includes(simple(name));
}

function simple(name: string): string {
  return name.trim().toLowerCase();
}

/** Files by which other formats in a zip are recognized. */
const otherFormats: readonly (readonly [path: string, what: string])[] = [
  ['xl/workbook.bin', 'is a binary workbook (.xlsb)'],
  ['index/document.iwa', 'is an Apple Numbers document (.numbers)'],
  ['index.zip', 'is an Apple Numbers document (.numbers)'],
  ['word/document.xml', 'is a Word document (.docx), not a spreadsheet'],
  ['ppt/presentation.xml', 'is a presentation (.pptx), not a spreadsheet'],
];

async function workbookPath(zip: Zip): Promise<string> {
  const parts = [...(await relations(zip, '')).values()];
  const path = parts.find(({ type }) => type === 'officeDocument')?.path ?? 'xl/workbook.xml';
  const other = otherFormats.find(([file]) => zip.has(file))?.[1];
  if (other === undefined && zip.has(path)) return path;
  throw sheetError(zip.name, other ?? 'is a zip file, but not a workbook', saveAsHint);
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
      if (found.size === maxParts) throw new MalformedXml(`it has more than ${maxParts} relations`);
      const type = attribute('Type')?.split('/').at(-1) ?? '';
      const inZip = posix.join(target.startsWith('/') ? '' : folder, target).replace(/^\//, '');
      found.set(id, { type, path: zip.has(inZip) ? inZip : withoutPercents(inZip) });
    },
  });
  return found;
}

/** The path of a part whose name was written as in an address: `my%20sheet.xml`. */
function withoutPercents(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function contents(zip: Zip, workbook: string, parts: ReadonlyMap<string, Part>) {
  const sheets: WorksheetEntry[] = [];
  let from1904 = false;
  let root: string | undefined;
  await readXml(zip.chunks(workbook), {
    open: (name, attribute) => {
      root ??= name;
      if (root !== 'workbook') throw sheetError(zip.name, 'is a zip file, but not a workbook', saveAsHint);
      if (name === 'workbookPr') from1904 = ['1', 'true'].includes(attribute('date1904') ?? '');
      if (name !== 'sheet') return;
      const part = parts.get(attribute('id') ?? '');
      // Charts and macros are in the same list.
      if (part?.type !== 'worksheet' || !zip.has(part.path)) return;
      if (sheets.length === maxParts) throw new MalformedXml(`it has more than ${maxParts} sheets`);
      const hidden = (attribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: attribute('name') ?? '', path: part.path, hidden });
    },
  });
  return { sheets, from1904 };
}
