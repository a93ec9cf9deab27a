import { channelOf, storyItem, storyOf } from '../../../src/sandbox/handlers/organization.js';
import { iso, type Renderer } from '../../../src/sandbox/handlers/renderer.js';
import type { EntityType, StoredHistory } from '../../../src/sandbox/world/types.js';
import { columns, type ExpectedTable, nested, type Row } from './row.js';
import { readableTopics } from './topics.js';

/** The tables of the organization, its channels, templates and stories. */
export function organizationTables(renderer: Renderer): ExpectedTable[] {
  const { world } = renderer;
  return [
    { table: 'organizations', key: ['id'], rows: [{ ...world.organization }] },
    {
      table: 'channels',
      key: ['id'],
      rows: [...world.channels.values()].map((channel) => ({
        description: null,
        ...columns(channelOf(renderer, channel)),
      })),
    },
    {
      table: 'automation_templates',
      key: ['slug'],
      rows: [...world.templates.values()].map((template) => ({
        ...Object.fromEntries(templateColumns.map((name) => [name, null])),
        ...Object.fromEntries(
          Object.entries(columns(template)).filter(([name]) => templateColumns.includes(name)),
        ),
        body: template,
      })),
    },
    ...storyTables(renderer),
  ];
}

const templateColumns = [
  'slug',
  'name',
  'description',
  'prompt',
  'schedule',
  'timezone',
  'model_level',
  'capability_mode',
  'allowed_capabilities',
  'created_at',
  'updated_at',
];
const relevance = ['memberId', 'relevanceKind', 'relevanceLabel', 'relevanceRationale', 'linkedAuthorIds'];
const user = ['id', 'name', 'image'];

// biome-ignore lint/suspicious/noExplicitAny: the answer as it goes over the wire
type Wire = any;

function storyTables(renderer: Renderer): ExpectedTable[] {
  const stories = [...renderer.world.stories.values()];
  return [
    {
      table: 'stories',
      key: ['slug'],
      rows: stories.map((story) => {
        const item: Wire = storyItem(story);
        const { draft, archive, viewerRelevance } = item;
        return {
          ...columns({ createdAt: item.createdAt, isRead: item.isRead }),
          ...columns({ slug: draft.slug, title: draft.title, summary: draft.summary, list: draft.list }),
          version: draft.version === undefined ? null : String(draft.version),
          ...nested('detail', ['title', 'main', 'sidebar'], draft.detail),
          ...nested('viewer_relevance', relevance, viewerRelevance),
          ...nested('viewer_relevance_user', user, viewerRelevance?.user),
          archived_at: archive ? Date.parse(archive.archivedAt) : null,
          ...nested('archived', ['reason'], archive),
          ...nested('archived_actor', ['type', 'name', 'image', 'userId'], archive?.actor),
        };
      }),
    },
    {
      table: 'story_sources',
      key: ['story_slug', 'position'],
      rows: stories.flatMap(({ slug, draft }) =>
        ((draft as Wire).sourceRefs ?? []).map((ref: Wire, index: number) => ({
          story_slug: slug,
          position: index + 1,
          type: ref.type,
          source_id: ref.id,
          label: ref.label ?? null,
        })),
      ),
    },
    {
      table: 'story_members',
      key: ['story_slug', 'member_id'],
      rows: stories.flatMap((story) =>
        storyOf(story).relevantMembers.map((member: Wire) => ({
          story_slug: story.slug,
          ...Object.fromEntries(Object.entries(columns(member)).filter(([name]) => name !== 'user')),
          ...nested('user', user, member.user),
        })),
      ),
    },
  ];
}

/** The most records that one answer has of a person's history (Limits). */
const personHistoryLimit = 50;

/** The latest records of a person's history: of all actors, and of each where there are more. */
function shownOfPerson(records: readonly StoredHistory[]): StoredHistory[] {
  const latest = (of: readonly StoredHistory[]) => of.slice(-personHistoryLimit);
  const byActor = ['agent', 'system', 'user'].map((actor) =>
    latest(records.filter(({ changedBy }) => changedBy === actor)),
  );
  return [...new Set([latest(records), ...byActor].flat())];
}

/** The history of topics, companies and people, and their merges. */
export function historyTables(renderer: Renderer): ExpectedTable[] {
  const { world } = renderer;
  const readable: { type: EntityType; id: string }[] = [
    ...readableTopics(renderer).map(({ id }) => ({ type: 'topic' as const, id })),
    ...[...world.companies.keys()].map((id) => ({ type: 'company' as const, id })),
    ...[...world.people.keys()].map((id) => ({ type: 'person' as const, id })),
  ];
  const names = new Set(readable.map(({ type, id }) => `${type}:${id}`));
  const everything = [...world.history.values()].flat();
  const recordById = new Map(everything.map((record) => [record.id, record]));
  const member = (id: string | null) => nested('user', user, id === null ? null : world.members.get(id));
  const recordRow = (record: StoredHistory): Row => ({
    ...columns({ ...record, changedAt: iso(record.changedAt) }, ['userId']),
    ...member(record.userId),
  });
  return [
    {
      table: 'history',
      key: ['id'],
      rows: readable.flatMap(({ type, id }) => {
        const records = world.history.get(`${type}:${id}`) ?? [];
        return (type === 'person' ? shownOfPerson(records) : records).map(recordRow);
      }),
      // History is never removed: the records of an entity that is gone stay.
      otherRow: ({ id }) => {
        const record = recordById.get(String(id));
        return record ? recordRow(record) : null;
      },
      rowsLag: true,
    },
    {
      table: 'merges',
      key: ['entity_type', 'source_id', 'target_id'],
      rows: world.merges
        .filter(({ entityType, targetId }) => names.has(`${entityType}:${targetId}`))
        .flatMap((merge) =>
          merge.sources.map((source) => ({
            entity_type: merge.entityType,
            source_id: source.id,
            target_id: merge.targetId,
            source_name: source.name,
            target_name: nameOf(renderer, merge.entityType, merge.targetId),
            merge_id: merge.id,
            merged_at: merge.mergedAt,
            ...member(merge.userId),
          })),
        ),
      otherRow: (row) =>
        world.merges.some(
          (merge) =>
            merge.entityType === row.entity_type &&
            merge.targetId === row.target_id &&
            merge.sources.some(({ id }) => id === row.source_id),
        )
          ? {}
          : null,
      lagging: ['source_name', 'user_name', 'user_image'],
    },
  ];
}

function nameOf({ world }: Renderer, type: EntityType, id: string): string | null {
  if (type === 'topic') return world.topics.get(id)?.title ?? null;
  return (type === 'company' ? world.companies.get(id)?.name : world.people.get(id)?.displayName) ?? null;
}
