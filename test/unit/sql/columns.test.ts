import { beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import * as automations from '../../../src/contract/automations.js';
import * as companies from '../../../src/contract/companies.js';
import * as history from '../../../src/contract/history.js';
import * as messages from '../../../src/contract/messages.js';
import * as people from '../../../src/contract/people.js';
import * as service from '../../../src/contract/service.js';
import * as stories from '../../../src/contract/stories.js';
import * as topics from '../../../src/contract/topics.js';
import { openStand, type Stand } from './stand.js';

/** Each documented object, the table that holds it, and how its fields' names differ from the columns'. */
const documented: { table: string; of: z.ZodType; but?: Record<string, string | null> }[] = [
  { table: 'organizations', of: service.organization },
  { table: 'channels', of: service.channel },
  { table: 'topics', of: topics.topic },
  // Authors are documents of their own, people rows of topic_people.
  { table: 'topics', of: topics.topicListItem, but: { authors: 'author_ids', persons: null } },
  { table: 'topic_people', of: topics.topicListPerson, but: { id: 'person_id' } },
  { table: 'topic_people', of: topics.topicPerson, but: { id: 'person_id', identities: null } },
  {
    table: 'messages',
    of: messages.message,
    but: {
      author: 'author_id',
      reply_to: 'reply_to',
      thread: 'thread',
      quote_highlights: null,
      reactions: null,
    },
  },
  { table: 'authors', of: messages.author },
  { table: 'groups', of: messages.group },
  { table: 'people', of: people.person, but: { company_employees: null } },
  { table: 'person_identities', of: people.identity },
  { table: 'person_source_stats', of: people.sourceStat },
  { table: 'companies', of: companies.company },
  { table: 'companies', of: companies.companyListItem },
  { table: 'companies', of: companies.companyActivity, but: { source_stats: null } },
  { table: 'company_identities', of: companies.companyIdentity },
  { table: 'history', of: history.historyRecord },
  {
    table: 'stories',
    of: stories.storyListItem,
    but: {
      archive_archived_at: 'archived_at',
      archive_reason: 'archived_reason',
      archive_actor_type: 'archived_actor_type',
      archive_actor_name: 'archived_actor_name',
      archive_actor_image: 'archived_actor_image',
      archive_actor_user_id: 'archived_actor_user_id',
      draft_slug: 'slug',
      draft_title: 'title',
      draft_summary: 'summary',
      draft_version: 'version',
      draft_detail_title: 'detail_title',
      draft_detail_main: 'detail_main',
      draft_detail_sidebar: 'detail_sidebar',
      draft_list: 'list',
      draft_source_refs: null,
    },
  },
  { table: 'story_members', of: stories.relevance },
  { table: 'story_sources', of: stories.sourceRef, but: { id: 'source_id' } },
  { table: 'automation_templates', of: automations.automationTemplate },
];

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});

test('each table, each view and each column has a comment', async () => {
  const silent = await stand.all(`
    SELECT schema_name, table_name, NULL AS column_name FROM duckdb_tables() WHERE comment IS NULL AND NOT internal
    UNION ALL
    SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE comment IS NULL AND NOT internal
    UNION ALL
    SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal`);
  expect(silent).toEqual([]);
});

test('no index, key, default or sequence anywhere', async () => {
  const found = await stand.all(`
    SELECT constraint_type AS what FROM duckdb_constraints() WHERE constraint_type <> 'NOT NULL'
    UNION ALL SELECT index_name FROM duckdb_indexes()
    UNION ALL SELECT sequence_name FROM duckdb_sequences()
    UNION ALL SELECT column_default FROM duckdb_columns() WHERE column_default IS NOT NULL AND NOT internal`);
  expect(found).toEqual([]);
});

test.each(documented)('$table has a column for each documented field', async ({ table, of, but = {} }) => {
  const columns = (await stand.all(`DESCRIBE ${table}`)).map((row) => row.column_name);
  const fields = flatten(of, new Set(Object.keys(but)))
    .map((field) => (field in but ? but[field] : field))
    .filter((field) => field !== null);
  expect(fields.length).toBeGreaterThan(1);
  expect(columns).toEqual(expect.arrayContaining(fields));
});

/** The names of an object's fields in snake_case, those of nested objects after the nesting one's. */
function flatten(schema: z.ZodType, whole: ReadonlySet<string>, prefix = ''): string[] {
  const { shape } = schema as z.ZodObject;
  return Object.entries(shape).flatMap(([field, type]) => {
    const name = prefix + field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const inner = innerOf(type as z.ZodType);
    // A layout is kept as JSON, as every object whose fields are not named.
    const nested = inner.type === 'object' && !('elements' in (inner as z.ZodObject).shape);
    return nested && !whole.has(name) ? flatten(inner, whole, `${name}_`) : [name];
  });
}

function innerOf(type: z.ZodType): z.ZodType {
  return 'unwrap' in type && (type.type === 'optional' || type.type === 'nullable')
    ? innerOf((type as z.ZodOptional<z.ZodType>).unwrap())
    : type;
}
