import { millisecondsOf } from '../../contract/fields.js';
import type { DocumentKey } from '../load/batch.js';
import { type About, type Entity, entities, entityNamed } from './entities.js';
import { type Fingerprints, isPseudonym, removed, type TextOptions } from './fingerprints.js';

/**
 * Takes what was forgotten out of a document, wherever it is embedded: the document of the person itself, the people of a
 * topic, employees, authors, messages and their copies in other messages, histories, merges, stories.
 *
 * Of an entity that was forgotten only the fields in `kept` of entities.ts stay, so that a field that is new in the API is removed too.
 * Elsewhere names, addresses and quotes are cut out of texts.
 */

/** The fields of a message that name another one in its source, beside its id and the copy of it. */
export const referringFields: Readonly<Record<string, { readonly id: string; readonly copy: string }>> = {
  sourceReplyToId: { id: 'replyToId', copy: 'replyTo' },
  sourceThreadId: { id: 'threadId', copy: 'thread' },
};

/** What is removed besides what has a fingerprint, by its age: entities that the API deleted or that are old, by their ids. */
export interface Expired {
  readonly people: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  /** Messages that were written before this time (milliseconds), whatever their id. */
  readonly messagesBefore?: number | undefined;
}

/** A document before or after it was stripped. */
export interface Stripped extends Pick<DocumentKey, 'id'> {
  readonly body: string;
}

/** Whether anything that was forgotten may be in a document. Most documents are passed over by it. */
export function mayConcern(
  forgotten: Fingerprints,
  { id, parentId, body }: DocumentKey & { readonly body: string },
): boolean {
  return (
    forgotten.mayTouch(body) || forgotten.mayTouch(id) || (parentId !== null && forgotten.mayTouch(parentId))
  );
}

/**
 * The document without what was forgotten; null where nothing of it is in there. Its id changes where that is an account
 * of a person: an id in its place is the same each time.
 */
export function stripDocument(
  forgotten: Fingerprints,
  document: DocumentKey & { readonly body: string },
): Stripped | null {
  return mayConcern(forgotten, document) ? stripConcerned(forgotten, document) : null;
}

/**
 * The same of a rejected record. Of one that was too long only the beginning is kept, as a string, which does not show what
 * belongs to whom: all of it goes.
 */
export function stripRejected(
  forgotten: Fingerprints,
  document: DocumentKey & { readonly body: string },
): Stripped | null {
  if (!mayConcern(forgotten, document)) return null;
  const { endpoint, id, parentId, body } = document;
  if (!body.trimStart().startsWith('"')) return stripConcerned(forgotten, document);
  return { id: documentId(forgotten, endpoint, id, parentId), body: JSON.stringify(removed) };
}

/** `stripDocument` of a document that `mayConcern`; also without what has `expired`. */
export function stripConcerned(
  forgotten: Fingerprints,
  document: DocumentKey & { readonly body: string },
  expired?: Expired,
): Stripped | null {
  const { endpoint, id, parentId, body } = document;
  const stripped = new Stripping(forgotten, document, expired).run();
  const newId = documentId(forgotten, endpoint, id, parentId);
  return stripped === body && newId === id ? null : { id: newId, body: stripped };
}

/** The id of a document: that of an account is replaced where its person or company was forgotten, or is named in it. */
export function documentId(
  forgotten: Fingerprints,
  endpoint: string,
  id: string,
  parentId: string | null,
): string {
  const { entity, parent } = entities().about.get(endpoint) ?? {};
  if (entity !== 'identity' || parent === undefined) return id;
  const colon = id.indexOf(':');
  if (colon < 0 || isPseudonym(id.slice(colon + 1))) return id;
  const isForgotten =
    forgotten.has(parent, parentId) || forgotten.redactId(id.slice(colon + 1)) !== id.slice(colon + 1);
  return isForgotten ? `${id.slice(0, colon)}:${forgotten.pseudonym(id)}` : id;
}

/** JSON text of any kind without the names, addresses and quotes that were forgotten. */
export function stripJson(forgotten: Fingerprints, text: string): string {
  if (!forgotten.mayTouch(text)) return text;
  return stripDocument(forgotten, { endpoint: '', id: '', parentId: null, body: text })?.body ?? text;
}

