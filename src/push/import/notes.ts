import { type GridRow, maxCellChars } from '../../sheet/grid.js';
import { sqlFile } from '../../warehouse/sql.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import { named, rowsAbout } from '../facts.js';
import { fingerprint, textOf } from './cells.js';
import { type Header, isReadOnly, type ReadOnlyName } from './header.js';
import type { StoredEntity } from './match.js';
import type { ImportRow, PreviewChange } from './preview.js';
import type { EntityEdits, ParsedRow } from './rows.js';
import type { ImportSource } from './source.js';
import { isSameTitle } from './titles.js';

/** What the user should know about a file as a whole, beside its changes and its wrong rows. */
export function notesOf(
  { grid }: ImportSource,
  header: Header,
  entities: readonly EntityEdits[],
  rows: readonly ImportRow[],
  changes: readonly PreviewChange[],
): string[] {
  const notes = [...grid.notes, ...header.notes];
  if (grid.rows.length === 0) notes.push('There are no rows below the header.');
  const repeated = entities.filter(({ rows: of }) => of.length > 1).length;
  if (repeated === 1) notes.push('One id occurs in several rows, which make one change.');
  if (repeated > 1) notes.push(`${repeated} ids occur in several rows; the rows of each id make one change.`);
  const hidden = new Set(grid.rows.flatMap((row) => (row.hidden ? [row.number] : [])));
  const unseen = rows.flatMap(({ row, outcome }) => (outcome === 'queued' && hidden.has(row) ? [row] : []));
  if (unseen.length > 0)
    notes.push(`Changes are also in rows that are hidden or filtered out: ${rowsText(unseen)}.`);
  const happened = changes.flatMap(({ entityId, title, note }) =>
    note === null ? [] : [`${named(entityId, title)} ${note}`],
  );
  notes.push(...happened.slice(0, mostNotes).map((note) => `${note}.`));
  if (happened.length > mostNotes)
    notes.push(`${happened.length - mostNotes} more were archived or superseded.`);
  return notes;
}

const mostNotes = 10;

function rowsText(rows: readonly number[]): string {
  const more = rows.length > mostNotes ? ` and ${rows.length - mostNotes} more` : '';
  return `${rows.length === 1 ? 'row' : 'rows'} ${rows.slice(0, mostNotes).join(', ')}${more}`;
}

const readOnlySql = sqlFile('push/read_only');

/** Times in a sheet may have lost their thousandths. */
const roundedMs = 1000;

/**
 * A sentence about edited cells that cannot be changed: titles, summaries and types. Null when there are none. Only a sheet
 * with base columns shows that a text was edited, and only while the topic is as it was then.
 */
export async function ignoredEdits(
  store: Pick<Warehouse, 'all'>,
  { readOnly, title, baseAt, entityType }: Header,
  sheetRows: readonly GridRow[],
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
): Promise<string | null> {
  if (baseAt === null || entityType !== 'topic') return null;
  type Row = Readonly<Record<ReadOnlyName, string | null>> & {
    readonly id: string;
    readonly updated_ms: number;
  };
  const ids = rows.flatMap(({ id }) => (id !== null && stored.has(id) ? [id] : []));
  const own = new Map((await rowsAbout<Row>(store, readOnlySql, ids)).map((row) => [row.id, row]));
  const cellsOf = new Map(sheetRows.map(({ number, cells }) => [number, cells]));
  const edited = new Map<string, number[]>();
  for (const { row, id, baseAt: at, edits } of rows) {
    const found = own.get(id ?? '');
    if (!found || at === null || found.updated_ms > Date.parse(at) + roundedMs) continue;
    // In a row that asks for something, another title is a problem.
    const titles = title && Object.keys(edits).length === 0 ? [title] : [];
    for (const { at: column, header } of [...titles, ...readOnly]) {
      const text = textOf(cellsOf.get(row)?.[column]);
      const value = isReadOnly(header) ? found[header] : (stored.get(found.id)?.title ?? null);
      if (text === null || value === null || value.length >= maxCellChars) continue;
      const isSame = isReadOnly(header) ? fingerprint(text) === fingerprint(value) : isSameTitle(text, value);
      if (isSame) continue;
      edited.set(header, [...(edited.get(header) ?? []), row]);
    }
  }
  if (edited.size === 0) return null;
  const texts = [...edited].map(([header, of]) => `${header} (${rowsText(of)})`);
  return `Edited, but nobody can change it: ${texts.join('; ')}. These cells are ignored.`;
}
