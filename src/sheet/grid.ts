/** One value of a sheet. A date has no zone in a spreadsheet: its wall clock is given as if it were UTC. */
export type Cell = string | number | boolean | Date | null;

export interface GridRow {
  /** As the spreadsheet program shows it: blank rows count, the first row is 1. */
  readonly number: number;
  /** In the order of the columns; empty cells at the end are left out. */
  readonly cells: readonly Cell[];
}

/** A sheet as it was read: text is text as it stood in the cell, neither trimmed nor interpreted. */
export interface Grid {
  /** The header as written, trimmed; '' for a column without one. No name stands twice, whatever its case. */
  readonly columns: readonly string[];
  /** Where the header stands. */
  readonly headerRow: number;
  /** Every row that is not blank, in order. */
  readonly rows: readonly GridRow[];
  /** What the person should know about how the file was read, as sentences. */
  readonly notes: readonly string[];
  /** What stood between the cells, of a text file. */
  readonly separator?: Separator;
}

export type Separator = ',' | ';' | '\t' | '|';
