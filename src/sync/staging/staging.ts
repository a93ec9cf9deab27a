import type { z } from 'zod';
import { JsonText, sentText, textsOf } from '../../api/json-text.js';
import type { Arrival } from '../../base/clock.js';
import { type AnswerTooLargeError, sizeText } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { isId } from '../../contract/fields.js';
import type { Key } from '../../contract/resource-entry.js';
import type { Resources } from '../../contract/resources.js';
import type {
  Coverage,
  Document,
  DocumentKey,
  Drift,
  DriftKind,
  Listed,
  MemberSet,
  Rejection,
  Removal,
} from '../../load/batch.js';
import { storable } from '../../store/storable.js';
import { type BadPart, badParts, type Issue, type ItemKey, SchemaDrift } from './schema-drift.js';
import { SeenContent } from './seen-content.js';

const exampleLength = 200;
/** Names of fields come from outside, too. */
const pathLength = 200;
/** The most differences that are noted of one answer. */
const mostNoted = 1_000;

/** The deepest nesting of an item that is stored. The API documents 6 levels; JSON.stringify overflows at some 5,000. */
const maxItemDepth = 500;

/** Up to this many characters of a rejected item are kept. */
const rejectedBodyLength = 65_536;

/** The id of an item when it is one that can be stored as it is (see `isId`). */
export function idOf(item: Record<string, unknown>): string | null {
  return isId(item.id) ? item.id : null;
}

/** What names an item, by the key of its resource: the same for no two items. Null when a field of it is not an id. */
export function nameOf(item: unknown, key: Key): string | null {
  const values = key.map((path) => path.split('.').reduce<unknown>(fieldOf, item));
  if (!values.every(isId)) return null;
  // Only the last one may have a colon in it.
  return values
    .map((value, at) =>
      at < values.length - 1 ? value.replaceAll('%', '%25').replaceAll(':', '%3A') : value,
    )
    .join(':');
}

function fieldOf(value: unknown, field: string): unknown {
  return isObject(value) ? value[field] : undefined;
}

/** What is stored of an item, where parts of it are documents of their own. */
type Reduce = (item: Record<string, unknown>, text: JsonText) => JsonText;

/** What is particular to some items. */
interface Particulars {
  readonly reduce?: Reduce | undefined;
  /** Their texts, where they are no values of an answer. */
  readonly texts?: readonly JsonText[] | undefined;
  /** With their schema, only what is wrong in an item is rejected, and the rest of it is staged. */
  readonly inParts?: z.ZodObject | undefined;
  /** Whether an item is stored as it is: then it is checked, and not staged. */
  readonly isStored?: ((id: string, text: JsonText) => boolean) | undefined;
}

/** An item that was staged, with the whole of its text. */
export interface Staged {
  readonly item: Record<string, unknown>;
  readonly text: JsonText;
}

/** The text of an object or list in an item. */
export function partText({ item, text }: Staged, name: string): JsonText {
  return text.member(name) ?? JsonText.of(item[name]);
}

/**
 * Takes one answer apart into documents. Each item is checked by its schema: a bad one is rejected with its path and
 * reason while the others are staged; unknown fields stay in the document and are counted. The schema's parsed copy is not
 * used: the document is the item's text as the API sent it. An item that is too large or too deep is rejected alone.
 */
export class Staging {
  readonly documents: Document[] = [];
  readonly removed: Removal[] = [];
  sets: MemberSet[] = [];
  readonly listed: Listed[] = [];
  readonly coverage: Coverage[] = [];
  readonly rejections: Rejection[] = [];
  /** How many messages its conversations have that are not deleted, where the parent counts them. */
  messages = 0;
  readonly #staged = new Map<string, { partsHash: string | null }>();
  readonly #noted = new Map<string, Omit<Drift, 'seenAt'>>();
  readonly #schemaDrift: SchemaDrift;

  /**
   * Without the schema drift of a whole run, a change of form is recognized within this answer alone; without the content
   * that the run has seen, everything in the answer is staged.
   */
  constructor(
    readonly arrivedAt: Arrival,
    schemaDrift: SchemaDrift = new SchemaDrift(),
    readonly seenContent: SeenContent = new SeenContent(),
  ) {
    this.#schemaDrift = schemaDrift;
  }

  get fetchedAt(): Date {
    return this.arrivedAt.at;
  }

