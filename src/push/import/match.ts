import { groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { type Grid, noResult } from '../../sheet/grid.js';
import { sqlFile } from '../../warehouse/sql.js';
import { type EntityType, kinds } from '../change.js';
import { blockedReason, rowsAbout, type Store, type StoredEntity, storedEntities } from '../stored.js';
import type { Header } from './header.js';
import { parsePairs } from './pairs.js';
import type { ImportProblem } from './preview.js';
import {
  combineRows,
  type EntityEdits,
  isAsking,
  isFormulaError,
  isSameTitle,
  type ParsedRow,
  parseRows,
  textProblem,
  titleKey,
  visible,
} from './rows.js';

/** What the rows of a file ask for, by the ids that they change. */
export interface Edits {
  readonly entities: readonly EntityEdits[];
  /** What the warehouse has of the ids. */
  readonly stored: ReadonlyMap<string, StoredEntity>;
  /** What was found by titles, as sentences. */
  readonly notes: readonly string[];
  /** Why rows cannot be about their id, by row: it cannot be changed, or has another title. */
  readonly idProblems: ReadonlyMap<number, readonly ImportProblem[]>;
  readonly problems: readonly ImportProblem[];
}

/** Reads every row, and finds its topic or company in the warehouse. */
export async function readEdits(store: Store, header: Header, grid: Grid): Promise<Edits> {
  const { isKeyTitle, entityType } = header;
  const parsed = header.pair ? await parsePairs(store, header.pair, header, grid) : parseRows(header, grid);
  // Rows that ask for nothing, most rows of a sheet with base columns, are not looked up.
  const lookUp = (rows: readonly ParsedRow[]) => {
    const ids = rows.flatMap((row) => (isAsking(row) ? (row.id ?? []) : []));
    return storedEntities(store, entityType, [...new Set(ids)]);
  };
  const byId = isKeyTitle ? new Map<string, StoredEntity>() : await lookUp(parsed);
  const resolved = await resolveTitles(store, header, parsed, byId);
  const stored = isKeyTitle ? await lookUp(resolved) : byId;
  const titles = await wrongTitles(store, header, resolved, stored);
  const idProblems = new Map<number, ImportProblem[]>();
  for (const row of resolved) {
    if (row.id === null || !isAsking(row)) continue;
    const problem = blockedReason(stored.get(row.id));
    const blocked = { row: row.row, column: header.id.header, value: row.id, problem: problem ?? '' };
    const all = [...(problem === null ? [] : [blocked]), ...(titles.get(row.row) ?? [])];
    if (all.length > 0) idProblems.set(row.row, all);
  }
  const rows = resolved.map((row) => ({ ...row, problems: problemsOf(row, header, stored) }));
  const { entities, problems } = combineRows(rows);
  const wrong = rows.flatMap((row) =>
    row.problems.length > 0 ? [...row.problems, ...(idProblems.get(row.row) ?? [])] : [],
  );
  return {
    entities,
    stored,
    idProblems,
    problems: [...wrong, ...problems],
    notes: rows.flatMap(({ row, foundBy }) =>
      foundBy === null ? [] : [`Row ${row}: found by its title: ${foundBy}.`],
    ),
  };
}

/** What is wrong in the cells of a row. A value that cannot be set is no problem where the warehouse has the same. */
function problemsOf(
  { id, problems }: ParsedRow,
  { edited }: Header,
  stored: ReadonlyMap<string, StoredEntity>,
): readonly ImportProblem[] {
  const values = (id === null ? undefined : stored.get(id)?.values) ?? {};
  return problems.filter(({ column, value }) => {
    const own = values[edited.find(({ header }) => header === column)?.field.name ?? ''];
    return typeof own !== 'string' || own.trim().toLowerCase() !== value?.toLowerCase();
  });
}

/** A topic or company that has a title. */
interface Titled {
  readonly key: string;
  readonly id: string;
  /** What distinguishes it from others with the title: state and priority, or the domain. */
  readonly about: string;
}

const titledSql = sqlFile('push/titled');

/**
 * Finds the ids of rows that have titles where the id should be. In a file without ids (`isKeyTitle`), a row is about the only
 * one with its title. In a column of ids, a title is a problem that names the id.
 */
async function resolveTitles(
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
    if (isKey && only && !second) return { ...row, id: only.id, foundBy: describe(only) };
    const problem = titleProblem(entityType, same, isKey);
    if (problem === null) return row;
    const wrong = { row: row.row, column: column.header, value: shortened(row.id ?? ''), problem };
    return { ...row, id: null, problems: [wrong, ...row.problems] };
  });
}

