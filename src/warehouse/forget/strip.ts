import { jsonOf } from '../../base/json.js';
import { millisecondsOf } from '../../contract/fields.js';
import type { DocumentKey } from '../load/batch.js';
import { type About, type Entity, entities, entityNamed } from './entities.js';
import { type Fingerprints, isPseudonym, removed } from './fingerprints.js';

/**
 * Takes what was forgotten out of a document, wherever it is embedded: the document of the person itself, the people of a
 * topic, employees, authors, messages and their copies in other messages, histories, merges, stories.
 *
 * Of an entity that was forgotten only the fields in `kept` of entities.ts stay, so that a field that is new in the API is removed too.
 * Elsewhere names, addresses and quotes are cut out of texts.
 */

/** The fields of a message that name another one in its source, beside its id and the copy of it. */
export const referringFields: ReadonlyMap<string, { readonly id: string; readonly copy: string }> = new Map([
  ['sourceReplyToId', { id: 'replyToId', copy: 'replyTo' }],
  ['sourceThreadId', { id: 'threadId', copy: 'thread' }],
]);

/** What is removed besides what has a fingerprint, by its age: entities that the API deleted or that are old, by their ids. */
export interface Expired {
  readonly people: ReadonlySet<string>;
  readonly messages?: ReadonlySet<string>;
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
 * A document that `mayConcern`, without what was forgotten and what has `expired`; null where nothing of it is in there. Its id
 * changes where that is an account of a person: an id in its place is the same each time.
 */
export function stripDocument(
  forgotten: Fingerprints,
  document: DocumentKey & { readonly body: string },
  expired?: Expired,
): Stripped | null {
  const body = new Stripping(forgotten, document, expired).run();
  const id = documentId(forgotten, document);
  return body === document.body && id === document.id ? null : { id, body };
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
  if (!document.body.trimStart().startsWith('"')) return stripDocument(forgotten, document);
  return { id: documentId(forgotten, document), body: JSON.stringify(removed) };
}

/** The id of a document: that of an account is replaced where its person or company was forgotten, or is named in it. */
export function documentId(forgotten: Fingerprints, { endpoint, id, parentId }: DocumentKey): string {
  const { entity, parent } = entities().about.get(endpoint) ?? {};
  const [, platform, account] = /^([^:]*):(.*)$/s.exec(id) ?? [];
  if (entity !== 'identity' || parent === undefined || account === undefined || isPseudonym(account))
    return id;
  const isForgotten = forgotten.has(parent, parentId) || forgotten.redactId(account) !== account;
  return isForgotten ? `${platform}:${forgotten.pseudonym(id)}` : id;
}

/**
 * JSON text of any kind without the names, addresses and quotes that were forgotten. Text that is not JSON, such as a line of a
 * journal that a kill cut off, is searched like a sentence.
 */
export function stripJson(forgotten: Fingerprints, text: string): string {
  if (!forgotten.mayTouch(text)) return text;
  if (jsonOf(text) === undefined) return forgotten.redact(text);
  return stripDocument(forgotten, { endpoint: '', id: '', parentId: null, body: text })?.body ?? text;
}

/** Where a value is found in a document. */
interface Inside {
  /** What an object is; of a text, what it belongs to. */
  readonly entity: Entity | undefined;
  /** Whether the entity around it was forgotten: the accounts of a person are. */
  readonly ofForgotten: boolean;
  /** Whether every text in it goes: the values of a history. */
  readonly withoutTexts: boolean;
  /** Whether it may have any field: what is called an id there may be a name. */
  readonly isFreeForm: boolean;
}

const nowhere: Inside = { entity: undefined, ofForgotten: false, withoutTexts: false, isFreeForm: false };

/** The fields with the id of an account, and the field beside each that names its platform. */
const platformFields: ReadonlyMap<string, string> = new Map([
  ['platformId', 'platform'],
  ['sourceAuthorId', 'sourceName'],
]);

/**
 * Changes the text of a document without writing the rest of it again: it stays what the API sent (numbers beyond 2^53, the
 * order of keys, white space), except for what is taken out.
 */
class Stripping {
  readonly #root: JsonNode;
  readonly #about: About;
  readonly #parentForgotten: boolean;
  /** What takes the place of parts of the text, in their order. */
  readonly #edits: (Place & { readonly text: string })[] = [];

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
    const { body } = this.document;
    this.#strip(
      this.#root,
      { ...nowhere, entity: this.#about.entity, ofForgotten: this.#parentForgotten },
      '',
    );
    let text = '';
    let at = 0;
    for (const edit of this.#edits) {
      text += body.slice(at, edit.from) + edit.text;
      at = edit.to;
    }
    return text + body.slice(at);
  }

