import { groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { type Grid, noResult } from '../../sheet/grid.js';
import { sqlFile } from '../../store/sql.js';
import { kinds } from '../fields.js';
import type { ImportProblem } from '../plan.js';
import { rowsAbout, type Store, type StoredEntity, type StoredOf, storedEntitiesOf } from '../stored.js';
import type { Header } from './header.js';
import {
  combineRows,
  type EntityEdits,
  isAsking,
  isSameTitle,
  type ParsedRow,
  parseRows,
  titleKey,
} from './rows.js';
import { isFormulaError, textProblem, visible } from './values.js';

/** What the rows of a file ask for, by the topics or companies that they change. */
export interface Edits {
  readonly entities: readonly EntityEdits[];
  /** What the warehouse has of them. */
  readonly storedOf: StoredOf;
  /** What was found by titles, as sentences. */
  readonly notes: readonly string[];
  /** Why rows cannot be about their id, by row: it cannot be changed, or has another title. */
  readonly idProblems: ReadonlyMap<number, ImportProblem>;
  readonly problems: readonly ImportProblem[];
}

/** Reads every row, and finds its topic or company in the warehouse. */
export async function readEdits(store: Store, header: Header, grid: Grid): Promise<Edits> {
  const { entityType } = header;
  const parsed = parseRows(header, grid);
  const { rows, notes } = header.isKeyTitle
    ? await byTitle(store, header, parsed)
    : { rows: parsed, notes: [] };
  // Rows that ask for nothing, most rows of a sheet with base columns, are not looked up.
  const asking = rows.flatMap((row) => (row.id !== null && isAsking(row) ? [{ ...row, id: row.id }] : []));
  const storedOf = await storedEntitiesOf(
    store,
    asking.map(({ id: entityId }) => ({ entityType, entityId })),
  );
  const entityOf = (id: string | null) => (id === null ? undefined : storedOf({ entityType, entityId: id }));
  const titles = await wrongTitles(store, header, asking, entityOf);
  const idProblems = new Map(
    asking.flatMap(({ row, id }): [number, ImportProblem][] => {
      const entity = entityOf(id);
      const unknown = 'is not a known id: check it. What is new is known after the next sync';
      const problem = entity ? entity.blockedReason : unknown;
      const blocked = problem === null ? [] : [{ row, column: header.id.header, value: id, problem }];
      const [found = titles.get(row)] = blocked;
      return found ? [[row, found]] : [];
    }),
  );
  const checked = rows.map((row) => {
    const { values = {} } = entityOf(row.id) ?? {};
    return { ...row, problems: row.problems.filter((one) => !isStored(one, header, values)) };
  });
  const { entities, problems } = combineRows(checked);
  const wrong = checked.flatMap(({ row, problems: own }) =>
    own.length > 0 ? [...own, ...[idProblems.get(row) ?? []].flat()] : [],
  );
  return { entities, storedOf, idProblems, problems: [...wrong, ...problems], notes };
}

/** A value that cannot be set is no problem where the warehouse has the same. */
function isStored(
  { column, value }: ImportProblem,
  { edited }: Header,
  values: StoredEntity['values'],
): boolean {
  const own = values[edited.find(({ header }) => header === column)?.field.name ?? ''];
  return typeof own === 'string' && own.trim().toLowerCase() === value?.toLowerCase();
}

/** A topic or company that has a title. */
interface Titled {
  readonly key: string;
  readonly id: string;
  /** What distinguishes it from others with the title: state and priority, or the domain. */
  readonly about: string;
}

const titledSql = sqlFile('push/titled');

/** More candidates than this do not help to choose. */
const maxListed = 5;

/** The rows of a file without ids, each with the id of the only topic or company that has its title. */
async function byTitle(
  store: Store,
  { entityType, id: column }: Header,
  rows: readonly ParsedRow[],
): Promise<{ readonly rows: readonly ParsedRow[]; readonly notes: readonly string[] }> {
  const keyOf = (row: ParsedRow) => (row.id !== null && isAsking(row) ? titleKey(row.id) : null);
  const keys = new Set(rows.flatMap((row) => keyOf(row) ?? []));
  const ofType = { entity_type: entityType };
  const found = groupBy(await rowsAbout<Titled>(store, titledSql, [...keys], ofType), ({ key }) => key);
  const described = ({ id, about }: Titled) => (about === '' ? id : `${id} (${about})`);
  const { list, column: idColumn } = kinds[entityType];
  const notes: string[] = [];
  const resolved = rows.map((row): ParsedRow => {
    const key = keyOf(row);
    if (key === null) return row;
    const same = found.get(key) ?? [];
    const [only, second] = same;
    if (only && !second) {
      notes.push(`Row ${row.row}: found by its title: ${described(only)}.`);
      return { ...row, id: only.id };
    }
    const problem = second
      ? `is the ${titleWord(entityType)} of ${same.length} ${list}: ${firstOf(same.map(described), maxListed)}. Put the id of the one that you mean into a column ${idColumn}`
      : `is not the ${titleWord(entityType)} of any of the ${list}: check how it is spelled, or put the id into a column ${idColumn}`;
    const wrong = { row: row.row, column: column.header, value: shortened(row.id ?? ''), problem };
    return { ...row, id: null, problems: [wrong, ...row.problems] };
  });
  return { rows: resolved, notes };
}

function titleWord(entityType: Header['entityType']): string {
  return entityType === 'topic' ? 'title' : 'name';
}

const earlierTitlesSql = sqlFile('push/earlier_titles');

/**
 * The problem of each row whose title or name is not that of its id, by row: in a sheet that was sorted without its id column,
 * the values of a row belong to another id. A title that the entity had before is as good as the present one.
 */
async function wrongTitles(
  store: Store,
  { entityType, title: column, isKeyTitle }: Header,
  rows: readonly (ParsedRow & { readonly id: string })[],
  entityOf: (id: string) => StoredEntity | undefined,
): Promise<Map<number, ImportProblem>> {
  if (isKeyTitle) return new Map();
  const owners = new Map(rows.map(({ id }) => [titleKey(entityOf(id)?.title ?? ''), id]));
  const moved = rows.flatMap(({ row, id, edits: { name } }) => {
    const own = entityOf(id)?.title ?? null;
    const owner = name && owners.get(titleKey(String(name.value)));
    if (!name || own === null || owner === undefined || owner === id) return [];
    return [{ row, id, title: String(name.value), own, header: name.header }];
  });
  const foreign = rows.flatMap(({ row, id, title }) => {
    const own = entityOf(id)?.title ?? null;
    const saysNothing =
      title === null || title === noResult || isFormulaError(title) || textProblem(title) !== null;
    const isForeign = column !== null && own !== null && !saysNothing && !isSameTitle(title, own);
    return isForeign ? [{ row, id, title, own, header: column.header }] : [];
  });
  // One company may get the name of another: two that are one are named alike. Several are rows that moved.
  const found = moved.length > 1 ? [...moved, ...foreign] : foreign;
  const ids = [...new Set(found.map(({ id }) => id))];
  const earlier = await rowsAbout<{ id: string; title: string | null }>(store, earlierTitlesSql, ids, {
    entity_type: entityType,
  });
  const titles = groupBy(earlier, ({ id }) => id);
  const what = titleWord(entityType);
  return new Map(
    found.flatMap(({ row, id, title, own, header }): [number, ImportProblem][] => {
      if (titles.get(id)?.some((one) => one.title !== null && isSameTitle(title, one.title))) return [];
      const problem = `is not the ${what} of this id, which is "${shortened(own)}": put each id back beside its ${what}, or delete the row; if the ids are right, delete the column of the ${what}`;
      return [[row, { row, column: header, value: shortened(title), problem }]];
    }),
  );
}

function shortened(text: string): string {
  const letters = [...visible(text.replace(/\s+/g, ' '))];
  return letters.length <= 80 ? letters.join('') : `${letters.slice(0, 79).join('')}…`;
}