  get drift(): Drift[] {
    return [...this.#noted.values()].map((drift) => ({ ...drift, seenAt: this.fetchedAt }));
  }

  /**
   * Stages a list of items of one kind and returns those that were. An item is rejected for what is wrong with it alone;
   * when most items of a kind fail at the same field, the form has changed: they are staged, the field is reported as drift,
   * and its column is null where it cannot be read.
   */
  items(
    kind: string,
    schema: z.ZodType,
    items: readonly unknown[],
    key: (item: Record<string, unknown>) => ItemKey,
    { reduce = (_, text) => text, texts = textsOf(items), inParts, isStored }: Particulars = {},
  ): Staged[] {
    const staged: Staged[] = [];
    const within: { item: unknown; text: JsonText }[] = [];
    for (const [index, item] of items.entries()) {
      const text = texts[index] ?? JsonText.of(item);
      const issue = this.#outOfBounds(item, text, reduce);
      if (issue) this.#reject(kind, key(isObject(item) ? item : {}), issue.path, issue.reason, text);
      else within.push({ item, text });
    }
    const checked = this.#schemaDrift.check(
      kind,
      schema,
      within.map(({ item }) => item),
    );
    for (const [index, { item, issue, formChanged, oddFields }] of checked.entries()) {
      const text = within[index]?.text ?? JsonText.of(item);
      if (!isObject(item)) {
        this.#reject(kind, { ...key({}), id: null }, '', 'is not an object', text);
        continue;
      }
      const itemKey = key(item);
      if (itemKey.id === null) {
        this.#reject(kind, itemKey, issue?.path ?? 'id', issue?.reason ?? 'has no usable id', text);
        continue;
      }
      for (const odd of formChanged || !issue ? oddFields : [])
        this.#note(kind, odd.path, odd.kind, odd.value);
      if (!issue && isStored?.(itemKey.id, text)) continue;
      const reduced = reduce(item, text);
      if (issue && !formChanged) {
        const bad = inParts ? this.#stageParts(kind, inParts, itemKey, item, reduced) : [{ ...issue, text }];
        for (const part of bad) this.#reject(kind, itemKey, part.path, part.reason, part.text);
        this.#schemaDrift.hold(kind, issue.path, {
          key: itemKey,
          text: reduced.copy(),
          arrivedAt: this.arrivedAt,
        });
        continue;
      }
      if (issue) this.#stageHeld(kind, issue, item);
      this.document(kind, itemKey, reduced);
      staged.push({ item, text });
    }
    return staged;
  }

  /** Stages what fits of an item; returns what does not. */
  #stageParts(
    kind: string,
    schema: z.ZodObject,
    key: ItemKey,
    item: Record<string, unknown>,
    text: JsonText,
  ): BadPart[] {
    const { bad, rest } = badParts(schema, item, text);
    this.document(kind, key, rest);
    return bad;
  }

  /** Why an item is too large or too deep to be stored, at the member that is; null where it is neither. */
  #outOfBounds(item: unknown, text: JsonText, reduce: Reduce): Issue | null {
    const { maxItemBytes } = this.#schemaDrift;
    if (text.size <= maxItemBytes && text.depth <= maxItemDepth) return null;
    const stored = isObject(item) ? reduce(item, text) : text;
    if (stored.depth > maxItemDepth) {
      const reason = `is nested ${stored.depth} levels deep; at most ${maxItemDepth} are stored`;
      return { path: largestOf(stored, 'depth'), reason };
    }
    if (stored.size > maxItemBytes) {
      const reason = `has ${stored.size} bytes; at most ${maxItemBytes} are stored`;
      return { path: largestOf(stored, 'size'), reason };
    }
    return null;
  }

  /** Notes a change of form, and stages what was rejected for it before it was recognized. */
  #stageHeld(kind: string, { path }: Issue, item: Record<string, unknown>): void {
    const isMissing = !path.includes('.') && item[path] === undefined;
    this.#note(kind, path, isMissing ? 'missing_field' : 'changed_type', isMissing ? null : item[path]);
    for (const { key, text, arrivedAt } of this.#schemaDrift.takeHeld(kind, path)) {
      this.document(kind, key, text, arrivedAt);
    }
  }

  /**
   * Notes every documented field that no item of its kind had in the whole run. A field that none of many items has is
   * one that vanished; where the document does not show the form, or calls the field optional, absence means nothing.
   */
  noteMissingFields({ lists, children, embedded }: Resources): void {
    const inside = Object.entries(embedded).map(([name, entry]) => ({ name, ...entry }));
    for (const { name, item, optionalFields } of [...lists, ...children, ...inside]) {
      if (item === null || optionalFields === undefined) continue;
      for (const field of this.#schemaDrift.missingFields(name, item, optionalFields)) {
        this.#note(name, field, 'missing_field', null);
      }
    }
  }

  /** Stages one item; undefined when it was rejected. */
  item(
    kind: string,
    schema: z.ZodType,
    item: unknown,
    key: ItemKey,
    particulars: Particulars = {},
  ): Staged | undefined {
    return this.items(kind, schema, [item], () => key, { texts: [sentText(item)], ...particulars })[0];
  }

  /** Stores a value unchecked: one of our own, or a text of an answer. */
  document(
    kind: string,
    key: ItemKey,
    value: Record<string, unknown> | JsonText,
    arrivedAt = this.arrivedAt,
  ): void {
    if (key.id === null) return;
    const json = value instanceof JsonText ? value : JsonText.of(value);
    const { text, repaired } = storable(json.text);
    if (repaired || !json.isUtf8) this.#note(kind, '', 'repaired_text', key.id);
    const document = {
      endpoint: kind,
      id: key.id,
      parentId: key.parentId,
      body: text,
      fetchedAt: arrivedAt.at,
      answerNo: arrivedAt.no,
      partsHash: null,
    };
    this.#staged.set(`${kind}\n${key.id}`, document);
    this.documents.push(document);
  }

  /**
   * Stages the parts of a document that was staged, which are documents of their own, unless they were staged or stored as they
   * are now, whatever document they came with. With a part that is rejected, all of them are staged, and that one is counted,
   * each time. Returns whether they were staged now.
   */
  parts(kind: string, id: string, text: JsonText, stage: () => void): boolean {
    const digest = text.digest();
    const isNew = !this.seenContent.hasSeen(id, digest, this.arrivedAt);
    if (isNew) {
      const rejected = this.rejections.length;
      stage();
      if (this.rejections.length > rejected) {
        this.seenContent.forget([id]);
        return true;
      }
    }
    const document = this.#staged.get(`${kind}\n${id}`);
    if (document) document.partsHash = digest;
    return isNew;
  }

  /** Leaves out conversations of that kind of list that need not be stored again; call it when all are staged. */
  leaveOutStored(kind: string): void {
    let kept = 0;
    for (const document of this.documents) {
      if (document.endpoint === kind && this.seenContent.isStored(document)) continue;
      this.documents[kept] = document;
      kept += 1;
    }
    this.documents.length = kept;
  }

  /** Whether it has a conversation of that kind of list that is not stored as it is; call it when all are staged. */
  hasNews(kind: string): boolean {
    return this.documents.some((one) => one.endpoint === kind && !this.seenContent.isStored(one));
  }

  /** Whether this answer already brought a document of that kind and id. */
  has(kind: string, id: string): boolean {
    return this.#staged.has(`${kind}\n${id}`);
  }

  /** Removes documents, unless a later answer than this one has them. */
  remove(documents: readonly DocumentKey[]): void {
    this.removed.push(...documents.map((one) => ({ ...one, answerNo: this.arrivedAt.no })));
  }

  /** Says which documents of a kind belong to a parent. Where they are known to be all, any other that is stored is removed. */
  members(kind: string, parentId: string, ids: readonly string[], { isWhole = true } = {}): void {
    const { fetchedAt } = this;
    this.sets.push({ endpoint: kind, parentId, ids, fetchedAt, answerNo: this.arrivedAt.no, isWhole });
  }

  /** Says of these sets that they are known to be whole, or that they are not. */
  setWhole(sets: readonly MemberSet[], isWhole: boolean): void {
    this.sets = this.sets.map((set) => (sets.includes(set) ? { ...set, isWhole } : set));
  }

  /** Adds members to a set, which stay for now although the answer does not show them. */
  keepMembers(set: MemberSet, ids: readonly string[]): void {
    this.sets = this.sets.map((one) => (one === set ? { ...one, ids: [...one.ids, ...ids] } : one));
  }

  /** Makes the parts of these documents be staged when they come again, also unchanged. */
  forgetParts(kind: string, ids: Iterable<string>): void {
    const names = [...ids];
    for (const id of names) {
      const whole = this.#staged.get(`${kind}\n${id}`);
      if (whole) whole.partsHash = null;
    }
    this.seenContent.forget(names);
  }

  /** Rejects an answer that is too large, or the one item that it holds: nothing of it was read. */
  rejectAnswer(kind: string, key: ItemKey, { size }: AnswerTooLargeError): void {
    const reason = `the answer has ${sizeText(size)}`;
    const body = JSON.stringify({ bytes: size.bytes });
    this.rejections.push({ endpoint: kind, ...key, path: '', reason, body, seenAt: this.fetchedAt });
  }

  #reject(kind: string, key: ItemKey, path: string, reason: string, item: JsonText): void {
    const body = rejectedBody(item);
    const at = path.slice(0, pathLength);
    this.rejections.push({ endpoint: kind, ...key, path: at, reason, body, seenAt: this.fetchedAt });
  }

  #note(kind: string, field: string, drift: DriftKind, example: unknown): void {
    const path = field.slice(0, pathLength);
    const name = `${kind}\n${path}\n${drift}`;
    const noted = this.#noted.get(name);
    if (!noted && this.#noted.size >= mostNoted) return;
    const text = noted
      ? noted.example
      : storable(JSON.stringify(example ?? null)).text.slice(0, exampleLength);
    this.#noted.set(name, {
      endpoint: kind,
      path,
      kind: drift,
      example: text,
      count: (noted?.count ?? 0) + 1,
    });
  }
}

/** The name of the member with the largest size or depth. */
function largestOf(text: JsonText, by: 'size' | 'depth'): string {
  const members = text.members();
  return members.reduce((most, one) => (one[by] > most[by] ? one : most), { name: '', size: 0, depth: 0 })
    .name;
}

/** The JSON that is kept of a rejected item: itself, or its beginning as a string where it is too long or too deep. */
function rejectedBody(item: JsonText): string {
  const isWhole = item.size <= rejectedBodyLength && item.depth <= maxItemDepth;
  return storable(isWhole ? item.text : JSON.stringify(item.text.slice(0, rejectedBodyLength))).text;
}
