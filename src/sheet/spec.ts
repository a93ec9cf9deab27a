import type { Cell } from './grid.js';

/** One column of a sheet that we write. */
export interface SheetColumn {
  /** The header, and the name under which other columns refer to it. */
  readonly key: string;
  /** In characters; 14 without it. */
  readonly width?: number;
  /** Long text is shown over several lines. */
  readonly wrap?: boolean;
  /** How a workbook shows its cells; in a CSV file a time is ISO 8601 in UTC, and a boolean TRUE or FALSE. */
  readonly type: 'text' | 'number' | 'boolean' | 'time';
  /** The only values a person may choose; a workbook offers them as a list and refuses others. */
  readonly allowed?: readonly string[];
  /** A person may edit it; a workbook colours the cells that differ from those of column `base`. */
  readonly edited?: { readonly base: string };
  /** Shown as background: not to be edited. */
  readonly grey?: boolean;
}

/** A sheet as it shall be written. */
export interface SheetSpec {
  /** The name of the sheet within a workbook; at most 31 characters. */
  readonly name: string;
  readonly columns: readonly SheetColumn[];
  /** Cells in the order of the columns; missing ones at the end are empty. */
  readonly rows: Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;
  /** Paragraphs of a second sheet, "How to use"; the first is its title. A CSV file goes without. */
  readonly howTo?: readonly string[];
}

export interface WriteOptions {
  /** Replace a file that is there already. */
  readonly overwrite?: boolean;
}
