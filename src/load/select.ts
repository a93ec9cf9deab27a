import type { DocumentTable } from '../contract/table-entry.js';
import type { TableColumn } from '../contract/tables.js';
import { identifier, literal } from '../store/sql.js';

/** A table that documents fill, with its columns. */
type Declared = DocumentTable & { readonly all: readonly TableColumn[] };

/**
 * The SELECT that a declaration says, over the relation `documents`: a row is one entity as its documents have it, or one of the
 * objects in a list of it.
 */
export function selectOf(table: Declared): string {
  const { rows, repeated, key, all, ids } = table;
  const ofKey = all.filter(({ name }) => key.includes(name));
  const keys = ofKey.map((column) => valueIn(table, column)).join(', ');
  const given: readonly string[] = Object.values(ids);
  const required = ofKey.filter(({ name, path }) => path !== undefined && !given.includes(name));
  // The run is that of the code that replaces the rows.
  const columns = all
    .filter(({ name }) => name !== 'run_id')
    .map((column) => {
      const value = valueIn(table, column);
      const isSummed = repeated === 'sum' && !key.includes(column.name);
      return `${isSummed ? summed(column, value) : value} AS ${identifier(column.name)}`;
    });
  const relations = [
    ...(isJoined(table) ? joinedItems(table) : singleItems(table)),
    parsedItems(table),
    ...(rows === undefined ? [] : [objects]),
  ];
  return [
    `WITH ${relations.join(',\n')}`,
    `SELECT\n  ${columns.join(',\n  ')}`,
    `FROM ${rows === undefined ? 'parsed' : 'objects'}`,
    ...(required.length === 0
      ? []
      : [`WHERE ${required.map((column) => `${valueIn(table, column)} IS NOT NULL`).join(' AND ')}`]),
    ...(repeated === 'sum' ? [`GROUP BY ${keys}`] : []),
    ...(repeated === 'first'
      ? [`QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY position) = 1`]
      : []),
  ].join('\n');
}

/** One value for rows with the same key: of numbers their sum. */
function summed({ type }: TableColumn, value: string): string {
  return type === 'BIGINT' ? `sum(${value})::BIGINT` : `max(${value})`;
}

/** Each object in the list of an item. */
const objects = `objects AS (
  SELECT id, parent_id, unnest(list) AS item, generate_subscripts(list, 1) AS position, synced_at FROM parsed
)`;

/** Where a value is: in the item, in a member that is taken whole, or in a document beside it; and the path from there. */
interface Place {
  readonly part: string;
  readonly path: readonly string[];
}

function placeIn({ whole = [] }: Declared, [first = '', ...rest]: readonly string[]): Place {
  return whole.includes(first) ? { part: first, path: rest } : { part: 'item', path: [first, ...rest] };
}

/** The place of a column's value. */
function placeOf(table: Declared, { path = [], document }: TableColumn): Place {
  return document === undefined && table.rows === undefined
    ? placeIn(table, path)
    : { part: document ?? 'item', path };
}

/** The value of a column, over `parsed` or `objects`. */
function valueIn(table: Declared, column: TableColumn): string {
  const { name, type, is, absent } = column;
  if (name === table.ids.id) return 'id';
  if (name === table.ids.parent_id) return 'parent_id';
  if (isStamp(column)) return name;
  if (is !== undefined) return is;
  const { part, path } = placeOf(table, column);
  const value = [part, ...path].map(identifier).join('.');
  const copied = table.all.find((one) => one.name === table.copies?.[name]);
  if (copied !== undefined)
    return `CASE WHEN NOT EXISTS (FROM known WHERE known.id = ${valueIn(table, copied)}) THEN ${value} END`;
  if (type === 'TIMESTAMPTZ') return `raw.moment(${value})`;
  return absent === undefined ? value : `coalesce(${value}, ${absent})`;
}

function isStamp({ name }: TableColumn): boolean {
  return name === 'synced_at' || name === 'run_id';
}

/** What is read of a JSON value: types by the names of members, or a type. */
type Form = { readonly [member: string]: Form } | readonly [Form] | string;

/** The forms of the parts that have columns. */
function formsOf(table: Declared): Map<string, Form> {
  const forms = new Map<string, Form>();
  const ids: readonly string[] = Object.values(table.ids);
  for (const column of table.all) {
    if (ids.includes(column.name) || isStamp(column) || column.is !== undefined) continue;
    const [, type = '', list] = /^(\w+)(\[\])?$/.exec(column.type) ?? [];
    const read = type === 'TIMESTAMPTZ' ? 'VARCHAR' : type;
    const { part, path } = placeOf(table, column);
    forms.set(part, within(forms.get(part), path, list === undefined ? read : [read]));
  }
  return forms;
}

/** A form with one more member. */
function within(form: Form | undefined, [first, ...rest]: readonly string[], type: Form): Form {
  if (first === undefined) return type;
  const members = form as Readonly<Record<string, Form>> | undefined;
  return { ...members, [first]: within(members?.[first], rest, type) };
}

