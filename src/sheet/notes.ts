import { cellAddress } from './grid.js';
import { escapedText, main, xmlStart } from './xml.js';

/** A note (Excel: comment) that a spreadsheet program shows beside a cell. */
export interface Note {
  /** From 0. */
  readonly column: number;
  /** From 1. */
  readonly row: number;
  readonly text: string;
}

/** The texts of the notes of a sheet: xl/comments1.xml. */
export function* notesXml(notes: readonly Note[]): Generator<string> {
  yield `${xmlStart}<comments xmlns="${main}"><authors><author>Signalhouse</author></authors><commentList>`;
  for (const { column, row, text } of notes)
    yield `<comment ref="${cellAddress(column, row)}" authorId="0"><text><t xml:space="preserve">${escapedText(text)}</t></text></comment>`;
  yield '</commentList></comments>';
}

/** Where the notes are drawn: without it, Excel shows none. LibreOffice and openpyxl need only the texts. */
export function* drawingXml(notes: readonly Note[]): Generator<string> {
  yield '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:x="urn:schemas-microsoft-com:office:excel">';
  yield '<o:shapelayout v:ext="edit"><o:idmap v:ext="edit" data="1"/></o:shapelayout>';
  yield '<v:shapetype id="_x0000_t202" coordsize="21600,21600" o:spt="202" path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/><v:path gradientshapeok="t" o:connecttype="rect"/></v:shapetype>';
  for (const [at, { column, row }] of notes.entries()) {
    // From the column beside the cell, two columns and four rows large.
    const anchor = [column + 1, 15, Math.max(0, row - 2), 4, column + 3, 15, row + 2, 4].join(',');
    yield `<v:shape id="_x0000_s${1025 + at}" type="#_x0000_t202" style="position:absolute;visibility:hidden" fillcolor="#ffffe1" o:insetmode="auto">` +
      '<v:fill color2="#ffffe1"/><v:path o:connecttype="none"/><v:textbox style="mso-direction-alt:auto"/>' +
      `<x:ClientData ObjectType="Note"><x:MoveWithCells/><x:SizeWithCells/><x:Anchor>${anchor}</x:Anchor>` +
      `<x:AutoFill>False</x:AutoFill><x:Row>${row - 1}</x:Row><x:Column>${column}</x:Column></x:ClientData></v:shape>`;
  }
  yield '</xml>';
}
