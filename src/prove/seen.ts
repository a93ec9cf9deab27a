import { findList, type ListAnswer } from '../api/page.js';
import { isObject } from '../base/json.js';
import { type Field, fieldsOf } from '../contract/privacy.js';
import { resources } from '../contract/resources.js';
import type { Item, Observations, Observed } from './observe.js';

/** What contradicts an assumption, and how much was looked at. */
export interface Finding {
  readonly against: readonly string[];
  readonly checked: number;
}

/** A document of an answer, with the names of the fields at which it does not fit its schema. */
interface Found {
  readonly kind: string;
  readonly item: Item;
  readonly fields: readonly Field[];
  /** The fields that the API's document calls required. */
  readonly required: readonly string[];
  readonly misfits: readonly { readonly field: string; readonly isValue: boolean }[];
}

/**
 * What was observed, as the decisions look at it. Evidence is made of numbers and of names that the API's document has, never
 * of what an answer contains: it goes into a file that people attach to bug reports.
 */
export class Seen {
  readonly documents: readonly Found[];

  constructor(readonly observations: Observations) {
    this.documents = observations.answers.flatMap(documentsOf);
  }

  all(purpose = /./): readonly Observed[] {
    return this.observations.answers.filter((one) => one.status !== 0 && purpose.test(one.purpose));
  }
  good(purpose: RegExp): readonly Observed[] {
    return this.all(purpose).filter(({ status }) => status === 200);
  }
  list(purpose: string): ListAnswer | undefined {
    return this.good(/ /).find((one) => one.purpose === purpose)?.list;
  }
  ids(purpose: string): string[] {
    return (this.list(purpose)?.items ?? []).map((item) => (isObject(item) ? String(item.id) : ''));
  }

  statuses(isWrong: (status: number) => boolean, purpose?: RegExp): Finding {
    return this.answers(this.all(purpose), ({ status }) => isWrong(status) && String(status));
  }
  lists(purpose: RegExp, wrong: (list: ListAnswer, name: string) => string | false): Finding {
    const lists = this.good(purpose).filter(({ list }) => list !== undefined);
    const nameOf = ({ purpose: text }: Observed) => text.replace(/ .*/, '');
    return this.answers(lists, (one) => one.list !== undefined && wrong(one.list, nameOf(one)));
  }
  /** What is wrong with each answer, if anything. */
  answers(all: readonly Observed[], wrong: (one: Observed) => string | false): Finding {
    const against = all.map((one) => [one.purpose, wrong(one)]).filter(([, text]) => text !== false);
    return { against: counts(against.map((one) => one.join(': '))), checked: all.length };
  }
  /** Documented fields at which documents do not fit. */
  fits(isMeant: (field: string, isValue: boolean) => boolean, kind?: RegExp): Finding {
    const meant = ({ misfits }: Found) => misfits.filter(({ field, isValue }) => isMeant(field, isValue));
    return this.fields((found) => meant(found).map(({ field }) => field), kind);
  }
  /** Documented times whose value is wrong. */
  times(isWrong: (value: unknown) => boolean): Finding {
    return this.fields(({ item, fields }) =>
      timesOf(item, fields).flatMap(([name, value]) => (isWrong(value) ? name : [])),
    );
  }
  /** Fields of documents, named with how many documents have something wrong there. */
  fields(wrongIn: (found: Found) => readonly string[], kind = /./): Finding {
    const all = this.documents.filter((one) => kind.test(one.kind));
    const against = all.flatMap((one) => [...new Set(wrongIn(one))].map((name) => `${one.kind} ${name}`));
    return { against: counts(against), checked: all.length };
  }
  /** How a field of the sampled topics differs between their list and their details. */
  differing(field: string, isWrong: (listed: unknown, detail: unknown) => boolean): Finding {
    const both = this.good(/^topic$/).filter(
      ({ item, body }) => isObject(body) && field in item && field in body,
    );
    return most(both, ({ item, body }) => isWrong(item[field], (body as Item)[field]), `topics ${field}`);
  }
  /** Answers about conversations, each with them and their ids. */
  conversations(child: RegExp) {
    return this.good(child).map((one) => {
      const groups = itemsIn(one.body, ['data', 'groups']);
      return { ...one, groups, ids: groups.map(({ group }) => (isObject(group) ? group.id : undefined)) };
    });
  }
}

/** Wrong in so many that it is no accident: other people change things while this reads. */
export function most<T>(all: readonly T[], isWrong: (one: T) => boolean, what: string): Finding {
  const wrong = all.filter(isWrong).length;
  const isMost = wrong > 0 && wrong * 2 >= all.length;
  return { against: isMost ? [`${what}: ${wrong} of ${all.length}`] : [], checked: all.length };
}

/** The first few texts, each with how often it is there. */
function counts(texts: readonly string[]): string[] {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].slice(0, 5).map(([text, many]) => (many === 1 ? text : `${text} (${many} times)`));
}

/** The objects of the list in an answer. */
export function itemsIn(body: unknown, names: readonly string[] = []): Item[] {
  return (findList(body, names) ?? []).filter(isObject);
}

/** The list that the answer about a child has; undefined where it has none. */
export function membersOf({ child, body }: Observed): readonly unknown[] | undefined {
  return findList(body, child !== null && 'names' in child.answer ? child.answer.names : []);
}

function documentsOf(one: Observed): Found[] {
  const { purpose, child, body, list, status } = one;
  const entry = child ?? resources.lists.find(({ name }) => purpose.startsWith(`${name} `));
  if (status !== 200 || entry === undefined) return [];
  const { name, item: schema, optionalFields } = entry;
  const inside = isObject(body) && isObject(body[name]) ? body[name] : body;
  const items = child?.answer.form === 'object' ? [inside] : child ? membersOf(one) : list?.items;
  const required = Object.keys(schema.shape).filter(
    (field) => optionalFields && !optionalFields.includes(field),
  );
  return (items ?? []).filter(isObject).map((item) => {
    const misfits = (schema.safeParse(item).error?.issues ?? []).map(({ code, path }) => {
      return {
        field: path.filter((step) => typeof step === 'string').join('.'),
        isValue: code === 'invalid_value',
      };
    });
    return { kind: name, item, fields: fieldsOf(schema), required, misfits };
  });
}

/** The values of an item's documented times, with the names to them. */
function timesOf(item: unknown, fields: readonly Field[], at = ''): [field: string, value: unknown][] {
  if (Array.isArray(item)) return item.flatMap((one) => timesOf(one, fields, at));
  if (!isObject(item)) return [];
  return fields.flatMap(({ name, kind, fields: inner }): [string, unknown][] =>
    kind === 'time' || kind === 'seen'
      ? [[at + name, item[name]]]
      : timesOf(item[name], inner, `${at}${name}.`),
  );
}
