import { stringify } from 'yaml';

/** A source for each schema, because a source has one. */
const sources = [
  {
    name: 'signalhouse',
    schema: 'main',
    description:
      'The views for analysts, and what the API returns as tables. All times are TIMESTAMPTZ in UTC. Ids are those of the API, as text.',
  },
  {
    name: 'signalhouse_ops',
    schema: 'ops',
    description: 'What the worker did: runs, what is due, rejected records, queued changes, requests.',
  },
  {
    name: 'signalhouse_raw',
    schema: 'raw',
    description: 'Every answer of the API, stored as it came. The tables are derived from it.',
  },
];

/**
 * What identifies a row of a view; sql/models says it of the tables.
 * @type {Record<string, string[]>}
 */
const keysOfViews = {
  author_people: ['author_id'],
  awaiting_reply: ['group_id'],
  backlog: ['topic_id'],
  backlog_weekly: ['week', 'priority', 'lifecycle_state'],
  companies_at_risk: ['company_id'],
  company_health: ['company_id'],
  company_topics: ['company_id', 'topic_id'],
  conversation_topics: ['group_id'],
  conversation_turns: ['group_id', 'turn'],
  lifecycle_funnel: ['step'],
  lifecycle_transitions: ['history_id'],
  message_senders: ['message_id'],
  open_changes: ['change_id'],
  open_topics: ['topic_id'],
  person_roles: ['person_id'],
  priority_transitions: ['history_id'],
  source_mix: ['week', 'source_name'],
  topic_momentum: ['topic_id'],
  topic_states: ['topic_id', 'valid_from'],
  unanswered_groups: ['group_id'],
};

/** Columns of a key that may be NULL: a topic without a priority is a topic. */
const mayBeNull = new Set(['backlog_weekly.priority', 'backlog_weekly.lifecycle_state']);

/**
 * The table that a column of that name refers to.
 * @type {Record<string, string>}
 */
const refersTo = {
  author_id: 'authors',
  channel_id: 'channels',
  company_id: 'companies',
  group_id: 'groups',
  message_id: 'messages',
  person_id: 'people',
  story_slug: 'stories',
  topic_id: 'topics',
};

const heading = '# Made by npm run build from the comments and keys in sql/: change those, not this file.\n';

/**
 * The sources of the dbt project: tables and views with their descriptions from the comments in sql/, and tests from the
 * keys in sql/models. Throws when a key names a column that there is not.
 * @param {Awaited<ReturnType<typeof import('./read-schema.mjs').readSchema>>} schema
 * @param {import('../src/load/models.js').Models} models
 * @returns {{ file: string, text: string }[]}
 */
export function dbtSources({ relations, columns }, models) {
  const tables = Object.fromEntries(
    [...models.documents, ...models.derived].map(({ table, key }) => [table, [...key]]),
  );
  const keys = { ...tables, ...keysOfViews };
  for (const [table, key] of Object.entries(keys))
    for (const column of key)
      if (!columns.some((it) => it.schema === 'main' && it.table_name === table && it.name === column))
        throw new Error(`the key of ${table} names ${column}, which it does not have`);
  return sources.map(({ name, schema, description }) => {
    const described = relations
      .filter((it) => it.schema === schema && it.of !== 'macros')
      .map((relation) => {
        const table = relation.name ?? '';
        const key = schema === 'main' ? (keys[table] ?? []) : [];
        const isModel = schema === 'main' && table in tables;
        return {
          name: table,
          description: plain(relation.comment),
          ...(schema === 'ops' && table === 'runs' ? freshness : {}),
          ...(key.length > 1 ? { data_tests: [{ unique_rows: { arguments: { columns: key } } }] } : {}),
          columns: columns
            .filter((it) => it.schema === schema && it.table_name === table)
            .map((column) => ({
              name: column.name,
              description: plain(column.comment),
              data_type: column.type,
              ...testsOf(table, column.name ?? '', key, isModel),
            })),
        };
      });
    const source = { name, description, database: 'signals', schema, tables: described };
    const text = stringify({ version: 2, sources: [source] }, { lineWidth: 0, aliasDuplicateObjects: false });
    return { file: `${name}.yml`, text: heading + text };
  });
}

/** When the last sync ended: for `dbt source freshness`. */
const freshness = {
  config: {
    loaded_at_field: 'ended_at',
    freshness: {
      filter: "command = 'sync' AND outcome <> 'failed'",
      warn_after: { count: 26, period: 'hour' },
      error_after: { count: 3, period: 'day' },
    },
  },
};

/**
 * @param {string} table
 * @param {string} column
 * @param {string[]} key
 * @param {boolean} isModel
 */
function testsOf(table, column, key, isModel) {
  const isKey = key.includes(column) && !mayBeNull.has(`${table}.${column}`);
  const to = refersTo[column];
  const tests = [
    ...(isKey ? ['not_null'] : []),
    ...(key.length === 1 && isKey ? ['unique'] : []),
    ...(isModel && to !== undefined
      ? [
          {
            relationships: {
              arguments: {
                to: `source('signalhouse', '${to}')`,
                field: to === 'stories' ? 'slug' : 'id',
              },
              // A pull that stopped at a limit has rows whose counterpart comes with the next one.
              config: { severity: 'warn' },
            },
          },
        ]
      : []),
  ];
  return tests.length > 0 ? { data_tests: tests } : {};
}

/**
 * dbt takes descriptions for templates.
 * @param {string | undefined} text
 */
function plain(text = '') {
  if (/\{[{%#]/.test(text)) throw new Error(`dbt would take this comment for a template: ${text}`);
  return text;
}
