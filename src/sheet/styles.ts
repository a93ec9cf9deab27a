import { escapedAttribute, main, xmlStart } from './xml.js';

/** How a cell looks. Colours as `FFC533`. */
interface Look {
  readonly fill?: string;
  readonly color?: string;
  readonly bold?: boolean;
  readonly size?: number;
  /** Excel's format code; `@` is text, which stays text when it is edited. */
  readonly format?: string;
  readonly align?: 'left' | 'center' | 'right';
  readonly indent?: number;
  readonly vertical?: 'top' | 'center';
  readonly wrap?: boolean;
  /** Thin lines around the cell: a fill hides those of the spreadsheet program. */
  readonly lines?: boolean;
}

/** Cells that were edited: orange and bold. It is the only look that depends on a condition. */
const editedLook =
  '<dxf><font><b/><color rgb="FF1A1A1A"/></font><fill><patternFill><bgColor rgb="FFFFAB40"/></patternFill></fill></dxf>';

const line = '<color rgb="FFD5D8DC"/>';
const lines = `<border><left style="thin">${line}</left><right style="thin">${line}</right><top style="thin">${line}</top><bottom style="thin">${line}</bottom><diagonal/></border>`;

/** The format reserves the first two fills, and the number formats below this one. */
const [firstFill, firstFormat] = [2, 164];

/** The looks of a workbook, numbered as they are asked for: cells refer to a look by its number. */
export class Styles {
  /** By their JSON; the first is that of a cell without a look. */
  readonly #looks = new Map<string, Look>([['', {}]]);

  /** The number of a look. */
  of(look: Look): number {
    const key = JSON.stringify(look);
    this.#looks.set(key, look);
    return [...this.#looks.keys()].indexOf(key);
  }

  /** The content of xl/styles.xml, when every look has its number: each has a font, a fill and a format of that number. */
  xml(): string {
    const looks = [...this.#looks.values()];
    const formats = looks.flatMap(({ format }, at) =>
      format === undefined
        ? []
        : `<numFmt numFmtId="${firstFormat + at}" formatCode="${escapedAttribute(format)}"/>`,
    );
    return [
      `${xmlStart}<styleSheet xmlns="${main}">`,
      formats.length > 0 ? list('numFmts', formats) : '',
      list('fonts', looks.map(fontXml)),
      list('fills', [patternFill('none'), patternFill('gray125'), ...looks.map(fillXml)]),
      list('borders', ['<border><left/><right/><top/><bottom/><diagonal/></border>', lines]),
      list('cellStyleXfs', ['<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>']),
      list('cellXfs', looks.map(cellXml)),
      list('cellStyles', ['<cellStyle name="Normal" xfId="0" builtinId="0"/>']),
      list('dxfs', [editedLook]),
      '</styleSheet>',
    ].join('');
  }
}

function cellXml({ format, align, indent, vertical, wrap, lines: hasLines }: Look, at: number): string {
  const alignment = [
    ...(align ? [`horizontal="${align}"`] : []),
    ...(indent ? [`indent="${indent}"`] : []),
    ...(vertical ? [`vertical="${vertical}"`] : []),
    ...(wrap ? ['wrapText="1"'] : []),
  ].join(' ');
  return (
    `<xf numFmtId="${format === undefined ? 0 : firstFormat + at}" fontId="${at}" fillId="${firstFill + at}"` +
    ` borderId="${hasLines ? 1 : 0}" xfId="0"` +
    ' applyNumberFormat="1" applyFont="1" applyFill="1" applyBorder="1" applyAlignment="1">' +
    `<alignment ${alignment}/></xf>`
  );
}

function patternFill(type: 'none' | 'gray125'): string {
  return `<fill><patternFill patternType="${type}"/></fill>`;
}

function fillXml({ fill }: Look): string {
  if (fill === undefined) return patternFill('none');
  return `<fill><patternFill patternType="solid"><fgColor rgb="FF${fill}"/></patternFill></fill>`;
}

function fontXml({ bold, size = 11, color }: Look): string {
  const colour = color === undefined ? '' : `<color rgb="FF${color}"/>`;
  return `<font>${bold ? '<b/>' : ''}<sz val="${size}"/>${colour}<name val="Calibri"/><family val="2"/></font>`;
}

function list(name: string, items: readonly string[]): string {
  return `<${name} count="${items.length}">${items.join('')}</${name}>`;
}
