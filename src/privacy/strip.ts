import { isObject, jsonOf } from '../base/json.js';
import { millisecondsOf } from '../contract/fields.js';
import type { Batch, DocumentKey, Rejection } from '../load/batch.js';
import { type About, type Entity, entities, entityNamed } from './entities.js';
import { exactText, idOf, isNumber, parseExact } from './exact-json.js';
import { type Forgotten, removed } from './forgotten.js';

/**
 * Takes what was forgotten out of documents, wherever it is embedded: the document of the person itself, the people of a
 * topic, employees, authors, messages and their copies in other messages, histories, merges, stories.
 *
 * Of a forgotten entity only the fields in `kept` of entities.ts stay, so that a field that is new in the API is removed too.
 * Elsewhere addresses are cut out of texts, and names while something is being forgotten.
 */

/** What is removed for its age: entities that the API deleted or that are old, by their ids. */
export interface Expired {
  readonly people: ReadonlySet<string>;
  readonly messages?: ReadonlySet<string>;
  /** Messages that were written before this time (milliseconds), whatever their id. */
  readonly messagesBefore?: number | undefined;
}

type Body = DocumentKey & { readonly body: string };

/**
 * A document without what was forgotten and what has `expired`; null where nothing of it is in there, so that the text that the
 * API sent stays. Its id changes where that is an account of a person: what stands in its place is the same each time.
 */
export function stripDocument(
  forgotten: Forgotten,
  document: Body,
  expired?: Expired,
): Pick<Body, 'id' | 'body'> | null {
  const body = new Stripping(forgotten, document, expired).run();
  const id = documentId(forgotten, document);
  return body === null && id === document.id ? null : { id, body: body ?? document.body };
}

/** The id of a document: that of an account is replaced where the account, its person or its company was forgotten. */
export function documentId(forgotten: Forgotten, { endpoint, id, parentId }: DocumentKey): string {
  const { entity, parent } = entities().about.get(endpoint) ?? {};
  const [, platform, account] = /^([^:]*):(.*)$/s.exec(id) ?? [];
  if (entity !== 'identity' || parent === undefined || account === undefined) return id;
  const isForgotten =
    (parent !== 'identity' && forgotten.has(parent, parentId)) || forgotten.hasAccount(platform, account);
  return isForgotten ? `${platform}:${forgotten.pseudonym(platform, account)}` : id;
}

/**
 * The same of a rejected record. Of one that was too long only the beginning is kept, as a string, which does not show what
 * belongs to whom: all of it goes.
 */
function stripRejected(forgotten: Forgotten, record: Body): Pick<Body, 'id' | 'body'> | null {
  const isCutOff = record.body.trimStart().startsWith('"') && record.body !== JSON.stringify(removed);
  if (!isCutOff) return stripDocument(forgotten, record);
  return { id: documentId(forgotten, record), body: JSON.stringify(removed) };
}

/** JSON text of any kind without the addresses and names that were forgotten. Other text is searched like a sentence. */
export function stripJson(forgotten: Forgotten, text: string): string {
  if (jsonOf(text) === undefined) return forgotten.redact(text);
  const document = { endpoint: '', id: '', parentId: null, body: text };
  return stripDocument(forgotten, document)?.body ?? text;
}

/** Where a value is found in a document. */
interface Inside {
  /** What an object is. */
  readonly entity: Entity | undefined;
  /** Whether the entity around it was forgotten: the accounts of a person are. */
  readonly ofForgotten: boolean;
  /** Whether every text in it goes: the values of a history. */
  readonly withoutTexts: boolean;
}

const nowhere: Inside = { entity: undefined, ofForgotten: false, withoutTexts: false };

/** The fields with the id of an account, and the field beside each that names its platform. */
const platformFields: ReadonlyMap<string, string> = new Map([
  ['platformId', 'platform'],
  ['sourceAuthorId', 'sourceName'],
]);

type Members = Readonly<Record<string, unknown>>;

class Stripping {
  readonly #root: unknown;
  readonly #about: About;
  readonly #isOfForgotten: boolean;
  #isChanged = false;

