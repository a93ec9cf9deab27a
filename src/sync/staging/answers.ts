import { z } from 'zod';
import { JsonText, sentText } from '../../api/json-text.js';
import { describeShape, findList } from '../../api/page.js';
import { ContractError, OtherEntityError, type Where } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { historySummary } from '../../contract/history.js';
import type { AnswerForm, Embeds } from '../../contract/resource-entry.js';
import { type Child, type ChildOf, type List, parentParameter } from '../../contract/resources.js';
import { topicListPerson } from '../../contract/topics.js';
import { releaseMessages, stageAuthors, stageGroups } from './conversations.js';
import type { ListedItems } from './listed.js';
import type { ItemKey } from './schema-drift.js';
import { numberOf } from './seen-content.js';
import { idOf, nameOf, partText, type Staged, type Staging } from './staging.js';

/** Takes the answers of the API apart into documents, as the resource table describes them. */

/** Stages a page of a list, without the items that are known to be stored as they are. */
export function stageList(
  staging: Staging,
  { name: list, item, key, embeds }: Pick<List, 'name' | 'item' | 'key' | 'embeds'>,
  items: readonly unknown[],
  listed?: ListedItems,
): void {
  const parts = embeds && embedded[embeds];
  const { no: answerNo } = staging.arrivedAt;
  const keyOf = (one: Record<string, unknown>) => ({ id: nameOf(one, key), parentId: null });
  const hashes = new Map<string, number>();
  const isStored = (id: string, text: JsonText) => {
    const hash = numberOf(text.digest());
    hashes.set(id, hash);
    return listed?.isStored(list, id, hash, answerNo) ?? false;
  };
  for (const one of staging.items(list, item, items, keyOf, { reduce: parts?.without, isStored })) {
    const rejected = staging.rejections.length;
    parts?.stage(staging, one);
    const entityId = nameOf(one.item, key) ?? '';
    const isWhole = staging.rejections.length === rejected;
    const itemHash = isWhole ? (hashes.get(entityId) ?? null) : null;
    staging.listed.push({ list, entityId, itemHash, answerNo });
  }
}

/** Where the answer about one parent came from, as errors say it. */
export function whereOf({ name }: Pick<Child, 'name'>, parentId: string): Where {
  return { endpoint: name, method: 'GET', path: `the request for ${parentId}` };
}

/**
 * Stages the answer about one parent, with the items of its further pages. @throws ContractError when it does not have the form
 * of this child's answer, OtherEntityError when it is about another parent
 */
export function stageAnswer<F extends Form>(
  staging: Staging,
  child: ChildOf<F>,
  parentId: string,
  body: unknown,
  where: Where,
  more: readonly unknown[] = [],
): void {
  if (isObject(body)) isAbout(parentId, body[parentParameter(child)], where);
  forms[child.answer.form as F](staging, child, parentId, body, where, more);
}

