import type { Cell } from './grid.js';

/** The sheet of a workbook with the instructions for the other one; never read as data. */
export const howToSheet = 'How to use';

/** One column of a sheet that we write. */
export interface SheetColumn {
  /** The header, and the name under which other columns refer to it. */
  readonly key: string;
  /** In characters; default 14. */
  readonly width?: number;
  /** Whether long text wraps. */
  readonly wrap?: boolean;
  /** How a workbook shows its cells; in a CSV file a time is ISO 8601 in UTC, and a boolean TRUE or FALSE. */
  readonly type: 'text' | 'number' | 'boolean' | 'time';
  /** The only allowed values; a workbook offers them as a list and refuses others. */
  readonly allowed?: readonly string[];
  /** For a column to edit: a workbook colours the cells that differ from those of column `base`. */
  readonly edited?: { readonly base: string };
  /** Shown in grey: not to be edited. */
  readonly grey?: boolean;
}

/** A sheet to write. */
export interface SheetSpec {
  /** The name of the sheet within a workbook; at most 31 characters. */
  readonly name: string;
  readonly columns: readonly SheetColumn[];
  /** Cells in the order of the columns; missing ones at the end are empty. */
  readonly rows: Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;
  /** Paragraphs of a second sheet, "How to use"; the first is its title. A CSV file has none. */
  readonly howTo?: readonly string[];
}

export interface WriteOptions {
  /** Replace an existing file. */
  readonly overwrite?: boolean;
}