  constructor(
    private readonly forgotten: Forgotten,
    private readonly document: Body,
    private readonly expired: Expired | undefined,
  ) {
    this.#root = parseExact(document.body);
    this.#about = entities().about.get(document.endpoint) ?? {};
    const { parentId } = document;
    const { parent } = this.#about;
    this.#isOfForgotten =
      parent !== undefined &&
      parent !== 'identity' &&
      (forgotten.has(parent, parentId) ||
        (parent === 'person' && expired?.people.has(parentId ?? '') === true));
  }

  /** The text without it; null where nothing was removed. */
  run(): string | null {
    const inside = { ...nowhere, entity: this.#about.entity, ofForgotten: this.#isOfForgotten };
    const left = this.#strip(this.#root, inside, '');
    return this.#isChanged ? exactText(left) : null;
  }

  #strip(value: unknown, inside: Inside, field: string): unknown {
    if (typeof value === 'string') return this.#instead(value, this.#textWithout(value, inside, field));
    if (Array.isArray(value)) return value.map((item) => this.#strip(item, inside, field));
    return isObject(value) ? this.#stripObject(value, inside) : value;
  }

  #instead<T>(value: unknown, left: T): T {
    if (value !== left) this.#isChanged = true;
    return left;
  }

  #textWithout(text: string, { withoutTexts }: Inside, field: string): string | null {
    if (isNumber(text)) return text;
    if (withoutTexts) return null;
    // An id may look like a name, and is none.
    return /^id$|Ids?$/.test(field) ? this.forgotten.redactAddresses(text) : this.forgotten.redact(text);
  }

  #stripObject(object: Members, inside: Inside): Members {
    const entity = inside.entity ?? entityNamed(String(object.type));
    const isForgotten = entity !== undefined && this.#isForgotten(object, entity, inside);
    const isEmptied = isForgotten || (entity === 'message' && this.#isExpiredMessage(object));
    // What a story refers to in a source system.
    if (entity === undefined && typeof object.type === 'string' && this.#isInSource(object)) {
      this.#isChanged = true;
      return { type: object.type, id: null };
    }
    const { kept, keptOfDeleted } = entities();
    const staying = isForgotten ? kept.get(entity) : keptOfDeleted;
    const members = Object.entries(object).flatMap(([name, value]) => {
      if (isEmptied && !staying?.has(name)) {
        this.#isChanged = true;
        return [];
      }
      const around = { ...inside, entity, ofForgotten: isEmptied };
      return [[this.#instead(name, this.forgotten.redact(name)), this.#member(object, name, value, around)]];
    });
    return Object.fromEntries(members) as Members;
  }

  /** A member that stays; `around` is about the object that it is in. */
  #member(object: Members, name: string, value: unknown, { ofForgotten, withoutTexts }: Inside): unknown {
    const platform = platformFields.get(name);
    if (platform !== undefined && (ofForgotten || this.forgotten.hasAccount(object[platform], idOf(value))))
      return this.#instead(
        value,
        typeof value === 'string' ? this.forgotten.pseudonym(object[platform], value) : null,
      );
    if (/^source\w*Id$/.test(name) && this.forgotten.has('source', value)) return this.#instead(value, null);
    // A quote of a forgotten message keeps its place and its confidence.
    const isQuote = name === 'quoteHighlights' && ofForgotten;
    const isOfHistory = object === this.#root && this.document.endpoint.endsWith('_history');
    const isValues = isOfHistory && (name === 'changes' || name === 'previousValues');
    if (isQuote || (isValues && this.#isOfForgotten))
      return this.#strip(value, { ...nowhere, withoutTexts: true }, name);
    const entity = entities().ofMember.get(name);
    return this.#strip(
      value,
      { entity, ofForgotten: name === 'identities' && ofForgotten, withoutTexts },
      name,
    );
  }

  #isForgotten(object: Members, entity: Entity, { ofForgotten }: Inside): boolean {
    const { endpoint, id: documentId, parentId } = this.document;
    const isRoot = object === this.#root;
    // The answer about one entity need not repeat its id.
    const id = idOf(object.id) ?? (isRoot && this.#about.entity === entity ? documentId : undefined);
    const has = this.forgotten;
    switch (entity) {
      case 'identity':
        return ofForgotten || has.hasAccount(object.platform, object.platformId);
      case 'person':
        return (
          has.has('person', id) ||
          has.has('email', object.primaryEmail) ||
          this.expired?.people.has(id ?? '') === true
        );
      case 'author':
        return has.has('author', id) || has.hasAccount(object.sourceName, idOf(object.sourceAuthorId));
      case 'message': {
        if (has.has('message', id)) return true;
        if (isRoot && endpoint === 'messages' && has.has('conversation', parentId)) return true;
        return isObject(object.author) && this.#isForgotten(object.author, 'author', nowhere);
      }
      default:
        return has.has(entity, id);
    }
  }

  #isInSource({ type, id }: Members): boolean {
    return this.forgotten.has('source', id) || this.forgotten.hasAccount(type, id);
  }

  #isExpiredMessage(object: Members): boolean {
    const { endpoint, id } = this.document;
    const { messages, messagesBefore } = this.expired ?? {};
    const { createdAt } = object;
    // Not a time: NaN, which is before nothing.
    if (messagesBefore !== undefined && typeof createdAt === 'string')
      if (millisecondsOf(createdAt) < messagesBefore) return true;
    const own = endpoint === 'messages' && object === this.#root ? id : '';
    return messages?.has(idOf(object.id) ?? own) === true;
  }
}

