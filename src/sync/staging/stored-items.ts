import type { Resources } from '../../contract/resources.js';
import type { Document, MemberSet } from '../../load/batch.js';
import type { Part } from '../../load/batcher.js';
import { readModels } from '../../load/models.js';
import { literals, sqlFile, substitute } from '../../store/sql.js';
import type { Context } from '../context.js';
import { md5, numberOf, type StoredContent } from './seen-content.js';

const storedSql = sqlFile('sync/stored_items');

/** What every run is answered, besides the items of its lists. */
const otherItems = ['whoami', 'story_buckets', 'authors'];

/**
 * Leaves out of what this run stores what the lists return as it is stored: the warehouse would compare it and change nothing.
 * What another document about the same entity is as new as is stored all the same, and so is the first listing of what was
 * gone.
 */
export async function leaveOutStored({ store, batcher, resources }: Context): Promise<void> {
  const { families } = readModels();
  const items = [...resources.lists.map(({ name }) => name), ...otherItems];
  const sets = setsOf(resources);
  const kinds = [...items, ...sets.map(({ kind }) => kind)];
  const sql = substitute(storedSql, {
    family: families.familySql,
    within: families.withinSql,
    kinds: literals(kinds),
  });
  const rows = await store.all<StoredContent>(sql, { items, sets: JSON.stringify(sets) });
  if (rows.length === 0) return;
  const siblings = new Map<string, string[]>();
  for (const family of families.kinds)
    for (const kind of family)
      siblings.set(
        kind,
        family.filter((one) => one !== kind && kinds.includes(one)),
      );
  const stored = new StoredItems(rows, siblings);
  batcher.filter = (part) => stored.news(part);
}

/** The documents that come in sets inside the items of lists. */
function setsOf({ embedded }: Pick<Resources, 'embedded'>): { kind: string; list: string }[] {
  return Object.entries(embedded).flatMap(([kind, { parent, membersOf }]) =>
    parent === null || membersOf === undefined ? [] : [{ kind, list: parent }],
  );
}

/** What is known to be stored of the items and sets of lists: a hash of each, and the last answer that had it. */
class StoredItems {
  readonly #stored = new Map<number, { readonly content: number; no: number }>();

  /** `siblings` are, by kind, the kinds of items and sets whose documents are about the same entities. */
  constructor(
    rows: readonly StoredContent[],
    private readonly siblings: ReadonlyMap<string, readonly string[]>,
  ) {
    for (const { name, content } of rows) this.#stored.set(name, { content, no: 0 });
  }

  /** What of a part is not stored yet. */
  news(part: Part): Part {
    const { documents = [], sets = [], removed = [] } = part;
    for (const { endpoint, id, parentId } of [...removed, ...(part.rejections ?? [])])
      this.#forget(endpoint, id ?? '', parentId);
    const ofSets = new Map<string, Document[]>();
    for (const { endpoint, parentId } of sets) ofSets.set(setName(endpoint, parentId), []);
    for (const one of documents)
      if (one.parentId !== null) ofSets.get(setName(one.endpoint, one.parentId))?.push(one);
    const stored = new Set<string>();
    for (const set of sets) {
      const name = setName(set.endpoint, set.parentId);
      if (this.#isStored(name, set.answerNo, () => digestOf(set, ofSets.get(name) ?? []))) stored.add(name);
      else stored.delete(name);
    }
    const kept = documents.filter((one) => {
      const { endpoint, id, parentId, answerNo, body } = one;
      const name = parentId === null ? null : setName(endpoint, parentId);
      if (name !== null && stored.has(name)) return false;
      if (name === null && this.#isStored(itemName(endpoint, id), answerNo, () => md5(body))) return false;
      if (name !== null && !ofSets.has(name)) this.#stored.delete(nameOf(name));
      for (const sibling of this.siblings.get(endpoint) ?? []) this.#forget(sibling, id, parentId);
      return true;
    });
    return {
      documents: kept,
      sets: sets.filter(({ endpoint, parentId }) => !stored.has(setName(endpoint, parentId))),
      removed,
      coverage: part.coverage ?? [],
      rejections: part.rejections ?? [],
      drift: part.drift ?? [],
      scans: part.scans ?? [],
    };
  }

  /** Whether it is stored like that, or a later answer had what is stored. What differs is not known any more. */
  #isStored(text: string, no: number, digest: () => string): boolean {
    const name = nameOf(text);
    const known = this.#stored.get(name);
    if (known === undefined) return false;
    if (no < known.no) return true;
    if (numberOf(digest()) === known.content) {
      known.no = no;
      return true;
    }
    this.#stored.delete(name);
    return false;
  }

  #forget(endpoint: string, id: string, parentId: string | null): void {
    this.#stored.delete(nameOf(itemName(endpoint, id)));
    if (parentId !== null) this.#stored.delete(nameOf(setName(endpoint, parentId)));
  }
}

function itemName(endpoint: string, id: string): string {
  return `${endpoint} ${id}`;
}

function setName(endpoint: string, parentId: string): string {
  return `${endpoint} of ${parentId}`;
}

/** As sql/sync/stored_items.sql makes it of a name. */
function nameOf(name: string): number {
  return numberOf(md5(name));
}

/** As sql/sync/stored_items.sql makes it of what is stored; no number where a member was not staged, or as two things. */
function digestOf({ ids }: MemberSet, members: readonly Document[]): string {
  const hashes = new Map<string, string>();
  for (const { id, body } of members) {
    const hash = md5(body);
    if ((hashes.get(id) ?? hash) !== hash) return 'two';
    hashes.set(id, hash);
  }
  const unique = [...new Set(ids)].sort();
  if (hashes.size !== unique.length || unique.some((id) => !hashes.has(id))) return 'incomplete';
  return md5(unique.map((id) => `${id}:${hashes.get(id)}`).join(','));
}