/** The items with the values of their members, as structs; with `rows`, the list in each. */
function parsedItems(table: Declared): string {
  const forms = formsOf(table);
  const columns: string[] = [];
  if (table.rows === undefined) {
    if (table.all.some(({ is }) => is === 'document')) columns.push('item AS document');
    for (const [part, form] of forms)
      columns.push(
        form === 'JSON'
          ? `nullif(${identifier(part)}, 'null'::JSON) AS ${identifier(part)}`
          : `${fromJson(part, form)} AS ${identifier(part)}`,
      );
  } else {
    const { part, path } = placeIn(table, table.rows.split('.'));
    const list = within(undefined, path, [forms.get('item') ?? {}]);
    columns.push(`${[fromJson(part, list), ...path.map(identifier)].join('.')} AS list`);
  }
  return `parsed AS (
  SELECT ${['id', 'parent_id', ...columns, 'synced_at'].join(', ')} FROM items
)`;
}

function fromJson(part: string, form: Form): string {
  return `from_json(${identifier(part)}, ${literal(JSON.stringify(form))})`;
}

/** The kinds of documents beside the items: what says whether an entity is there. */
export function besideOf({ all }: Declared): string[] {
  return [...new Set(all.flatMap(({ document }) => document ?? []))];
}

function isJoined(table: Declared): boolean {
  return table.documents.length + besideOf(table).length > 1;
}

/** The items of a table that one kind of documents fills. */
function singleItems({ moves }: Declared): string[] {
  const items = 'SELECT id, parent_id, body AS item, fetched_at AS synced_at FROM documents';
  if (!moves) return [`items AS (${items})`];
  // There are few that came with several parents, so they are looked up instead of sorting all.
  return [
    'again AS (SELECT id, max((answer_no, parent_id)) AS latest FROM documents GROUP BY id HAVING count(*) > 1)',
    `items AS (
  ${items} LEFT JOIN again USING (id) WHERE latest IS NULL OR (answer_no, parent_id) = latest
)`,
  ];
}

/**
 * The items that several kinds of documents describe. Joined, not grouped: a join of any size spills to disk, an aggregate of
 * texts does not.
 */
function joinedItems(table: Declared): string[] {
  const { documents, whole = [], rows, ids } = table;
  const beside = besideOf(table);
  const all = [...documents, ...beside];
  const [one = '', other = ''] = documents.length > 1 ? documents : [...documents, ...beside];
  const both = (name: string) => `coalesce(${identifier(one)}.${name}, ${identifier(other)}.${name})`;
  const ofAll = (name: string) => all.map((kind) => `${identifier(kind)}.${name}`);
  // A document without the list says nothing about its objects.
  const condition = rows === undefined ? '' : ` AND json_exists(body, ${literal(`$.${rows.split('.')[0]}`)})`;
  const newest = ofAll('').map((kind) => `WHEN ${kind}answer_no THEN ${kind}fetched_at`);
  const pair = [one, other]
    .map((kind) =>
      ['body', 'answer_no', 'fetched_at'].map((name) => `${identifier(kind)}.${name}`).join(', '),
    )
    .join(', ');
  const joins = all.slice(1).map((kind, index) => {
    const to = identifier(kind);
    if (index > 0) return `LEFT JOIN ${to} ON ${to}.id = ${both('id')}`;
    const isParent = ids.parent_id === undefined ? '' : ` AND ${to}.parent_id = ${identifier(one)}.parent_id`;
    return `FULL JOIN ${to} ON ${to}.id = ${identifier(one)}.id${isParent}`;
  });
  return [
    ...all.map(
      (kind) => `${identifier(kind)} AS (FROM documents WHERE endpoint = ${literal(kind)}${condition})`,
    ),
    `items AS (
  SELECT
    ${[
      `${both('id')} AS id`,
      `${both('parent_id')} AS parent_id`,
      `${documents.length === 2 ? `raw.younger_wins(${pair})` : inOrder(documents)} AS item`,
      ...whole.map(
        (member) => `raw.younger_field(${pair}, ${literal(`$.${member}`)}) AS ${identifier(member)}`,
      ),
      ...beside.map((kind) => `${identifier(kind)}.body AS ${identifier(kind)}`),
      `greatest(${ofAll('answer_no').join(', ')}) AS newest_no`,
      `CASE newest_no ${newest.join(' ')} END AS synced_at`,
    ].join(',\n    ')}
  FROM ${[identifier(one), ...joins].join('\n  ')}
)`,
  ];
}

/** Any number of documents, combined in the order of their answers: the newest wins where it has the field at all. */
function inOrder(documents: readonly string[]): string {
  const all = documents.map(
    (kind, place) =>
      `{'no': ${identifier(kind)}.answer_no, 'place': ${place}, 'body': ${identifier(kind)}.body}`,
  );
  return `list_reduce(
      list_transform(list_sort(list_filter([${all.join(', ')}], lambda it: it.body IS NOT NULL)), lambda it: it.body),
      lambda older, younger: json_merge_patch(older, younger)
    )`;
}
