import { describeShape, findList } from '../../api/page.js';
import { ContractError, type Where } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { historySummary } from '../../contract/history.js';
import type { AnswerForm, Embeds } from '../../contract/resource-entry.js';
import type { ChildOf, List } from '../../contract/resources.js';
import { topicListPerson } from '../../contract/topics.js';
import { landAuthors, landGroups, releaseMessages } from './conversations.js';
import { idOf, type Landing, nameOf } from './landing.js';
import type { ItemKey } from './schema-drift.js';

/** Takes the answers of the API apart into documents, as the resource table describes them. */

/** Lands a page of a list. */
export function landList(landing: Landing, list: List, items: readonly unknown[]): void {
  const parts = list.embeds && embedded[list.embeds];
  const key = (item: Record<string, unknown>) => ({ id: nameOf(item, list.key), parentId: null });
  const landed = landing.items(list.name, list.item, items, key, parts?.without);
  if (parts) for (const item of landed) parts.land(landing, item);
}

/** Lands the answer about one parent. @throws ContractError when it does not have the form of this child's answer */
export function landAnswer<F extends Form>(
  landing: Landing,
  child: ChildOf<F>,
  parentId: string,
  body: unknown,
  where: Where,
): void {
  forms[child.answer.form as F](landing, child, parentId, body, where);
}

type Form = AnswerForm['form'];
type Land<F extends Form> = (
  landing: Landing,
  child: ChildOf<F>,
  parentId: string,
  body: unknown,
  where: Where,
) => void;

const forms: { readonly [F in Form]: Land<F> } = {
  object: (landing, { name, item, answer }, id, body, where) => {
    const parts = answer.embeds && embedded[answer.embeds];
    const one = objectIn(body, answer.under ?? name, where);
    if (landing.item(name, item, one, { id, parentId: null }, parts?.without)) parts?.land(landing, one);
  },

  members: (landing, { name, item, answer }, parentId, body, where) => {
    const items = arrayIn(body, answer.names, where);
    landing.items(name, item, items, (one) => ({ id: nameOf(one, answer.key), parentId }));
    const ids = items.flatMap((one) => (isObject(one) ? (nameOf(one, answer.key) ?? []) : []));
    landing.members(name, parentId, ids);
  },

  conversations: (landing, child, parentId, body, where) => {
    const items = arrayIn(body, child.answer.names, where);
    landing.members(child.name, parentId, landGroups(landing, child, parentId, items));
    releaseMessages(items);
  },

  // Records are never removed: an answer shows a bounded number of them, and what happened stays true.
  history: (landing, { name, item, answer }, parentId, body, where) => {
    const whole = objectIn(body, answer.under, where);
    const key = (one: Record<string, unknown>): ItemKey => ({ id: idOf(one), parentId });
    landing.items(name, item, arrayIn(whole, answer.names, where), key);
    const summary = Object.fromEntries(
      Object.entries(whole).filter(([field]) => !answer.names.includes(field)),
    );
    landing.item(answer.merges.kind, historySummary, summary, { id: parentId, parentId: null });
  },
};

/** How the parts of an item that are documents of their own are taken out of it, and landed. */
interface Parts {
  /** The item as it is stored. */
  readonly without: (item: Record<string, unknown>) => Record<string, unknown>;
  readonly land: (landing: Landing, item: Record<string, unknown>) => void;
}

const embedded: { readonly [E in Embeds]: Parts } = {
  authors_and_persons: { without: withoutPeople, land: landPeople },
  employees: { without: withoutEmployees, land: landEmployees },
};

/**
 * A topic as it is stored: only the ids of its authors and persons. Those of the persons are sorted: their order means
 * nothing, and a change of them shows that somebody else takes part.
 */
function withoutPeople({ authors, persons, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...rest,
    ...(Array.isArray(authors) && { authorIds: idsIn(authors) }),
    ...(Array.isArray(persons) && { personIds: idsIn(persons).sort() }),
  };
}

function landPeople(landing: Landing, { id, authors, persons }: Record<string, unknown>): void {
  if (Array.isArray(authors)) landAuthors(landing, authors);
  if (!Array.isArray(persons)) return;
  const parentId = id as string;
  landing.items('topic_persons', topicListPerson, persons, (one) => ({ id: idOf(one), parentId }));
  landing.members('topic_persons', parentId, idsIn(persons));
}

/** A person as it is stored: the colleagues that its company lists are documents of the company. */
function withoutEmployees(item: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(item.company) || !('employees' in item.company)) return item;
  const { employees: _, ...company } = item.company;
  return { ...item, company };
}

/** Lands the employees that a person's company lists: all there are, so that one who left is removed. */
function landEmployees(landing: Landing, { company }: Record<string, unknown>): void {
  if (!isObject(company) || !Array.isArray(company.employees)) return;
  const companyId = idOf(company);
  if (companyId === null) return;
  for (const employee of company.employees) {
    const id = isObject(employee) ? idOf(employee) : null;
    if (id !== null) landing.document('company_employees', { id, parentId: companyId }, employee);
  }
  landing.members('company_employees', companyId, idsIn(company.employees));
}

function idsIn(items: readonly unknown[]): string[] {
  return items.flatMap((one) => (isObject(one) ? (idOf(one) ?? []) : []));
}

function objectIn(body: unknown, name: string, where: Where): Record<string, unknown> {
  const inner = isObject(body) && isObject(body[name]) && !('id' in body) ? body[name] : body;
  if (isObject(inner)) return inner;
  throw new ContractError(`${where.endpoint}: the answer to ${where.path} is not an object.`, where, {
    hint: 'Check that SIGNALHOUSE_BASE_URL is the API itself and not a proxy or a page in front of it.',
  });
}

/** The list in an answer, as `findList` finds it. @throws ContractError where there is none */
export function arrayIn(body: unknown, names: readonly string[], where: Where): unknown[] {
  const list = findList(body, names);
  if (list) return list;
  throw new ContractError(
    `${where.endpoint}: the answer to ${where.path} holds no list named ${names[0]}: it is ${describeShape(body)}.`,
    where,
    {
      hint: 'Check that SIGNALHOUSE_BASE_URL is the API itself and not a proxy or a page in front of it.',
    },
  );
}
