import { cut, pad, shown, widthOf } from './cell.js';

/** A column of a table for people. */
export interface Column {
  readonly name: string;
  /** Numbers stand on the right, so that they can be compared. */
  readonly right?: boolean;
}

const gap = 2;
/** Below this no column is narrowed: a table of slivers tells nothing. */
const narrowest = 8;

/**
 * Rows as aligned text, without a trailing space. `columns` is the width that there is (undefined: as wide as it
 * must be); when the rows do not fit, the widest columns are narrowed and their texts cut with `…`. Text is made safe
 * for a terminal here.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width?: number,
): string {
  const heads = columns.map((column) => shown(column.name));
  const cells = rows.map((row) => columns.map((_, index) => shown(row[index] ?? '')));
  const wanted = heads.map((head, index) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[index] ?? '')), widthOf(head)),
  );
  const widths = width === undefined ? wanted : narrowed(wanted, width - gap * (columns.length - 1));
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) =>
        pad(cut(cell, widths[index] ?? 0), widths[index] ?? 0, columns[index]?.right === true),
      )
      .join(' '.repeat(gap))
      .trimEnd();
  const rule = widths.map((one) => '-'.repeat(one)).join(' '.repeat(gap));
  return [line(heads), rule, ...cells.map(line)].join('\n');
}

/** Narrows the widest until the sum fits, evenly, and none below what is legible. */
export function narrowed(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  let over = widths.reduce((sum, one) => sum + one, 0) - room;
  while (over > 0) {
    const widest = Math.max(...widths);
    if (widest <= narrowest) break;
    const second = Math.max(narrowest, ...widths.filter((one) => one < widest));
    const peers = widths.filter((one) => one === widest).length;
    const step = Math.max(1, Math.min(widest - second, Math.ceil(over / peers)));
    for (let index = 0; index < widths.length && over > 0; index++) {
      if (widths[index] !== widest) continue;
      const by = Math.min(step, over);
      widths[index] = widest - by;
      over -= by;
    }
  }
  return widths;
}