/** @throws OtherEntityError when an id in an answer is that of another entity than the one that was asked for */
function isAbout(asked: string, answered: unknown, where: Where): void {
  if ((typeof answered !== 'string' && typeof answered !== 'number') || answered === '') return;
  const id = String(answered);
  if (id === asked || (uuid.test(id) && id.toLowerCase() === asked.toLowerCase())) return;
  throw new OtherEntityError(
    `${where.endpoint}: the answer to ${where.path} is about ${id}; ${asked} was asked for.`,
    where,
    id,
  );
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Form = AnswerForm['form'];
type Stage<F extends Form> = (
  staging: Staging,
  child: ChildOf<F>,
  parentId: string,
  body: unknown,
  where: Where,
  more: readonly unknown[],
) => void;

const forms: { readonly [F in Form]: Stage<F> } = {
  object: (staging, { name, list, item, answer }, id, body, where) => {
    const parts = answer.embeds && embedded[answer.embeds];
    const one = objectIn(body, answer.under ?? name, where);
    if (list.detail === name) isAbout(id, valuesAt(one, list.key[0]).at(0), where);
    // Another form altogether. It would be staged as a row of nulls once enough answers lack the same fields.
    if (!Object.keys(one).some((field) => field in item.shape)) {
      const what = `has none of the documented fields: it is ${describeShape(body)}`;
      throw new ContractError(`${where.endpoint}: the answer to ${where.path} ${what}.`, where, { hint });
    }
    const staged = staging.item(name, item, one, { id, parentId: null }, { reduce: parts?.without });
    if (staged) parts?.stage(staging, staged);
  },

  members: (staging, { name, item, answer }, parentId, body, where, more) => {
    const items = joined(arrayIn(body, answer.names, where), more);
    staging.items(name, item, items, (one) => ({ id: nameOf(one, answer.key), parentId }));
    const ids = items.flatMap((one) => (isObject(one) ? (nameOf(one, answer.key) ?? []) : []));
    // One without a name may be any that is stored.
    if (ids.length === items.length) staging.members(name, parentId, ids);
  },

  conversations: (staging, child, parentId, body, where, more) => {
    const items = joined(arrayIn(body, child.answer.names, where), more);
    for (const item of items)
      for (const id of valuesAt(item, `topic.${parentParameter(child)}`)) isAbout(parentId, id, where);
    const ids = stageGroups(staging, child, parentId, items);
    if (ids.length === items.length) staging.members(child.name, parentId, ids);
    staging.leaveOutStored(child.name);
    releaseMessages(items);
  },

  // Records are never removed: an answer shows a bounded number of them, and what happened stays true.
  history: (staging, child, parentId, body, where) => {
    const { answer } = child;
    const { whole, records } = historyIn(child, body, where);
    if (whole !== body) isAbout(parentId, whole.id, where);
    const { sources, target } = answer.merges;
    // No person is merged into itself: this is the history of the survivor.
    if (mergedInto(whole, sources).includes(parentId) || valuesAt(whole, target).includes(parentId))
      throw new OtherEntityError(
        `${where.endpoint}: the answer to ${where.path} is the history of another: it names ${parentId} as merged.`,
        where,
        null,
      );
    stageRecords(staging, child, parentId, records);
    const summary = Object.fromEntries(
      Object.entries(whole).filter(([field]) => !answer.names.includes(field)),
    );
    const text = sentText(whole).with(Object.fromEntries(answer.names.map((field) => [field, null])));
    const key = () => ({ id: parentId, parentId: null });
    staging.items(answer.merges.kind, historySummary, [summary], key, {
      texts: [text],
      inParts: historySummary,
    });
  },
};

/** Items of several pages; those of a single one keep the texts that they came with. */
function joined(items: unknown[], more: readonly unknown[]): unknown[] {
  return more.length === 0 ? items : [...items, ...more];
}

/** The ids that the merges of a history name, by the JSON path of the sources in one of them. */
export function mergedInto({ merges }: Record<string, unknown>, sources: string): unknown[] {
  return valuesAt({ merges }, `merges[*].${sources.replace('$.', '')}`);
}

/** What a value has at a path such as `$.a.b` or `a[*].id`. */
function valuesAt(value: unknown, path: string): unknown[] {
  const steps = path.replace('$.', '').replaceAll('[*]', '.[*]').split('.');
  return steps.reduce<unknown[]>(
    (values, step) =>
      values.flatMap((one) => {
        if (step === '[*]') return Array.isArray(one) ? one : [];
        return isObject(one) && one[step] !== undefined ? [one[step]] : [];
      }),
    [value],
  );
}

/** The records in the answer of a history, and how many the history says it has. @throws ContractError as stageAnswer does */
export function historyIn({ answer }: ChildOf<'history'>, body: unknown, where: Where) {
  const whole = objectIn(body, answer.under, where);
  const { totalCount } = whole;
  return {
    whole,
    records: arrayIn(whole, answer.names, where),
    totalCount: typeof totalCount === 'number' ? totalCount : null,
  };
}

/** Stages records of a history without what else its answer says. */
export function stageRecords(
  staging: Staging,
  { name, item }: ChildOf<'history'>,
  parentId: string,
  records: readonly unknown[],
): void {
  const key = (one: Record<string, unknown>): ItemKey => ({ id: idOf(one), parentId });
  staging.items(name, item, records, key);
}

/** How the parts of an item that are documents of their own are taken out of it, and staged. */
interface Parts {
  /** The item as it is stored. */
  readonly without: (item: Record<string, unknown>, text: JsonText) => JsonText;
  readonly stage: (staging: Staging, staged: Staged) => void;
}

const embedded: { readonly [E in Embeds]: Parts } = {
  authors_and_persons: { without: withoutPeople, stage: stagePeople },
  company: { without: withoutEmployees, stage: stageCompany },
};

/**
 * A topic as it is stored: only the ids of its authors and persons. Those of the persons are sorted: their order means
 * nothing, and a change of them shows that another person takes part.
 */
function withoutPeople({ authors, persons }: Record<string, unknown>, text: JsonText): JsonText {
  return text.with(
    { authors: null, persons: null },
    {
      ...(Array.isArray(authors) && { authorIds: JsonText.of(idsIn(authors)) }),
      ...(Array.isArray(persons) && { personIds: JsonText.of(idsIn(persons).sort()) }),
    },
  );
}

/** Nothing counts the persons: one who is not named stays until the topic's own list does not name them either (sql/sync/stale.sql). */
function stagePeople(staging: Staging, topic: Staged): void {
  const { id, authors, persons } = topic.item;
  if (Array.isArray(authors)) {
    const texts = partText(topic, 'authors').elements();
    stageAuthors(
      staging,
      authors.map((item, index) => ({ item, text: texts[index] ?? JsonText.of(item) })),
    );
  }
  if (!Array.isArray(persons)) return;
  const texts = partText(topic, 'persons').elements();
  const key = (one: Record<string, unknown>): ItemKey => ({ id: idOf(one), parentId: id as string });
  staging.items('topic_persons', topicListPerson, persons, key, { texts });
}

/** A person as it is stored: the colleagues that its company lists are documents of the company. */
function withoutEmployees({ company }: Record<string, unknown>, text: JsonText): JsonText {
  const companyText = isObject(company) ? text.member('company') : undefined;
  return companyText?.member('employees')
    ? text.with({ company: companyText.with({ employees: null }) })
    : text;
}

/**
 * Stages which company a person belongs to, and the employees that the company lists, who may not be all: the table has those
 * who are in no list of people from here (sql/models/company_employees.sql).
 */
function stageCompany(staging: Staging, person: Staged): void {
  const { id, company } = person.item;
  if (company === undefined) return;
  const companyId = isObject(company) ? idOf(company) : null;
  staging.document('person_companies', { id: companyId, parentId: id as string }, {});
  staging.members('person_companies', id as string, companyId === null ? [] : [companyId]);
  if (!isObject(company) || !Array.isArray(company.employees)) return;
  if (companyId === null) return;
  const texts = partText({ item: company, text: partText(person, 'company') }, 'employees').elements();
  const key = (employee: Record<string, unknown>): ItemKey => ({ id: idOf(employee), parentId: companyId });
  const named = company.employees.flatMap((item, index) =>
    isObject(item) && typeof item.id === 'string' ? [{ item, text: texts[index] ?? JsonText.of(item) }] : [],
  );
  staging.items(
    'company_employees',
    z.unknown(),
    named.map(({ item }) => item),
    key,
    { texts: named.map(({ text }) => text) },
  );
}

function idsIn(items: readonly unknown[]): string[] {
  return items.flatMap((one) => (isObject(one) ? (idOf(one) ?? []) : []));
}

const hint = 'Check that SIGNALHOUSE_BASE_URL is the API itself and not a proxy or a page in front of it.';

function objectIn(body: unknown, name: string, where: Where): Record<string, unknown> {
  const inner = isObject(body) && isObject(body[name]) && !('id' in body) ? body[name] : body;
  if (isObject(inner)) return inner;
  throw new ContractError(`${where.endpoint}: the answer to ${where.path} is not an object.`, where, {
    hint,
  });
}

/** The list in an answer, as `findList` finds it. @throws ContractError where there is none */
export function arrayIn(body: unknown, names: readonly string[], where: Where): unknown[] {
  const list = findList(body, names);
  if (list) return list;
  throw new ContractError(
    `${where.endpoint}: the answer to ${where.path} holds no list named ${names[0]}: it is ${describeShape(body)}.`,
    where,
    { hint },
  );
}
