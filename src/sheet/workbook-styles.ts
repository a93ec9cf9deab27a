/** How a cell looks. Colours as `FFC533`. */
export interface Look {
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

const line = '<color rgb="FFD5D8DC"/>';
const lines = `<border><left style="thin">${line}</left><right style="thin">${line}</right><top style="thin">${line}</top><bottom style="thin">${line}</bottom><diagonal/></border>`;

/** The first number for a format code of one's own. */
const firstOwnFormat = 164;

/** The looks of a workbook, numbered as they are asked for: cells refer to a look by its number. */
export class Styles {
  readonly #fonts = new Numbered([fontXml({})]);
  // The format reserves the first two fills.
  readonly #fills = new Numbered([
    '<fill><patternFill patternType="none"/></fill>',
    '<fill><patternFill patternType="gray125"/></fill>',
  ]);
  readonly #borders = new Numbered(['<border><left/><right/><top/><bottom/><diagonal/></border>', lines]);
  readonly #formats = new Numbered([]);
  readonly #cells = new Numbered(['<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>']);
  readonly #conditional = new Numbered([]);

  /** The number of a look. */
  of({ fill, format, align, indent, vertical, wrap, lines: hasLines, ...font }: Look): number {
    const fontId = this.#fonts.of(fontXml(font));
    const fillId = fill === undefined ? 0 : this.#fills.of(fillXml('fgColor', fill));
    const numbers =
      format === undefined
        ? ''
        : ` numFmtId="${firstOwnFormat + this.#formats.of(format)}" applyNumberFormat="1"`;
    const alignment = [
      ...(align ? [`horizontal="${align}"`] : []),
      ...(indent ? [`indent="${indent}"`] : []),
      ...(vertical ? [`vertical="${vertical}"`] : []),
      ...(wrap ? ['wrapText="1"'] : []),
    ].join(' ');
    return this.#cells.of(
      `<xf${numbers} fontId="${fontId}" fillId="${fillId}" borderId="${hasLines ? 1 : 0}" xfId="0"` +
        ' applyFont="1" applyFill="1" applyBorder="1" applyAlignment="1">' +
        `<alignment ${alignment}/></xf>`,
    );
  }

  /** The number of a look for cells that meet a condition. */
  conditional({ fill, bold, color }: Pick<Look, 'bold' | 'color'> & { readonly fill: string }): number {
    const font = `<font>${bold ? '<b/>' : ''}${color === undefined ? '' : `<color rgb="FF${color}"/>`}</font>`;
    return this.#conditional.of(`<dxf>${font}${fillXml('bgColor', fill)}</dxf>`);
  }

  /** The content of xl/styles.xml, when every look has its number. */
  xml(): string {
    const formats = this.#formats.all.map(
      (code, at) => `<numFmt numFmtId="${firstOwnFormat + at}" formatCode="${escapedAttribute(code)}"/>`,
    );
    return [
      '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
      '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">',
      formats.length > 0 ? list('numFmts', formats) : '',
      list('fonts', this.#fonts.all),
      list('fills', this.#fills.all),
      list('borders', this.#borders.all),
      list('cellStyleXfs', ['<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>']),
      list('cellXfs', this.#cells.all),
      list('cellStyles', ['<cellStyle name="Normal" xfId="0" builtinId="0"/>']),
      list('dxfs', this.#conditional.all),
      '</styleSheet>',
    ].join('');
  }
}

/** Texts, each with the number of the place where it first occurred. */
class Numbered {
  readonly #numbers: Map<string, number>;

  constructor(first: readonly string[]) {
    this.#numbers = new Map(first.map((text, at) => [text, at]));
  }

  of(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }

  get all(): string[] {
    return [...this.#numbers.keys()];
  }
}

function fontXml({ bold, size = 11, color }: Pick<Look, 'bold' | 'size' | 'color'>): string {
  const colour = color === undefined ? '' : `<color rgb="FF${color}"/>`;
  return `<font>${bold ? '<b/>' : ''}<sz val="${size}"/>${colour}<name val="Calibri"/><family val="2"/></font>`;
}

/** A cell is filled with the foreground of a pattern, a conditional format with its background: Excel wants it so. */
function fillXml(which: 'fgColor' | 'bgColor', colour: string): string {
  const solid = which === 'fgColor' ? ' patternType="solid"' : '';
  return `<fill><patternFill${solid}><${which} rgb="FF${colour}"/></patternFill></fill>`;
}

function list(name: string, items: readonly string[]): string {
  return `<${name} count="${items.length}">${items.join('')}</${name}>`;
}

/** Text within XML. */
export function escapedText(text: string): string {
  return /[&<>]/.test(text)
    ? text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    : text;
}

/** Text within the quotes of an attribute. */
export function escapedAttribute(text: string): string {
  return escapedText(text).replaceAll('"', '&quot;');
}
