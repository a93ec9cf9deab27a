import { folded } from '../../base/closest.js';
import { groupBy } from '../../base/group-by.js';
import { noResult } from '../../sheet/grid.js';
import { sqlFile } from '../../warehouse/sql.js';
import type { EntityType } from '../change.js';
import { sheetTables } from '../edit-sheet.js';
import { rowsAbout, type Store, type StoredEntity } from '../stored.js';
import { isFormulaError } from './cells.js';
import type { Header } from './header.js';
import type { ImportProblem } from './preview.js';
import { isAsking, type ParsedRow } from './rows.js';

/** A topic or company that has a title, or nearly. */
interface Titled {
  readonly asked: string;
  readonly id: string;
  readonly title: string;
  /** What tells it from others with the title: state and priority, or the domain. */
  readonly about: string;
  readonly is_open: boolean;
  /** Whether the title is the same, apart from how it is spelled; otherwise it is only similar. */
  readonly is_same: boolean;
}

const titledSql = sqlFile('push/titled');

/**
 * Finds the ids of rows that have titles where the id should be. In a file without ids (`isKey`), a row is about the only
 * open topic with its title, or else the only one; with `isExact`, because nobody sees a preview, only about the only one
 * with exactly this title. In a column of ids, a title is a problem that names the id.
 */
export async function resolveTitles(
  store: Store,
  { entityType, id: column, isKeyTitle: isKey }: Header,
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
  isExact: boolean,
): Promise<ParsedRow[]> {
  const unknown = (row: ParsedRow) =>
    row.id !== null && !stored.has(row.id) && isAsking(row) ? row.id : null;
  const asked = new Set(rows.flatMap((row) => unknown(row) ?? []));
  const ofType = { entity_type: entityType };
  const found = groupBy(await rowsAbout<Titled>(store, titledSql, [...asked], ofType), (one) => one.asked);
  return rows.map((row): ParsedRow => {
    const text = unknown(row);
    if (text === null) return row;
    const candidates = found.get(text) ?? [];
    const same = candidates.filter((one) => one.is_same);
    const only = isKey ? onlyOne(text, same, isExact) : undefined;
    if (only) return { ...row, id: only.id, texts: [`found by its title: ${describe(only)}`] };
    const problem = titleProblem(entityType, candidates, isKey);
    if (problem === null) return row;
    const wrong = { row: row.row, column: column.header, value: shortened(text), problem };
    return { ...row, id: null, problems: [wrong, ...row.problems] };
  });
}

function onlyOne(text: string, same: readonly Titled[], isExact: boolean): Titled | undefined {
  const open = same.filter((one) => one.is_open);
  const [only, second] = isExact || open.length === 0 ? same : open;
  if (second !== undefined || (isExact && only?.title.trim() !== text)) return undefined;
  return only;
}

/** Why a row cannot be about a title; null for an id that is only unknown. */
function titleProblem(entityType: EntityType, candidates: readonly Titled[], isKey: boolean): string | null {
  const what = entityType === 'topic' ? 'title' : 'name';
  const { table: plural, id } = sheetTables[entityType];
  const same = candidates.filter((one) => one.is_same);
  const [first, second] = same;
  const list = same.slice(0, mostListed).map(describe).join('; ');
  const more = same.length > mostListed ? `; and ${same.length - mostListed} more` : '';
  const [nearest] = candidates;
  if (second)
    return `is the ${what} of ${same.length} ${plural}: ${list}${more}. Put the id of the one that you mean into a column ${id}`;
  if (!isKey) return first ? `is a ${what}; its id is ${describe(first)}. Put the id here` : null;
  if (first)
    return `is not exactly the ${what} "${shortened(first.title)}" of ${describe(first)}: write it like that, or put the id into a column ${id}`;
  const guess = nearest ? `; did you mean "${shortened(nearest.title)}" of ${describe(nearest)}?` : '';
  return `is not the ${what} of any of the ${plural}${guess || ': check how it is spelled'}`;
}

/** More candidates than this do not help to choose. */
const mostListed = 5;