  #strip(node: JsonNode, inside: Inside, field: string): void {
    if (node.kind === 'string') this.#replace(node, this.#textWithout(node.value, inside, field));
    if (node.kind === 'array') for (const item of node.items) this.#strip(item, inside, field);
    if (node.kind === 'object') this.#stripObject(node, inside);
  }

  #replace(node: JsonNode, value: string | null): void {
    if (node.kind === 'string' && node.value === value) return;
    this.#edits.push({ from: node.from, to: node.to, text: JSON.stringify(value) });
  }

  #textWithout(text: string, { entity, withoutTexts, isFreeForm }: Inside, field: string): string | null {
    if (withoutTexts) return null;
    if (!isFreeForm && /^id$|Ids?$/.test(field)) return this.forgotten.redactId(text);
    return this.forgotten.redact(text, {
      isName: entities().nameFields.has(field) && entity !== undefined,
      isWhole: (field === 'content' || field === 'title') && entity === 'message',
      conversation: this.document.endpoint === 'messages' ? (this.document.parentId ?? '') : '',
    });
  }

  #stripObject(node: JsonObject, inside: Inside): void {
    const entity = inside.entity ?? entityNamed(textOf(node, 'type') ?? '');
    const isGone = entity !== undefined && this.#isForgotten(node, entity, inside);
    const isForgotten = isGone || (entity === 'message' && this.#isExpiredMessage(node));
    const { kept, keptOfDeleted } = entities();
    const staying = isGone ? kept.get(entity) : keptOfDeleted;
    const stays = (name: string) => (isForgotten ? staying?.has(name) : !this.#refersToForgotten(node, name));
    // Where the text goes on that stays: behind the last member that does.
    let from = node.from + 1;
    let isCut = false;
    for (const { key, value } of node.members) {
      if (!stays(key.value)) {
        isCut = true;
        continue;
      }
      const comma = from === node.from + 1 ? '' : ',';
      if (isCut) this.#edits.push({ from, to: key.from, text: comma });
      isCut = false;
      from = value.to;
      this.#replace(key, this.forgotten.redact(key.value));
      this.#stripMember(node, key.value, value, { ...inside, entity, ofForgotten: isForgotten });
    }
    if (isCut) this.#edits.push({ from, to: node.to - 1, text: '' });
  }

  /** `around` is about the object that the member is in. */
  #stripMember(node: JsonObject, name: string, value: JsonNode, around: Inside): void {
    const { entity, ofForgotten, withoutTexts, isFreeForm } = around;
    const isRoot = node === this.#root;
    const platform = platformFields.get(name);
    if (platform !== undefined && value.kind !== 'string' && ofForgotten) {
      this.#replace(value, null);
      return;
    }
    if (platform !== undefined && value.kind === 'string') {
      // An account of somebody else may name what was forgotten: an address at the domain of a company.
      const isNamed = this.forgotten.redactId(value.value) !== value.value;
      if ((ofForgotten || isNamed) && !isPseudonym(value.value))
        this.#replace(value, this.forgotten.pseudonym(`${textOf(node, platform) ?? ''}:${value.value}`));
      return;
    }
    // A quote of what was forgotten keeps its place and its confidence.
    const isQuote = name === 'quoteHighlights' && ofForgotten;
    const isOfHistory = name === 'changes' || name === 'previousValues';
    const isHistory = isOfHistory && this.document.endpoint.endsWith('_history') && isRoot;
    if (isQuote || (isHistory && this.#parentForgotten)) {
      this.#strip(value, { ...nowhere, withoutTexts: true }, name);
      return;
    }
    if (value.kind === 'object' || value.kind === 'array') {
      const next = {
        entity: entities().ofMember.get(name),
        ofForgotten: name === 'identities' && ofForgotten,
        withoutTexts,
        isFreeForm: isFreeForm || name === 'metadata',
      };
      this.#strip(value, next, name);
      return;
    }
    // Accounts, dates and ids of what was forgotten are what `kept` says; they are not searched for words.
    if (ofForgotten) return;
    // Without an id, nothing says that a name is that of somebody else.
    const hasId = this.#idIn(node) !== undefined || (isRoot && this.document.id !== '');
    this.#strip(value, { ...around, entity: hasId ? entity : undefined }, name);
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
        if (has.has('message', id)) return true;
        if (isRoot && endpoint === 'messages' && has.has('conversation', parentId)) return true;
        const author = memberOf(node, 'author');
        return author?.kind === 'object' && this.#isForgotten(author, 'author', nowhere);
      }
      default:
        return has.has(entity, id);
    }
  }

  /** Whether a member is the id of a message in its source, where that message was forgotten. */
  #refersToForgotten(node: JsonObject, name: string): boolean {
    const of = referringFields.get(name);
    if (!of) return false;
    const copy = memberOf(node, of.copy);
    return (
      this.forgotten.has('message', this.#idIn(node, of.id)) ||
      (copy?.kind === 'object' && this.#isForgotten(copy, 'message', nowhere))
    );
  }

  /** The id of an object; in a record that was rejected, it may be a number. */
  #idIn(node: JsonObject, name = 'id'): string | undefined {
    const value = memberOf(node, name);
    if (value?.kind === 'string') return value.value;
    const source = value?.kind === 'other' ? this.document.body.slice(value.from, value.to) : '';
    return /^\d+$/.test(source) ? source : undefined;
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
}