/** Where an object is found in a document. */
interface Inside {
  readonly entity: Entity | undefined;
  /** Whether the entity around it was forgotten: the accounts of a person are. */
  readonly ofForgotten: boolean;
  /** Whether every text in it goes: the values of a history. */
  readonly withoutTexts: boolean;
  /** Whether it may have any field: what is called an id there may be a name. */
  readonly isFreeForm: boolean;
}

const nowhere: Inside = { entity: undefined, ofForgotten: false, withoutTexts: false, isFreeForm: false };

class Stripping {
  readonly #root: JsonNode;
  readonly #about: About;
  readonly #parentForgotten: boolean;

  constructor(
    private readonly forgotten: Fingerprints,
    private readonly document: DocumentKey & { readonly body: string },
    private readonly expired: Expired | undefined,
  ) {
    this.#root = parseJson(document.body);
    this.#about = entities().about.get(document.endpoint) ?? {};
    const { parent } = this.#about;
    this.#parentForgotten =
      parent !== undefined &&
      (forgotten.has(parent, document.parentId) ||
        (parent === 'person' && expired?.people.has(document.parentId ?? '') === true));
  }

  run(): string {
    const { entity } = this.#about;
    return this.#write(this.#root, { ...nowhere, entity, ofForgotten: this.#parentForgotten }, '');
  }

