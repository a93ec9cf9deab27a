import { z } from 'zod';
import { id, object } from './fields.js';

/** One entry of the resource table (resources.ts), and the building blocks of its endpoints. */

/** A GET of the API. */
export interface ReadEndpoint {
  /** Relative to the base URL; `{name}` stands for a parameter of `params`. */
  readonly path: string;
  readonly summary: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly response: z.ZodType;
  /** Where the document leaves the form of the answer open, or names the endpoint only. */
  readonly documented?: false;
}

/** The fields of an item that name it among those of its kind, as dotted paths; several are joined by a colon. */
export type Key = readonly [string, ...string[]];

/** A field of a list's item, as a JSON path. */
type ItemPath = `$.${string}`;

/** The parts of an item that are documents of their own (`embedded` in resources.ts). */
export type Embeds = 'authors_and_persons' | 'company';

interface Entry {
  readonly endpoint: ReadEndpoint;
  /** One item, as it is checked when it is taken in. */
  readonly item: z.ZodObject;
  /**
   * The fields of an item that the document calls optional. Any other field that none of many items has is reported as
   * missing. Left out where the document does not show the item, so that an absent field means nothing.
   */
  readonly optionalFields?: readonly string[];
}

/** A list that every run reads to its end. */
export interface ListEntry extends Entry {
  readonly parent: null;
  readonly key: Key;
  readonly embeds?: Embeds;
  /** How it is read: page by page, or by the buckets of stories, which have no pages and overlap. */
  readonly reads: 'pages' | 'buckets';
  /** The child that answers for one item by its id. */
  readonly detail: string;
  /**
   * The kind of document that says why an item is not listed any more. Null where a missing item is
   * never tombstoned: a bucket of stories shows at most 100, and channels and templates have no mark.
   */
  readonly presence: string | null;
}

/** The fields of a company or person that count its messages and conversations, as JSON paths. */
interface PageCounters {
  /** The number of messages that its people wrote. */
  readonly messages: ItemPath;
  /** The time of the last of them. */
  readonly lastMessageAt: ItemPath;
  /** The number of conversations, where it is counted. */
  readonly conversations?: ItemPath;
}

/** How the answer about one parent is taken apart. */
export type AnswerForm =
  /** One object, bare or under a name (its own where none is given). */
  | { readonly form: 'object'; readonly under?: string; readonly embeds?: Embeds }
  /** Everything that belongs to the parent: the list is under the first of these names, or the only list there is. */
  | { readonly form: 'members'; readonly names: readonly string[]; readonly key: Key }
  /** Conversations, whose messages and authors are documents of their own. */
  | { readonly form: 'conversations'; readonly names: readonly string[] }
  /** Records that are never removed, since an answer shows a bounded number of them; and what was merged. */
  | {
      readonly form: 'history';
      readonly under: string;
      readonly names: readonly string[];
      readonly merges: Merges;
    };

/** Where a history names the entities of a merge. */
interface Merges {
  /** The kind of document that holds what a history answer says in addition to its records. */
  readonly kind: string;
  /** The merged entities' ids in one item of `merges`, as a JSON path. */
  readonly sources: ItemPath;
  /** The survivor's id in `mergedInto`, as a JSON path. */
  readonly target: ItemPath;
  /** The fields of a list's item that duplicates often share: whose history is fetched first to find a survivor. */
  readonly alike: readonly ItemPath[];
}

