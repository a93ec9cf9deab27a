import type { Cell } from './grid.js';

/** The sheet of a workbook with the instructions for the other one; never read as data. */
export const howToSheet = 'How to use';

/** One column of a sheet that we write. */
export interface SheetColumn {
  /** The header, and the name under which other columns refer to it. */
  readonly key: string;
  /** In characters; default 14, and never less than the header and its filter button need. */
  readonly width?: number;
  /** Whether long text wraps. */
  readonly wrap?: boolean;
  /** How a workbook shows its cells; in a CSV file a time is ISO 8601 in UTC, and a boolean TRUE or FALSE. */
  readonly type: 'text' | 'number' | 'count' | 'boolean' | 'time' | 'date';
  /** The only allowed values; a workbook offers them as a list and refuses others. */
  readonly allowed?: readonly string[];
  /** For a column to edit: a workbook marks the cells that differ from those of column `base`. */
  readonly edited?: { readonly base: string };
  /** Small and pale: for programs, not for people. */
  readonly faint?: boolean;
  /** Not shown in a workbook until somebody unhides it. */
  readonly hidden?: boolean;
}

/** A sheet to write. */
export interface SheetSpec {
  /** The name of the sheet within a workbook; at most 31 characters. */
  readonly name: string;
  /** When one of them is to be edited, a workbook colours those, and all others are grey. */
  readonly columns: readonly SheetColumn[];
  /** Cells in the order of the columns; missing ones at the end are empty. */
  readonly rows: Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;
  /** How many columns at the left stay in view when a workbook is scrolled. */
  readonly frozenColumns?: number;
  /** Paragraphs of a sheet "How to use" in front of the table; the first is its title. A CSV file has none. */
  readonly howTo?: readonly string[];
}

export interface WriteOptions {
  /** Replace an existing file. */
  readonly overwrite?: boolean;
}
