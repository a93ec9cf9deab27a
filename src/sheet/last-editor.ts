import { readXml } from './xml.js';
import type { Zip } from './zip.js';

/** What programs and fresh installations write in place of a name, without spaces. */
const notPeople: ReadonlySet<string> = new Set([
  ...['unknown', 'user', 'admin', 'administrator', 'root', 'owner', 'author', 'guest', 'anonymous', 'system'],
  ...['microsoftofficeuser', 'windowsuser', 'microsoftexcel', 'libreoffice', 'googlesheets', 'benutzer'],
  ...['openpyxl', 'xlsxwriter', 'apachepoi', 'sheetjs', 'exceljs', 'excelize', 'pandas', 'python', 'epplus'],
]);

/** Names are shown in tables and messages. */
const longestName = 100;

/** The person who saved a workbook last, from its properties in the file `path`; undefined when they name nobody. */
export async function lastEditorIn(zip: Zip, path: string, element: string): Promise<string | undefined> {
  let text = '';
  let isInside = false;
  try {
    await readXml(zip.chunks(path), {
      open: (name) => {
        isInside = name === element;
      },
      text: (part) => {
        if (isInside && text.length < longestName) text += part;
      },
      close: () => {
        isInside = false;
      },
    });
  } catch {
    // A sheet whose properties are damaged is still a sheet.
    return undefined;
  }
  const name = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim()
    .slice(0, longestName);
  return notPeople.has(name.toLowerCase().replaceAll(' ', '')) || name === '' ? undefined : name;
}