/** Where something is in JSON text. */
interface Place {
  readonly from: number;
  readonly to: number;
}

interface JsonString extends Place {
  readonly kind: 'string';
  readonly value: string;
}

interface JsonObject extends Place {
  readonly kind: 'object';
  readonly members: readonly { readonly key: JsonString; readonly value: JsonNode }[];
}

type JsonNode =
  | JsonString
  | JsonObject
  | (Place & { readonly kind: 'array'; readonly items: readonly JsonNode[] })
  | (Place & { readonly kind: 'other' });

function memberOf({ members }: JsonObject, name: string): JsonNode | undefined {
  return members.find(({ key }) => key.value === name)?.value;
}

/** The value of a member that is text; undefined for anything else. */
function textOf(object: JsonObject, name: string): string | undefined {
  const value = memberOf(object, name);
  return value?.kind === 'string' ? value.value : undefined;
}

/** Parses JSON text into values that know their places. @throws SyntaxError */
function parseJson(text: string): JsonNode {
  // What follows may then rely on it that the text is JSON.
  JSON.parse(text);
  let at = 0;
  const pass = (characters: RegExp) => {
    characters.lastIndex = at;
    characters.test(text);
    at = characters.lastIndex;
  };
  const string = (): JsonString => {
    pass(separators);
    const from = at;
    for (at += 1; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
    at += 1;
    return { kind: 'string', value: JSON.parse(text.slice(from, at)) as string, from, to: at };
  };
  const all = <T>(end: string, read: () => T): T[] => {
    const found: T[] = [];
    at += 1;
    for (pass(separators); text[at] !== end; pass(separators)) found.push(read());
    at += 1;
    return found;
  };
  const value = (): JsonNode => {
    pass(separators);
    const from = at;
    switch (text[from]) {
      case '"':
        return string();
      case '{': {
        const members = all('}', () => ({ key: string(), value: value() }));
        return { kind: 'object', members, from, to: at };
      }
      case '[': {
        const items = all(']', value);
        return { kind: 'array', items, from, to: at };
      }
      default:
        pass(literal);
        return { kind: 'other', from, to: at };
    }
  };
  return value();
}

/** Between values and names, and of a number, true, false or null. */
const separators = /[\s,:]*/y;
const literal = /[^\s,\]}]*/y;