/** A resource that is fetched for each item of a list, with a request of its own, when it is due. */
export interface ChildEntry extends Entry {
  /** The list whose items are asked about. */
  readonly parent: string;
  /** The endpoint's name where several children share it; otherwise it is the child's. */
  readonly endpointName?: string;
  /** The query parameter that names the parent, where the path does not. */
  readonly parentParameter?: string;
  /**
   * More query parameters, so that the answer is complete. The document does not promise them, so a request that is answered 400
   * is sent again without them.
   */
  readonly extraQuery?: Readonly<Record<string, string | number | readonly string[]>>;
  /**
   * A query parameter that selects records by their author. A history that returns fewer records than it counts is requested
   * again with each value alone, which returns more of them.
   */
  readonly dividedBy?: { readonly parameter: string; readonly values: readonly string[] };
  readonly answer: AnswerForm;
  /** An answer has several pages. */
  readonly paged?: true;
  /**
   * The fields of the list item that count what a paged answer holds. Reading may end early when what was read accounts
   * for the change of these fields, and no other field has changed.
   */
  readonly counters?: PageCounters;
  /**
   * The field of the list item that counts its members, or lists them. An answer with fewer removes nothing, unless the
   * count has fallen by as many.
   */
  readonly counts?: ItemPath;
  /**
   * Where its members are conversations: the field of the list item that counts their messages. A message that an answer leaves
   * out is gone where the count has fallen by as many. Without it, where the person who wrote it has fewer than are stored.
   */
  readonly countsMessages?: ItemPath;
  /** Where nothing counts them: a number of the list item that is above zero only where there is one. */
  readonly existsWith?: ItemPath;
  /** Where its one object has a list of them: the field. */
  readonly membersIn?: string;
  /** Smaller is fetched first among equals in reason. */
  readonly weight: number;
  /** The days after which it is fetched again, changed or not, times `sync.recheck`. */
  readonly maxAgeDays: number;
  /**
   * The fields of the list item whose change makes this child due. Never a whole item, and nothing that changes by
   * itself (signed avatar and logo URLs, similarity) or copies another entity.
   */
  readonly changeFields: readonly ItemPath[];
  /**
   * A time that changes with any change of the item, messages included, and so shows changes that no other field shows
   * (one that was taken back, for example). It does not count where it equals the time of the last message.
   */
  readonly moved?: { readonly at: ItemPath; readonly unlessIs: ItemPath };
  /**
   * The people of a company, and the fields whose change makes this child due as well: what one of them gains and another loses
   * leaves the company's own counters as they are.
   */
  readonly members?: {
    readonly list: string;
    readonly fields: readonly ItemPath[];
  };
  /** The endpoint's path takes decimal digits only (Resources and their fields, conventions). */
  readonly digitsOnly?: true;
  /** Not asked for when the list item has all of these fields: every field that the detail documents. */
  readonly skippedWhenListHas?: readonly string[];
  /** Answers 404 for a topic archived in the v1 to v2 migration, so it is not fetched once the detail has answered that. */
  readonly goneInMigration?: true;
  /** Whether its documents are removed when the parent is gone. Their part about the parent itself is kept. */
  readonly removedWithParent: boolean;
  /** The list that its members are items of: the document of a member is removed when that item is gone. */
  readonly membersOf?: string;
}

export type ResourceEntry = ListEntry | ChildEntry;

/** Documents that come inside the items of other resources. */
export interface EmbeddedEntry {
  /** Its fields; null where it has none. */
  readonly item: z.ZodObject | null;
  readonly optionalFields?: readonly string[];
  /** The list with whose items its documents are removed; null where they belong to none. */
  readonly parent: string | null;
  readonly membersOf?: string;
}

/** `{data, limit, page, totalCount}`, the form of every paged list (Endpoints, general rules). */
export const paged = <T extends z.ZodType>(item: T) =>
  object({
    data: z.array(item),
    limit: z.number().int(),
    page: z.number().int(),
    totalCount: z.number().int(),
  });

/** `{data: [...]}`, the form of the lists that are not paged. */
export const listed = <T extends z.ZodType>(item: T) => object({ data: z.array(item) });

/** The query of a paged list. */
export const paging = z.object({
  page: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).optional(),
});

export const byTopic = z.object({ topicId: id('topic_id') });
export const byCompany = z.object({ companyId: id('company_id') });
export const byPerson = z.object({ personId: id('person_id') });
export const bySlug = z.object({ slug: z.string().min(1) });
