import { automationTables } from './automations.js';
import { type Column, columnsIn } from './columns.js';
import { companyTables } from './companies.js';
import { historyTables } from './history.js';
import { messageTables } from './messages.js';
import { peopleTables } from './people.js';
import { serviceTables } from './service.js';
import { storyTables } from './stories.js';
import {
  type DerivedTable,
  type DocumentTable,
  idByType,
  type OwnColumn,
  type TableEntry,
} from './table-entry.js';
import { topicTables } from './topics.js';

/**
 * Every table of the schema main, by its name, in the order of the documentation; those of versions alone are made by the
 * migration. What is made from an entry: the table with its comments, the SELECT that fills it (unless sql/models has one),
 * what its columns say about people, docs/schema.md and the sources of dbt.
 */
export const tableEntries = {
  ...topicTables,
  ...messageTables,
  ...peopleTables,
  ...companyTables,
  ...serviceTables,
  ...historyTables,
  ...storyTables,
  ...automationTables,
  topic_group_versions: {
    key: ['topic_id', 'group_id', 'first_seen_at'],
    derived: ['topic_groups', 'topics', 'ops.coverage', 'topic_group_versions'],
  },
  duplicate_pairs: {
    comment: 'The pairs of probable_duplicates, and those that were merged since.',
    key: ['entity_type', 'id_1', 'id_2'],
    mixed: { id_1: idByType, id_2: idByType },
    derived: [
      'topics',
      'topic_group_versions',
      'groups',
      'group_people',
      'people',
      'person_identities',
      'companies',
    ],
    columns: {
      entity_type: { kind: 'none', comment: 'What they are: topic or person.' },
      id_1: { kind: 'entity_id', comment: 'The one whose id is the smaller (topics.id or people.id).' },
      id_2: { kind: 'entity_id', comment: 'The other one (topics.id or people.id).' },
      score: {
        type: 'DOUBLE',
        kind: 'none',
        comment:
          'How much speaks for it, above 0 and below 1. It ranks pairs and is no probability: probable_duplicates_precision says how often it was right.',
      },
      // Words of titles and summaries, one by one: no name and no address can be found in them.
      reasons: {
        type: 'VARCHAR[]',
        kind: 'worker_note',
        comment:
          'What speaks for it and against it, in words: the rare words that both have, people and companies in both, how far apart they began.',
      },
      outcome: {
        kind: 'none',
        comment:
          'open (both are there), merged (one was merged into the other), or gone (one of them was merged into something else).',
      },
    },
  },
} as const satisfies Record<string, TableEntry>;

/** A table with its columns. */
export type Table = (DocumentTable | DerivedTable) & {
  readonly name: string;
  /** Its columns in their order; none where the migration makes it. */
  readonly all: readonly TableColumn[];
};

/** A column of a table: what its field or the table says of it. */
export type TableColumn = Column & Omit<Partial<OwnColumn>, keyof Column>;

const syncedAt: TableColumn = {
  name: 'synced_at',
  type: 'TIMESTAMPTZ',
  kind: 'time',
  comment:
    'When one of its values last changed (UTC): when the answer with it arrived, or else when something here changed it.',
};
const runId: TableColumn = {
  name: 'run_id',
  type: 'VARCHAR',
  kind: 'none',
  comment: 'Run that last changed one of its values (ops.runs).',
};

/** Tables by their entries. Throws an error that names an entry with a column that does not fit. */
export function tablesOf(entries: Readonly<Record<string, TableEntry>>): Table[] {
  return Object.entries(entries).map(([name, entry]) => ({ ...entry, name, all: columnsOf(name, entry) }));
}

/** The program's own. */
export const tables = tablesOf(tableEntries);

function columnsOf(table: string, entry: TableEntry): TableColumn[] {
  const own = Object.entries(entry.columns ?? {}).map(
    ([name, { path, ...rest }]): TableColumn => ({
      type: 'VARCHAR',
      ...rest,
      name,
      ...(path === undefined ? {} : { path: path.split('.') }),
    }),
  );
  const isFirst = ({ name, before }: TableColumn) => before === undefined && entry.key.includes(name);
  const columns = [...own.filter(isFirst), ...columnsIn(entry.fields ?? [])];
  for (const column of own.filter((one) => !isFirst(one))) {
    const before = columns.findIndex(({ name }) => name === column.before);
    if (before < 0 && column.before !== undefined)
      throw new Error(`${table} has no column ${column.before}, before which ${column.name} stands`);
    columns.splice(before < 0 ? columns.length : before, 0, column);
  }
  if (columns.length === 0) return [];
  const lacking = entry.key.find((name) => !columns.some((column) => column.name === name));
  if (lacking !== undefined) throw new Error(`${table} has no column ${lacking}, which is in its key`);
  return [...columns, syncedAt, runId];
}

/** A table by its key; the columns of versions are not declared. */
export interface Keyed {
  readonly name: string;
  readonly key: readonly string[];
  readonly all: readonly TableColumn[];
  readonly mixed?: Table['mixed'];
}

/** Every table with its key, those of versions too. */
export function keyed(declared: readonly Table[] = tables): Keyed[] {
  return declared.flatMap((table): Keyed[] => {
    const versions = 'versions' in table ? table.versions : undefined;
    return versions === undefined
      ? [table]
      : [table, { name: versions.table, key: [versions.key, 'valid_from'], all: [] }];
  });
}

/**
 * The columns that name a row in ops.removed_rows: the first of its key, without accounts, which may be e-mail addresses. All rows
 * with the same values are named together.
 */
export function listedKey({ key, all }: Keyed): string[] {
  return key.filter((name) => all.find((column) => column.name === name)?.kind !== 'account_id');
}