/** What is too old to be stored (retention.messagesMonths, retention.peopleMonths). */
export interface TooOld extends Expired {
  readonly peopleBefore: number | undefined;
  /** The people who were last seen before that: what names them need not say so. Answers that say otherwise change it. */
  readonly people: Set<string>;
}

/** A batch without what was forgotten and what is `tooOld`, so that a pull does not bring it back. */
export function stripBatch(forgotten: Forgotten, batch: Batch, tooOld?: TooOld): Batch {
  if (forgotten.isEmpty && !tooOld) return batch;
  if (tooOld) noteLastSeen(tooOld, batch);
  const documents = batch.documents.map((document) => ({
    ...document,
    ...stripDocument(forgotten, document, tooOld),
  }));
  if (forgotten.isEmpty) return { ...batch, documents };
  return {
    ...batch,
    documents,
    removed: batch.removed.map((key) => ({ ...key, id: documentId(forgotten, key) })),
    sets: batch.sets.map((set) => ({
      ...set,
      ids: set.ids.map((id) => documentId(forgotten, { ...set, id })),
    })),
    rejections: batch.rejections.map((rejection) => strippedRejection(forgotten, rejection)),
    // An example may be about anyone, and nothing says about whom.
    drift: batch.drift.map((drift) => ({ ...drift, example: null })),
    // A short hash of a name is in there.
    coverage: batch.coverage.map((coverage) =>
      isForgottenParent(forgotten, coverage.entityId) ? { ...coverage, counters: null } : coverage,
    ),
  };
}

/** Whether an id is that of something forgotten that is asked for its own. */
export function isForgottenParent(forgotten: Forgotten, id: unknown): boolean {
  return forgotten.has('person', id) || forgotten.has('company', id);
}

/** Changes who is too old by what the batch says of when people were last seen. */
function noteLastSeen({ peopleBefore, people }: TooOld, batch: Batch): void {
  if (peopleBefore === undefined) return;
  const { own } = entities().kindsOfPeople;
  for (const { endpoint, id, body } of batch.documents) {
    if (!own.includes(endpoint)) continue;
    const { lastSeenAt } = JSON.parse(body) as Members;
    if (typeof lastSeenAt !== 'string') continue;
    if (millisecondsOf(lastSeenAt) < peopleBefore) people.add(id);
    else people.delete(id);
  }
}

function strippedRejection(forgotten: Forgotten, rejection: Rejection): Rejection {
  const stripped = stripRejected(forgotten, { ...rejection, id: rejection.id ?? '' });
  const reason = forgotten.redact(rejection.reason);
  if (!stripped) return { ...rejection, reason };
  return { ...rejection, reason, id: rejection.id === null ? null : stripped.id, body: stripped.body };
}