function describe({ id, about }: Titled): string {
  return about === '' ? id : `${id} (${about})`;
}

const earlierTitlesSql = sqlFile('push/earlier_titles');

/**
 * The problem of each row whose title or name is not that of its id, by row: in a sheet that was sorted without its id column,
 * the values of a row belong to another id. A title that the topic had before is as good as the present one, in any spelling
 * in which spreadsheet programs leave it.
 */
export async function wrongTitles(
  store: Store,
  { entityType, title: column }: Header,
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
): Promise<Map<number, ImportProblem>> {
  const isOf = ({ title, survivor }: StoredEntity, text: string) =>
    [title, survivor?.title ?? null].some((one) => one !== null && isSameTitle(text, one));
  const asked = rows.flatMap((row) => {
    const entity = row.id === null ? undefined : stored.get(row.id);
    return entity?.title ? [{ row, entity, own: entity.title }] : [];
  });
  const others = new Map(asked.map(({ entity, own }) => [folded(own), entity.id]));
  // Titles may differ in signs alone (C++ and C#), or have no letters.
  const spelled = new Map(asked.map(({ entity, own }) => [own.trim(), entity]));
  const isOther = (entity: StoredEntity, text: string) =>
    entity.title?.trim() !== text && (spelled.get(text) ?? entity) !== entity;
  const foreign = asked.flatMap(({ row, entity, own }) => {
    const { title } = row;
    // A title that was only edited, in a row that asks for nothing, changes nothing; that of another row shows that rows moved.
    const isWrong = (text: string) =>
      isOther(entity, text) || (!isOf(entity, text) && (isAsking(row) || others.has(folded(text))));
    // Not where its program has left nothing of the text.
    const saysSomething =
      title !== null &&
      (folded(title) !== '' || isOther(entity, title)) &&
      title !== noResult &&
      !isFormulaError(title);
    if (saysSomething && column !== null && isWrong(title))
      return [{ row, entity, own, text: title, header: column.header, isNew: false }];
    // A new name of a company may be any, but not that of another row.
    const name = row.edits.name;
    const of = typeof name?.value === 'string' ? others.get(folded(name.value)) : undefined;
    return name && of !== undefined && of !== entity.id && !isOf(entity, String(name.value))
      ? [{ row, entity, own, text: String(name.value), header: name.header, isNew: true }]
      : [];
  });
  const ids = [...new Set(foreign.map(({ entity }) => entity.id))];
  const ofType = { entity_type: entityType };
  const earlier = groupBy(
    await rowsAbout<{ id: string; title: string }>(store, earlierTitlesSql, ids, ofType),
    ({ id }) => id,
  );
  const wrong = foreign.filter(
    ({ entity, text }) =>
      !earlier
        .get(entity.id)
        ?.some(({ title }) => (isOther(entity, text) ? title.trim() === text : isSameTitle(text, title))),
  );
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

/** A text of this many letters that begins a title is that title, cut. */
const leastCut = 200;

/** Whether a cell has this title, apart from what spreadsheet programs change: spaces, signs, the end of a long text. */
export function isSameTitle(cell: string, title: string): boolean {
  const [one, other] = [folded(cell), folded(title)];
  if (one === other || Number(cell) === Number(title)) return true;
  const isCut = /(…|\.\.\.)$/.test(cell) || one.length >= leastCut;
  if (isCut && other.startsWith(one)) return true;
  // A CSV file of Windows-1252 has ? for every letter that it cannot hold.
  const parts = cell.split(/[?\uFFFD]+/).map(folded);
  const isWhole = other.startsWith(parts[0] ?? '') && (isCut || other.endsWith(parts.at(-1) ?? ''));
  let from = 0;
  const isNext = (part: string) => {
    const at = other.indexOf(part, from);
    from = at + part.length;
    return at !== -1;
  };
  return parts.length > 1 && isWhole && parts.every(isNext);
}

function shortened(text: string): string {
  const letters = [...text.replace(/\s+/g, ' ')];
  return letters.length <= 80 ? letters.join('') : `${letters.slice(0, 79).join('')}…`;
}
