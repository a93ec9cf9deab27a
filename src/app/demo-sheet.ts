import { readSheet } from '../sheet/read.js';
import { writeGrid } from '../sheet/write.js';

/** An edit as a person makes it in a spreadsheet program. */
export interface Edit {
  readonly title: string;
  readonly from: string;
  readonly to: string;
}

/**
 * What the demo's product manager does: opens a sheet of `changes sheet`, sets the priority of its first `count` topics
 * to `to` where it is another, and saves it. Gives the edits.
 */
export async function raisePriorities(path: string, count: number, to: string): Promise<Edit[]> {
  const grid = await readSheet({ path });
  const column = (name: string) => grid.columns.indexOf(name);
  const edits: Edit[] = [];
  const rows = grid.rows.map((row) => {
    const from = String(row.cells[column('priority')] ?? '');
    if (edits.length === count || from === to) return row;
    edits.push({ title: String(row.cells[column('title')] ?? ''), from, to });
    return { ...row, cells: row.cells.map((cell, at) => (at === column('priority') ? to : cell)) };
  });
  await writeGrid(path, { ...grid, rows }, [], { overwrite: true });
  return edits;
}