/** Why a row cannot be about a title; null for an id that is only unknown. */
function titleProblem(entityType: EntityType, same: readonly Titled[], isKey: boolean): string | null {
  const what = titleWord(entityType);
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

function titleWord(entityType: EntityType): string {
  return entityType === 'topic' ? 'title' : 'name';
}

const earlierTitlesSql = sqlFile('push/earlier_titles');

/**
 * The problem of each row whose title or name is not that of its id, by row: in a sheet that was sorted without its id column,
 * the values of a row belong to another id. A title that the entity had before is as good as the present one.
 */
async function wrongTitles(
  store: Store,
  { entityType, title: column }: Header,
  rows: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
): Promise<Map<number, ImportProblem[]>> {
  const asked = rows.flatMap((row) => {
    const entity = row.id === null || !isAsking(row) ? undefined : stored.get(row.id);
    return entity?.title ? [{ row, entity, own: entity.title }] : [];
  });
  const owners = new Map(asked.map(({ entity, own }) => [titleKey(own), entity.id]));
  const isOf = ({ title, survivor }: StoredEntity, text: string) =>
    [title, survivor?.title ?? null].some((one) => one !== null && isSameTitle(text, one));
  const foreign = asked.flatMap(({ row, entity, own }) => {
    const { title } = row;
    const saysSomething =
      title !== null && title !== noResult && !isFormulaError(title) && textProblem(title) === null;
    if (saysSomething && column !== null && !isOf(entity, title))
      return [{ row, entity, own, text: title, header: column.header, isNew: false }];
    // A new name of a company may be any, but not that of another row.
    const name = row.edits.name;
    const of = typeof name?.value === 'string' ? owners.get(titleKey(name.value)) : undefined;
    return name && of !== undefined && of !== entity.id && !isOf(entity, String(name.value))
      ? [{ row, entity, own, text: String(name.value), header: name.header, isNew: true }]
      : [];
  });
  const ids = [...new Set(foreign.map(({ entity }) => entity.id))];
  const found = await rowsAbout<{ id: string; title: string | null }>(store, earlierTitlesSql, ids, {
    entity_type: entityType,
  });
  const earlier = groupBy(found, ({ id }) => id);
  const wrong = foreign.filter(
    ({ entity, text }) =>
      !earlier.get(entity.id)?.some(({ title }) => title !== null && isSameTitle(text, title)),
  );
  const renamed = wrong.filter(({ isNew }) => isNew).length;
  return new Map(
    // One company may get the name of another: two that are one are named alike. Several are rows that moved.
    wrong.flatMap(({ row: { row }, own, text, header, isNew }): [number, ImportProblem[]][] => {
      if (isNew && renamed === 1) return [];
      const what = titleWord(entityType);
      const problem = `is not the ${what} of this id, which is "${shortened(own)}": put each id back beside its ${what}, or delete the row; if the ids are right, delete the column of the ${what}`;
      return [[row, [{ row, column: header, value: shortened(text), problem }]]];
    }),
  );
}

function shortened(text: string): string {
  const letters = [...visible(text.replace(/\s+/g, ' '))];
  return letters.length <= 80 ? letters.join('') : `${letters.slice(0, 79).join('')}…`;
}
