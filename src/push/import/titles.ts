import { portions } from '../../base/group-by.js';
import { noResult } from '../../sheet/grid.js';
import { sqlFile } from '../../warehouse/sql.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import { idsAtOnce } from '../entities.js';
import type { EntityType } from '../fields.js';
import { folded, isFormulaError } from './cells.js';
import type { StoredEntity } from './compare-with-warehouse.js';
import type { Header } from './header.js';
import type { ImportProblem } from './report.js';
import type { ParsedRow } from './rows.js';

const earlierTitlesSql = sqlFile('push/earlier_titles');

/**
 * The problem of each row whose title or name is not that of its id, by row: in a sheet that was sorted without its id column,
 * the values of a row belong to another id. A title that the topic had before is as good as the present one, in any spelling
 * in which spreadsheet programs leave it.
 */
export async function wrongTitles(
  store: Pick<Warehouse, 'all'>,
  { entityType, title: column }: Header,
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
): Promise<Map<number, ImportProblem>> {
  const isOf = ({ id, title, survivor }: StoredEntity, text: string, earlier?: Earlier) =>
    [title, survivor?.title ?? null, ...(earlier?.get(id) ?? [])].some(
      (one) => one !== null && isSameTitle(text, one),
    );
  const asked = rows.flatMap((row) => {
    const entity = row.id === null ? undefined : stored.get(row.id);
    return entity?.title ? [{ row, entity, own: entity.title }] : [];
  });
  const others = new Map(asked.map(({ entity, own }) => [folded(own), entity.id]));
  const foreign = asked.flatMap(({ row, entity, own }) => {
    const { title } = row;
    // A title that was only edited, in a row that asks for nothing, changes nothing; that of another row shows that rows moved.
    const isAsking = Object.keys(row.edits).length > 0 || row.problems.length > 0;
    const isWrong = (text: string) => !isOf(entity, text) && (isAsking || others.has(folded(text)));
    if (title !== null && column !== null && saysSomething(title) && isWrong(title))
      return [{ row, entity, own, text: title, header: column.header, isNew: false }];
    // A new name of a company may be any, but not that of another row.
    const name = row.edits.name;
    const of = typeof name?.value === 'string' ? others.get(folded(name.value)) : undefined;
    return name && of !== undefined && of !== entity.id
      ? [{ row, entity, own, text: String(name.value), header: name.header, isNew: true }]
      : [];
  });
  const earlier = await earlierTitles(store, entityType, [
    ...new Set(foreign.map(({ entity }) => entity.id)),
  ]);
  const wrong = foreign.filter(({ entity, text }) => !isOf(entity, text, earlier));
  const renamed = wrong.filter(({ isNew }) => isNew).length;
  return new Map(
    // One company may get the name of another: two that are one are named alike. Several are rows that moved.
    wrong.flatMap(({ row: { row }, own, text, header, isNew }): [number, ImportProblem][] => {
      if (isNew && renamed === 1) return [];
      const what = entityType === 'topic' ? 'title' : 'name';
      const problem = `is not the ${what} of this id, which is "${shortened(own)}": put each id back beside its ${what}, or delete the row`;
      return [[row, { row, column: header, value: shortened(text), problem }]];
    }),
  );
}

/** Why a whole file is refused when several rows have titles that are not those of their ids; null when it is not. */
export function mixedUp(entityType: EntityType, wrong: ReadonlyMap<number, ImportProblem>): string | null {
  if (wrong.size < 2) return null;
  const what = entityType === 'topic' ? 'title' : 'name';
  return `${wrong.size} rows have a ${what} that is not that of their id, as after sorting without the id column: nothing of the file is queued. Put each id back beside its ${what}; if the ids are right, delete the column of the ${what}, or pass --ignore-titles`;
}

type Earlier = ReadonlyMap<string, readonly string[]>;

async function earlierTitles(
  store: Pick<Warehouse, 'all'>,
  entityType: EntityType,
  ids: readonly string[],
): Promise<Earlier> {
  const found = new Map<string, string[]>();
  for (const some of portions(ids, idsAtOnce)) {
    const parameters = { ids: [...some], entity_type: entityType };
    for (const { id, title } of await store.all<{ id: string; title: string }>(earlierTitlesSql, parameters))
      found.set(id, [...(found.get(id) ?? []), title]);
  }
  return found;
}

/** Whether a cell can be compared: not when its program has left nothing of the text. */
function saysSomething(text: string): boolean {
  return folded(text) !== '' && text !== noResult && !isFormulaError(text);
}

/** A text of this many letters that begins a title is that title, cut. */
const leastCut = 200;

/** Whether a cell has this title, apart from what spreadsheet programs change: spaces, signs, the end of a long text. */
function isSameTitle(cell: string, title: string): boolean {
  const [one, other] = [folded(cell), folded(title)];
  if (one === other || Number(cell) === Number(title)) return true;
  const isCut = /(…|\.\.\.)$/.test(cell) || one.length >= leastCut;
  if (isCut && other.startsWith(one)) return true;
  // A CSV file of Windows-1252 has ? for every letter that it cannot hold.
  const parts = cell.split(/[?\uFFFD]+/).map(folded);
  return parts.length > 1 && inOrder(parts, other);
}

function inOrder(parts: readonly string[], text: string): boolean {
  let from = 0;
  return parts.every((part) => {
    const at = text.indexOf(part, from);
    from = at + part.length;
    return at !== -1;
  });
}

function shortened(text: string): string {
  const letters = [...text.replace(/\s+/g, ' ')];
  return letters.length <= 80 ? letters.join('') : `${letters.slice(0, 79).join('')}…`;
}
