/** What a sheet may hold. Each bound keeps memory bounded for a file that anyone may have made. */

/** Bytes of the file itself. 200,000 topics with titles and summaries stay below. */
export const maxFileBytes = 50 * 1024 * 1024;

/** Bytes that come out of a workbook (a zip), counted while they come out: what the zip declares is not believed. */
export const maxInflatedBytes = 250 * 1024 * 1024;

/** Rows that hold something, the header not counted. */
export const maxRows = 200_000;

/** Columns up to the last one that holds something. */
export const maxColumns = 500;

/** Cells that hold something, of all rows together. */
export const maxCells = 5_000_000;

/** Characters of one cell: the bound of Excel itself. Longer text is refused when read, and cut when written. */
export const maxCellChars = 32_767;

/** The last row that a spreadsheet program can show; blank rows count. */
export const lastRowNumber = 1_048_576;
