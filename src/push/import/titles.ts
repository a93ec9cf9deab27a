import { groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { maxCellChars, noResult } from '../../sheet/grid.js';
import { sqlFile } from '../../warehouse/sql.js';
import { type EntityType, kinds } from '../change.js';
import { rowsAbout, type Store, type StoredEntity } from '../stored.js';
import { isFormulaError, textProblem, visible } from './cells.js';
import type { Header } from './header.js';
import type { ImportProblem } from './preview.js';
import { isAsking, type ParsedRow } from './rows.js';

/** A topic or company that has a title. */
interface Titled {
  readonly key: string;
  readonly id: string;
  /** What distinguishes it from others with the title: state and priority, or the domain. */
  readonly about: string;
}

const titledSql = sqlFile('push/titled');

/** A title without differences in case, spaces and the form of Unicode. titled.sql does the same. */
export function titleKey(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/gu, ' ').trim();
}

/**
 * Finds the ids of rows that have titles where the id should be. In a file without ids (`isKey`), a row is about the only
 * one with its title. In a column of ids, a title is a problem that names the id.
 */
export async function resolveTitles(
  store: Store,
  { entityType, id: column, isKeyTitle: isKey }: Header,
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
): Promise<ParsedRow[]> {
  const unknown = (row: ParsedRow) =>
    row.id !== null && !stored.has(row.id) && isAsking(row) ? titleKey(row.id) : null;
  const asked = new Set(rows.flatMap((row) => unknown(row) ?? []));
  const ofType = { entity_type: entityType };
  const found = groupBy(await rowsAbout<Titled>(store, titledSql, [...asked], ofType), (one) => one.key);
  return rows.map((row): ParsedRow => {
    const key = unknown(row);
    if (key === null) return row;
    const same = found.get(key) ?? [];
    const [only, second] = same;
    if (isKey && only && !second)
      return { ...row, id: only.id, texts: [`found by its title: ${describe(only)}`] };
    const problem = titleProblem(entityType, same, isKey);
    if (problem === null) return row;
    const wrong = { row: row.row, column: column.header, value: shortened(row.id ?? ''), problem };
    return { ...row, id: null, problems: [wrong, ...row.problems] };
  });
}

/** Why a row cannot be about a title; null for an id that is only unknown. */
function titleProblem(entityType: EntityType, same: readonly Titled[], isKey: boolean): string | null {
  const what = entityType === 'topic' ? 'title' : 'name';
  const { list, column } = kinds[entityType];
  const [first, second] = same;
  if (second)
    return `is the ${what} of ${same.length} ${list}: ${firstOf(same.map(describe), mostListed)}. Put the id of the one that you mean into a column ${column}`;
  if (!isKey) return first ? `is a ${what}; its id is ${describe(first)}. Put the id here` : null;
  return `is not the ${what} of any of the ${list}: check how it is spelled, or put the id into a column ${column}`;
}

/** More candidates than this do not help to choose. */
const mostListed = 5;

function describe({ id, about }: Titled): string {
  return about === '' ? id : `${id} (${about})`;
}

const earlierTitlesSql = sqlFile('push/earlier_titles');

/**
 * The problem of each row whose title or name is not that of its id, by row: in a sheet that was sorted without its id column,
 * the values of a row belong to another id. A title that the entity had before is as good as the present one.
 */
export async function wrongTitles(
  store: Store,
  { entityType, title: column }: Header,
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
): Promise<Map<number, ImportProblem>> {
  const asked = rows.flatMap((row) => {
    const entity = row.id === null ? undefined : stored.get(row.id);
    return entity?.title ? [{ row, entity, own: entity.title }] : [];
  });
  const owners = new Map(asked.map(({ entity, own }) => [titleKey(own), entity.id]));
  const isOf = ({ title, survivor }: StoredEntity, text: string) =>
    [title, survivor?.title ?? null].some((one) => one !== null && isSameTitle(text, one));
  const foreign = asked.flatMap(({ row, entity, own }) => {
    const { title } = row;
    const saysSomething =
      title !== null && title !== noResult && !isFormulaError(title) && textProblem(title) === null;
    // A title that was only edited, in a row that asks for nothing, changes nothing; that of another row shows that rows moved.
    if (
      saysSomething &&
      column !== null &&
      !isOf(entity, title) &&
      (isAsking(row) || owners.has(titleKey(title)))
    )
      return [{ row, entity, own, text: title, header: column.header, isNew: false }];
    // A new name of a company may be any, but not that of another row.
    const name = row.edits.name;
    const of = typeof name?.value === 'string' ? owners.get(titleKey(name.value)) : undefined;
    return name && of !== undefined && of !== entity.id && !isOf(entity, String(name.value))
      ? [{ row, entity, own, text: String(name.value), header: name.header, isNew: true }]
      : [];
  });
  const ids = [...new Set(foreign.map(({ entity }) => entity.id))];
  const found = await rowsAbout<{ id: string; title: string }>(store, earlierTitlesSql, ids, {
    entity_type: entityType,
  });
  const earlier = groupBy(found, ({ id }) => id);
  const wrong = foreign.filter(
    ({ entity, text }) => !earlier.get(entity.id)?.some(({ title }) => isSameTitle(text, title)),
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

/** Whether a cell has this title. Sheets that we write protect a text that looks like a formula, and cut one that is too long. */
export function isSameTitle(cell: string, title: string): boolean {
  const [one, other] = [titleKey(cell.replace(/^'/, '')), titleKey(title.replace(/^'/, ''))];
  return one === other || (title.length >= maxCellChars && other.startsWith(one.replace(/…$/, '')));
}

function shortened(text: string): string {
  const letters = [...visible(text.replace(/\s+/g, ' '))];
  return letters.length <= 80 ? letters.join('') : `${letters.slice(0, 79).join('')}…`;
}
