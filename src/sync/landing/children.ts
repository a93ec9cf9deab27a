import type { z } from 'zod';
import { listIn, seen } from '../../api/page-form.js';
import { ContractError, type Where } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { company, companyActivity, companyIdentity } from '../../contract/companies.js';
import { historyRecord, historySummary } from '../../contract/history.js';
import { identity, person, sourceStat } from '../../contract/people.js';
import { channel } from '../../contract/service.js';
import { automationTemplate, storyDetail } from '../../contract/stories.js';
import { topic, topicPerson } from '../../contract/topics.js';
import type { UnpagedChild } from '../resources.js';
import { landGroups, releaseMessages } from './conversations.js';
import { type ItemKey, idOf } from './key.js';
import type { Landing } from './landing.js';
import { landEmployees, withoutEmployees } from './lists.js';

type Land = (landing: Landing, entityId: string, body: unknown, where: Where) => void;

/** How the answer of each child that comes in one piece is taken apart. */
export const landChild: Record<UnpagedChild, Land> = {
  topic: single('topic', topic),
  topic_groups: (landing, id, body, where) => {
    const items = arrayIn(body, ['data', 'groups'], where);
    landing.set('topic_groups', id, landGroups(landing, 'topic_groups', id, items));
    releaseMessages(items);
  },
  topic_people: members('topic_people', topicPerson, ['data', 'people'], (item) => idOf(item)),
  topic_history: history('topic'),
  company: single('company', company),
  company_activity: single('company_activity', companyActivity),
  company_identities: members('company_identities', companyIdentity, ['identities', 'data'], identityId),
  company_history: history('company'),
  person: (landing, id, body, where) => {
    const item = object(body, 'person', where);
    if (landing.item('person', person, item, { id, parentId: null }, withoutEmployees))
      landEmployees(landing, item);
  },
  person_identities: members('person_identities', identity, ['identities', 'data'], identityId),
  person_source_stats: members('person_source_stats', sourceStat, ['sourceStats', 'stats', 'data'], (item) =>
    idOf(item, 'source'),
  ),
  person_history: history('person'),
  channel: single('channel', channel),
  story: single('story', storyDetail, 'story'),
  automation_template: single('automation_template', automationTemplate, 'template'),
};

/** An answer that is one object, bare or under a name. */
function single(endpoint: string, schema: z.ZodType, name: string = endpoint): Land {
  return (landing, id, body, where) => {
    landing.item(endpoint, schema, object(body, name, where), { id, parentId: null });
  };
}

/** An answer that lists all members of something. */
function members(
  endpoint: string,
  schema: z.ZodType,
  names: readonly string[],
  key: (item: Record<string, unknown>) => string | null,
): Land {
  return (landing, parentId, body, where) => {
    const items = arrayIn(body, names, where);
    landing.items(endpoint, schema, items, (item) => ({ id: key(item), parentId }));
    landing.set(
      endpoint,
      parentId,
      items.flatMap((item) => (isObject(item) ? (key(item) ?? []) : [])),
    );
  };
}

/** Records are never removed: an answer shows a bounded number of them, and history does not unhappen. */
function history(type: 'topic' | 'company' | 'person'): Land {
  return (landing, entityId, body, where) => {
    const answer = object(body, type, where);
    const key = (item: Record<string, unknown>): ItemKey => ({ id: idOf(item), parentId: entityId });
    landing.items(`${type}_history`, historyRecord, arrayIn(answer, ['history', 'data'], where), key);
    const { history: _, data: __, ...summary } = answer;
    landing.item(`${type}_merges`, historySummary, summary, { id: entityId, parentId: null });
  };
}

function identityId(item: Record<string, unknown>): string | null {
  const { platform, platformId } = item;
  return typeof platform === 'string' && typeof platformId === 'string' ? `${platform}:${platformId}` : null;
}

function object(body: unknown, name: string, where: Where): Record<string, unknown> {
  const inner = isObject(body) && isObject(body[name]) && !('id' in body) ? body[name] : body;
  if (isObject(inner)) return inner;
  throw new ContractError(`${where.endpoint}: the answer to ${where.path} is not an object.`, where, {
    hint: 'Check that SIGNALHOUSE_BASE_URL is the API itself and not a proxy or a page in front of it.',
  });
}

/** The list in an answer, as `listIn` finds it. @throws ContractError where there is none */
export function arrayIn(body: unknown, names: readonly string[], where: Where): unknown[] {
  const list = listIn(body, names);
  if (list) return list;
  throw new ContractError(
    `${where.endpoint}: the answer to ${where.path} holds no list named ${names[0]}: it is ${seen(body)}.`,
    where,
    {
      hint: 'Check that SIGNALHOUSE_BASE_URL is the API itself and not a proxy or a page in front of it.',
    },
  );
}
