import { readXml } from './xml.js';

type Pieces = AsyncIterable<Uint8Array>;

/** Texts of cells, which a workbook keeps apart from its sheets and names by their place. */
export async function readSharedStrings(pieces: Pieces): Promise<string[]> {
  const strings: string[] = [];
  const rich = new RichText();
  await readXml(pieces, {
    open: (name) => rich.open(name),
    text: (text) => rich.text(text),
    close: (name) => {
      rich.close(name);
      if (name === 'si') strings.push(rich.take());
    },
  });
  return strings;
}

/** Collects the text of a `si` or `is` element: of all its runs, without what only tells how to pronounce it. */
export class RichText {
  #text = '';
  #inText = false;
  #inPhonetic = false;

  open(name: string): void {
    if (name === 't') this.#inText = !this.#inPhonetic;
    if (name === 'rPh') this.#inPhonetic = true;
  }

  text(text: string): void {
    if (this.#inText) this.#text += text;
  }

  close(name: string): void {
    if (name === 't') this.#inText = false;
    if (name === 'rPh') this.#inPhonetic = false;
  }

  /** The text so far; begins anew. */
  take(): string {
    const text = unescaped(this.#text);
    this.#text = '';
    return text;
  }
}

/** Workbooks write characters that XML cannot hold as `_x000D_`. */
export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9a-f]{4})_/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Which cell styles, by their number, show a number as a date or time. */
export async function readDateStyles(pieces: Pieces): Promise<boolean[]> {
  const custom = new Map<number, string>();
  const styles: boolean[] = [];
  let inCells = false;
  await readXml(pieces, {
    open: (name, attribute) => {
      if (name === 'cellXfs') inCells = true;
      const id = Number(attribute('numFmtId') ?? 0);
      if (name === 'numFmt') custom.set(id, attribute('formatCode') ?? '');
      if (name === 'xf' && inCells) {
        const code = custom.get(id);
        styles.push(code === undefined ? builtInDate(id) : isDateFormat(code));
      }
    },
    close: (name) => {
      if (name === 'cellXfs') inCells = false;
    },
  });
  return styles;
}

/** The formats that a workbook may use without spelling them out; 27 to 36 and 50 to 58 are the East Asian dates. */
function builtInDate(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

/** Whether a format such as `dd/mm/yyyy` or `[h]:mm:ss.0` shows a date or time, and not `0.00 "days"`. */
export function isDateFormat(code: string): boolean {
  const [positive = ''] = code
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/s\.0+/gi, 's')
    .split(';');
  return /[ymdhs]/i.test(positive) && !/[#?0]|general|standard/i.test(positive);
}
