import { migratedReason } from '../../../src/contract/topics.js';
import type { Renderer } from '../../../src/sandbox/handlers/renderer.js';
import { topicItemJson, topicOf, topicPeople } from '../../../src/sandbox/handlers/topics.js';
import type { StoredTopic } from '../../../src/sandbox/world/types.js';
import {
  anything,
  columns,
  deletedColumns,
  type ExpectedTable,
  nested,
  notDeleted,
  type Row,
} from './row.js';

/** `GET /topics` returns every topic except superseded ones, which can only be read by id. */
export function listedTopics(renderer: Renderer): StoredTopic[] {
  return [...renderer.world.topics.values()].filter((topic) => topic.graphStatus !== 'superseded');
}

/** The topics whose conversations and history the API returns. */
export function readableTopics(renderer: Renderer): StoredTopic[] {
  return listedTopics(renderer).filter((topic) => !topic.migrated);
}

export function topicTables(renderer: Renderer): ExpectedTable[] {
  return [topics(renderer), people(renderer)];
}

const priorities = ['very_high', 'high', 'default', 'low', 'very_low'];

function topics(renderer: Renderer): ExpectedTable {
  return {
    table: 'topics',
    key: ['id'],
    rows: listedTopics(renderer).map((topic) => ({
      ...item(renderer, topic),
      ...(topic.migrated ? {} : detail(renderer, topic)),
      ...notDeleted,
      priority_rank: priorities.indexOf(topic.priority) + 1,
      detail_unavailable_reason: topic.migrated ? migratedReason : null,
    })),
    otherRow: ({ id }) => {
      const topic = renderer.world.topics.get(String(id));
      // It was superseded after it was listed: it exists, and is no longer listed.
      return topic
        ? { ...detail(renderer, topic), ...notDeleted }
        : deletedColumns(renderer.world, 'topic', String(id));
    },
    lagging: ['successor_topic_title'],
  };
}

function item(renderer: Renderer, topic: StoredTopic): Row {
  const { authors, linkedTicket, ...rest } = JSON.parse(topicItemJson(renderer, topic));
  return {
    ...columns(rest, ['persons']),
    priority_rank: rankOf(rest.priority),
    author_ids: authors.map((author: { id: string }) => author.id),
    ...nested('linked_ticket', ['displayName', 'linkType', 'url'], linkedTicket),
  };
}

function detail(renderer: Renderer, topic: StoredTopic): Row {
  const wire = topicOf(renderer, topic);
  return {
    ...columns(wire, ['successorTopic']),
    priority_rank: rankOf(wire.priority),
    ...nested('successor_topic', ['id', 'title'], wire.successorTopic),
  };
}

const rankOf = (priority: string) =>
  ['very_high', 'high', 'default', 'low', 'very_low'].indexOf(priority) + 1;

const company = ['id', 'name', 'domain', 'logoUrl'];

function people(renderer: Renderer): ExpectedTable {
  const listed = listedTopics(renderer);
  return {
    table: 'topic_people',
    key: ['topic_id', 'person_id'],
    rows: listed.flatMap((topic) => {
      const embedded: { id: string; isStaff: boolean; company: { isOrgCompany: boolean } | null }[] =
        JSON.parse(topicItemJson(renderer, topic)).persons;
      return topicPeople(renderer, topic).map((person) => {
        const inList = embedded.find(({ id }) => id === person.id);
        return {
          topic_id: topic.id,
          person_id: person.id,
          ...columns(person, ['id', 'company', 'identities']),
          ...nested('company', company, person.company),
          is_staff: inList?.isStaff ?? null,
          company_is_org_company: inList?.company?.isOrgCompany ?? null,
        };
      });
    }),
    // The list does not return superseded topics, so it does not say who takes part in them.
    otherRow: ({ topic_id: id }) =>
      renderer.world.topics.get(String(id))?.graphStatus === 'superseded'
        ? { message_count: anything }
        : null,
    lagging: ['title', 'is_vip'],
  };
}