  #write(node: JsonNode, inside: Inside, field: string): string {
    switch (node.kind) {
      case 'string':
        return this.#writeText(node.value, this.#source(node), inside, field);
      case 'array':
        return this.#writeAll(
          node,
          node.items,
          (item) => this.#write(item, inside, field),
          (item) => [item.from, item.to],
        );
      case 'object':
        return this.#writeObject(node, inside);
      default:
        return this.#source(node);
    }
  }

  #writeText(value: string, source: string, inside: Inside, field: string): string {
    if (inside.withoutTexts) return 'null';
    if (!inside.isFreeForm && /^id$|Ids?$/.test(field)) {
      const id = this.forgotten.redactId(value);
      return id === value ? source : JSON.stringify(id);
    }
    const options: TextOptions = {
      isName: entities().nameFields.has(field) && inside.entity !== undefined,
      isWhole: (field === 'content' || field === 'title') && inside.entity === 'message',
      conversation: this.document.endpoint === 'messages' ? (this.document.parentId ?? '') : '',
    };
    const redacted = this.forgotten.redact(value, options);
    return redacted === value ? source : JSON.stringify(redacted);
  }

  #writeObject(node: JsonObject, inside: Inside): string {
    const entity = inside.entity ?? entityNamed(textOf(node, 'type') ?? '');
    const isExpired = entity === 'message' && this.#isExpiredMessage(node);
    const isGone = entity !== undefined && this.#isForgotten(node, entity, inside);
    const isForgotten = isGone || isExpired;
    const isRoot = node === this.#root;
    const { kept, keptOfDeleted } = entities();
    const members = node.members.filter(({ name }) => {
      if (isForgotten) return (isGone ? kept.get(entity) : keptOfDeleted)?.has(name);
      // The id of a message in its source, where that message was forgotten.
      const of = referringFields[name];
      if (!of) return true;
      const copy = objectOf(node, of.copy);
      return (
        !this.#isForgottenMessage(this.#idIn(node, of.id)) &&
        !(copy && this.#isForgotten(copy, 'message', nowhere))
      );
    });
    // Without an id, nothing says that a name is that of somebody else.
    const hasId = this.#idIn(node) !== undefined || (isRoot && this.document.id !== '');
    const around = { entity, hasId, isForgotten, isRoot, inside };
    const write = (member: (typeof members)[number]): string => {
      const { name, key, value } = member;
      const text = this.#writeMember(node, name, value, around);
      const redacted = this.forgotten.redact(name);
      const written = redacted === name ? this.#source(key) : JSON.stringify(redacted);
      return written + this.#source({ from: key.to, to: value.from }) + text;
    };
    if (members.length < node.members.length) return `{${members.map(write).join(',')}}`;
    return this.#writeAll(node, members, write, ({ key, value }) => [key.from, value.to]);
  }

  #writeMember(
    node: JsonObject,
    name: string,
    value: JsonNode,
    around: {
      readonly entity: Entity | undefined;
      readonly hasId: boolean;
      readonly isForgotten: boolean;
      readonly isRoot: boolean;
      readonly inside: Inside;
    },
  ): string {
    const { entity, hasId, isForgotten, isRoot, inside } = around;
    const platform = { platformId: 'platform', sourceAuthorId: 'sourceName' }[name];
    if (platform !== undefined && value.kind !== 'string' && isForgotten) return 'null';
    if (platform !== undefined && value.kind === 'string') {
      // An account of somebody else may name what was forgotten: an address at the domain of a company.
      const isNamed = this.forgotten.redactId(value.value) !== value.value;
      return isForgotten || isNamed
        ? this.#account(textOf(node, platform), value.value)
        : this.#source(value);
    }
    // A quote of what was forgotten keeps its place and its confidence.
    if (name === 'quoteHighlights' && isForgotten)
      return this.#write(value, { ...nowhere, withoutTexts: true }, name);
    const isHistory = this.document.endpoint.endsWith('_history') && isRoot && this.#parentForgotten;
    if (isHistory && (name === 'changes' || name === 'previousValues'))
      return this.#write(value, { ...nowhere, withoutTexts: true }, name);
    const isEntity = value.kind === 'object' || value.kind === 'array';
    const next: Inside = isEntity
      ? {
          entity: entities().ofMember.get(name),
          ofForgotten: name === 'identities' && isForgotten,
          withoutTexts: inside.withoutTexts,
          isFreeForm: inside.isFreeForm || name === 'metadata',
        }
      : { ...inside, entity: hasId ? entity : undefined };
    // Accounts, dates and ids of what was forgotten are what `kept` says; they are not searched for words.
    if (isForgotten && value.kind === 'string') return this.#source(value);
    return this.#write(value, next, name);
  }

  #account(platform = '', id: string): string {
    return JSON.stringify(isPseudonym(id) ? id : this.forgotten.pseudonym(`${platform}:${id}`));
  }

  #isForgotten(node: JsonObject, entity: Entity, { ofForgotten }: Inside): boolean {
    const { endpoint, id: documentId, parentId } = this.document;
    const isRoot = node === this.#root;
    // The answer about one entity need not repeat its id.
    const own = isRoot && this.#about.entity === entity ? documentId : undefined;
    const id = this.#idIn(node) ?? own;
    const has = this.forgotten;
    switch (entity) {
      case 'identity':
        return ofForgotten;
      case 'person':
        return (
          has.has('person', id) ||
          has.has('email', textOf(node, 'primaryEmail')) ||
          this.expired?.people.has(id ?? '') === true
        );
      case 'author': {
        const account = this.#idIn(node, 'sourceAuthorId');
        return (
          has.has('author', id) ||
          (account !== undefined && has.has('identity', `${textOf(node, 'sourceName')}:${account}`))
        );
      }
      case 'message': {
        if (this.#isForgottenMessage(id)) return true;
        if (isRoot && endpoint === 'messages' && has.has('conversation', parentId)) return true;
        const author = objectOf(node, 'author');
        return author !== undefined && this.#isForgotten(author, 'author', nowhere);
      }
      default:
        return has.has(entity, id);
    }
  }

  /** The id of an object; in a record that was rejected, it may be a number. */
  #idIn({ members }: JsonObject, name = 'id'): string | undefined {
    const value = members.find((member) => member.name === name)?.value;
    if (value?.kind === 'string') return value.value;
    const source = value?.kind === 'other' ? this.#source(value) : '';
    return /^\d+$/.test(source) ? source : undefined;
  }

  #isForgottenMessage(id = ''): boolean {
    return this.forgotten.has('message', id);
  }

  #isExpiredMessage(node: JsonObject): boolean {
    const { endpoint, id } = this.document;
    const isRoot = endpoint === 'messages' && node === this.#root;
    const { messages, messagesBefore } = this.expired ?? {};
    const writtenAt = messagesBefore === undefined ? undefined : textOf(node, 'createdAt');
    // Not a time: NaN, which is before nothing.
    if (writtenAt !== undefined && millisecondsOf(writtenAt) < (messagesBefore ?? 0)) return true;
    return messages?.has(this.#idIn(node) ?? (isRoot ? id : '')) === true;
  }

  /** Writes parts of a list or object; the text between them stays. */
  #writeAll<T>(
    whole: { readonly from: number; readonly to: number },
    parts: readonly T[],
    write: (part: T) => string,
    place: (part: T) => [number, number],
  ): string {
    const { body } = this.document;
    let text = '';
    let from = whole.from;
    for (const part of parts) {
      const [partFrom, partTo] = place(part);
      text += body.slice(from, partFrom) + write(part);
      from = partTo;
    }
    return text + body.slice(from, whole.to);
  }

  #source({ from, to }: { readonly from: number; readonly to: number }): string {
    return this.document.body.slice(from, to);
  }
}

