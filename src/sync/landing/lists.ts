import { z } from 'zod';
import { isObject } from '../../base/json.js';
import { companyListItem } from '../../contract/companies.js';
import { person } from '../../contract/people.js';
import { channel } from '../../contract/service.js';
import { automationTemplate, storyListItem } from '../../contract/stories.js';
import { topicListItem, topicListPerson } from '../../contract/topics.js';
import type { ListName } from '../resources.js';
import { landAuthors } from './conversations.js';
import { idOf } from './key.js';
import type { Landing } from './landing.js';

/** What stands in a list's item as a document of its own is judged by itself: one bad person does not cost the topic. */
const schemas: Record<ListName, z.ZodType> = {
  topics: topicListItem.extend({
    authors: z.array(z.unknown()).nullish(),
    persons: z.array(z.unknown()).nullish(),
  }),
  companies: companyListItem,
  people: person,
  channels: channel,
  stories: storyListItem,
  automation_templates: automationTemplate,
};

/** The id of a list's item, or null when it has none. */
export function listItemId(list: ListName, item: unknown): string | null {
  if (!isObject(item)) return null;
  if (list === 'stories') return isObject(item.draft) ? idOf(item.draft, 'slug') : null;
  return idOf(item, list === 'automation_templates' ? 'slug' : 'id');
}

/** Lands a page of a list. A topic's authors and persons are documents of their own. */
export function landList(landing: Landing, list: ListName, items: readonly unknown[]): void {
  const key = (item: Record<string, unknown>) => ({ id: listItemId(list, item), parentId: null });
  if (list === 'people') {
    for (const item of landing.items(list, schemas[list], items, key, withoutEmployees))
      landEmployees(landing, item);
    return;
  }
  if (list !== 'topics') {
    landing.items(list, schemas[list], items, key);
    return;
  }
  for (const item of landing.items(list, schemas[list], items, key, withoutPeople)) {
    if (Array.isArray(item.authors)) landAuthors(landing, item.authors);
    if (!Array.isArray(item.persons)) continue;
    const topicId = item.id as string;
    landing.items('topic_persons', topicListPerson, item.persons, (one) => ({
      id: idOf(one),
      parentId: topicId,
    }));
    landing.set(
      'topic_persons',
      topicId,
      item.persons.flatMap((one) => (isObject(one) ? (idOf(one) ?? []) : [])),
    );
  }
}

/**
 * A topic as it is stored: of its authors and persons the ids alone. Those of the persons are sorted, because they
 * betray that somebody else takes part, and their order means nothing.
 */
function withoutPeople({ authors, persons, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const idsOf = (list: unknown[]) => list.flatMap((one) => (isObject(one) ? (idOf(one) ?? []) : []));
  return {
    ...rest,
    ...(Array.isArray(authors) && { authorIds: idsOf(authors) }),
    ...(Array.isArray(persons) && { personIds: idsOf(persons).sort() }),
  };
}

/** A person as it is stored: the colleagues that its company lists are documents of the company. */
export function withoutEmployees(item: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(item.company) || !('employees' in item.company)) return item;
  const { employees: _, ...company } = item.company;
  return { ...item, company };
}

/** Lands the employees that a person's company lists: all there are, so that one who left goes. */
export function landEmployees(landing: Landing, item: Record<string, unknown>): void {
  const company = item.company;
  if (!isObject(company) || !Array.isArray(company.employees)) return;
  const companyId = idOf(company);
  if (companyId === null) return;
  const ids: string[] = [];
  for (const employee of company.employees) {
    const id = isObject(employee) ? idOf(employee) : null;
    if (id === null) continue;
    ids.push(id);
    landing.document('company_employees', { id, parentId: companyId }, employee);
  }
  landing.set('company_employees', companyId, ids);
}