/**
 * Changes JSON text without writing the rest of it again: a document stays what the API sent (numbers beyond 2^53, the
 * order of keys, white space), except for what is taken out.
 */

interface Place {
  readonly from: number;
  readonly to: number;
}

interface JsonObject extends Place {
  readonly kind: 'object';
  readonly members: readonly JsonMember[];
}

interface JsonMember {
  readonly name: string;
  /** The text of the name, with its quotation marks. */
  readonly key: Place;
  readonly value: JsonNode;
}

interface JsonArray extends Place {
  readonly kind: 'array';
  readonly items: readonly JsonNode[];
}

interface JsonString extends Place {
  readonly kind: 'string';
  readonly value: string;
}

type JsonNode = JsonObject | JsonArray | JsonString | (Place & { readonly kind: 'other' });

/** Parses JSON text into nodes that know their places. @throws SyntaxError */
function parseJson(text: string): JsonNode {
  // Everything below may then rely on it that the text is JSON.
  JSON.parse(text);
  return node({ text, at: 0 });
}

/** The value of a member that is text; undefined for anything else. */
function textOf(object: JsonObject, name: string): string | undefined {
  const value = object.members.find((member) => member.name === name)?.value;
  return value?.kind === 'string' ? value.value : undefined;
}

/** The member of that name when it is an object. */
function objectOf(object: JsonObject, name: string): JsonObject | undefined {
  const value = object.members.find((member) => member.name === name)?.value;
  return value?.kind === 'object' ? value : undefined;
}

interface State {
  readonly text: string;
  at: number;
}

function node(state: State): JsonNode {
  skipSpace(state);
  const from = state.at;
  switch (state.text[from]) {
    case '{': {
      const members: JsonMember[] = [];
      each(state, '}', () => {
        const keyFrom = state.at;
        const name = string(state);
        const key = { from: keyFrom, to: state.at };
        skipSpace(state);
        state.at += 1;
        members.push({ name, key, value: node(state) });
      });
      return { kind: 'object', members, from, to: state.at };
    }
    case '[': {
      const items: JsonNode[] = [];
      each(state, ']', () => void items.push(node(state)));
      return { kind: 'array', items, from, to: state.at };
    }
    case '"':
      return { kind: 'string', value: string(state), from, to: state.at };
    default:
      while (state.at < state.text.length && !/[\s,\]}]/.test(state.text[state.at] ?? '')) state.at += 1;
      return { kind: 'other', from, to: state.at };
  }
}

function each(state: State, end: string, one: () => void): void {
  state.at += 1;
  for (;;) {
    skipSpace(state);
    const next = state.text[state.at];
    if (next === end) {
      state.at += 1;
      return;
    }
    if (next === ',') state.at += 1;
    skipSpace(state);
    one();
  }
}

function string(state: State): string {
  const from = state.at;
  state.at += 1;
  while (state.text[state.at] !== '"') state.at += state.text[state.at] === '\\' ? 2 : 1;
  state.at += 1;
  return JSON.parse(state.text.slice(from, state.at)) as string;
}

function skipSpace(state: State): void {
  while (/\s/.test(state.text[state.at] ?? '')) state.at += 1;
}
