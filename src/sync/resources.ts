import type { EndpointName } from '../contract/endpoints.js';
import type { ChildEndpoint } from './settings.js';

/**
 * What is fetched, as data: the lists, and for each list the children of its items. A new child is an entry here, a
 * landing and a model; no loop is written for it.
 */

export type ListName = 'topics' | 'companies' | 'people' | 'channels' | 'stories' | 'automation_templates';

export interface List {
  readonly name: ListName;
  /** Whether a missing item may be tombstoned: stories never (a bucket shows at most 100), channels have no mark. */
  readonly tombstones: boolean;
  /** The endpoint that answers for one item, and its path parameter. */
  readonly detail: ChildEndpoint;
  readonly presence: 'topic_presence' | 'company_presence' | 'person_presence' | null;
}

export const lists: readonly List[] = [
  { name: 'topics', tombstones: true, detail: 'topic', presence: 'topic_presence' },
  { name: 'companies', tombstones: true, detail: 'company', presence: 'company_presence' },
  { name: 'people', tombstones: true, detail: 'person', presence: 'person_presence' },
  { name: 'channels', tombstones: false, detail: 'channel', presence: null },
  { name: 'stories', tombstones: false, detail: 'story', presence: null },
  { name: 'automation_templates', tombstones: false, detail: 'automation_template', presence: null },
];

export interface Child {
  readonly endpoint: ChildEndpoint;
  readonly list: ListName;
  /** The endpoint of the API that is asked, when several children share one. */
  readonly asks: EndpointName;
  /** Smaller is fetched first among equals in reason. */
  readonly weight: number;
  /**
   * The fields of the list item that betray a change of this child: JSON paths. Never a whole item, and nothing that
   * moves by itself (signed avatar and logo URLs, similarity) or copies another entity.
   */
  readonly changeFields: readonly string[];
  /**
   * A moment that moves with any change of the item, messages included, and that betrays what no other field does
   * (a change that was taken back, say): not where it is the moment of the last message, which then moved it.
   */
  readonly moved?: { readonly at: string; readonly unlessIs: string };
  /** The endpoint's path takes decimal digits only (Resources and their fields, conventions). */
  readonly digitsOnly?: true;
  /** Not asked when the list item already says every field that the detail documents. */
  readonly skippedWhenListSaysAll?: readonly string[];
  /** Answers 404 for a topic archived in the v1 to v2 migration, so it is not asked once the detail said so. */
  readonly goneInMigration?: true;
  /** An answer has several pages. */
  readonly paged?: true;
}

const topicActivity = [
  '$.messageCount',
  '$.totalGroupCount',
  '$.eventCount',
  '$.timeRangeEnd',
  '$.updatedAt',
];
const topicState = [
  '$.title',
  '$.summary',
  '$.issueType',
  '$.keywords',
  '$.lifecycleState',
  '$.lifecycleStateConfidence',
  '$.priority',
];
const companyActivity = ['$.messageCount', '$.lastSeenAt'];
const companyState = ['$.name', '$.isVip', '$.isOrgCompany', '$.primaryDomain'];
const personActivity = ['$.messageCount', '$.lastSeenAt', '$.conversationCount'];
const personState = [
  '$.displayName',
  '$.isVip',
  '$.primaryEmail',
  '$.description',
  '$.company.id',
  '$.identityCount',
];

const personFields = [
  'avatarUrl',
  'avgMessagesPerWeek',
  'company',
  'connections',
  'conversationCount',
  'createdAt',
  'description',
  'displayName',
  'ecosystemTags',
  'expertiseTags',
  'firstSeenAt',
  'id',
  'identityCount',
  'isVip',
  'lastSeenAt',
  'messageCount',
  'primaryEmail',
  'sources',
  'weeklyActivity',
];
const channelFields = [
  'id',
  'channelName',
  'context',
  'createdAt',
  'updatedAt',
  'isConnected',
  'lastSeenAt',
  'messageCount',
  'serverName',
  'sourceChannelId',
  'sourceName',
  'sourceServerId',
];

export const children: readonly Child[] = [
  {
    endpoint: 'topic',
    list: 'topics',
    asks: 'topic',
    weight: 10,
    changeFields: [...topicState, '$.updatedAt', '$.eventCount'],
  },
  {
    endpoint: 'topic_groups',
    list: 'topics',
    asks: 'topic_groups',
    weight: 20,
    changeFields: topicActivity,
    goneInMigration: true,
  },
  { endpoint: 'company', list: 'companies', asks: 'company', weight: 30, changeFields: companyState },
  {
    endpoint: 'person',
    list: 'people',
    asks: 'person',
    weight: 40,
    changeFields: [...personActivity, ...personState],
    skippedWhenListSaysAll: personFields,
  },
  {
    endpoint: 'topic_people',
    list: 'topics',
    asks: 'topic_people',
    weight: 50,
    // Who takes part changes without the topic when people are merged, or an account gets another owner.
    changeFields: [...topicActivity, '$.personIds'],
  },
  {
    endpoint: 'company_activity',
    list: 'companies',
    asks: 'company_activity',
    weight: 60,
    changeFields: companyActivity,
  },
  {
    endpoint: 'company_groups',
    list: 'companies',
    asks: 'groups',
    weight: 70,
    changeFields: [...companyActivity, '$.personCount'],
    paged: true,
  },
  {
    endpoint: 'person_groups',
    list: 'people',
    asks: 'groups',
    weight: 80,
    changeFields: personActivity,
    paged: true,
  },
  {
    endpoint: 'person_identities',
    list: 'people',
    asks: 'person_identities',
    weight: 90,
    changeFields: ['$.identityCount', '$.sources'],
  },
  {
    endpoint: 'company_identities',
    list: 'companies',
    asks: 'company_identities',
    weight: 100,
    changeFields: ['$.personCount', '$.primaryDomain'],
    digitsOnly: true,
  },
  {
    endpoint: 'topic_history',
    list: 'topics',
    asks: 'topic_history',
    weight: 110,
    changeFields: [...topicState, '$.totalGroupCount'],
    moved: { at: '$.updatedAt', unlessIs: '$.timeRangeEnd' },
    goneInMigration: true,
  },
  {
    endpoint: 'company_history',
    list: 'companies',
    asks: 'company_history',
    weight: 120,
    changeFields: [...companyState, '$.personCount'],
  },
  {
    endpoint: 'person_source_stats',
    list: 'people',
    asks: 'person_source_stats',
    weight: 130,
    changeFields: ['$.messageCount', '$.sources', '$.lastSeenAt'],
  },
  {
    endpoint: 'person_history',
    list: 'people',
    asks: 'person_history',
    weight: 140,
    changeFields: personState,
    digitsOnly: true,
  },
  {
    endpoint: 'channel',
    list: 'channels',
    asks: 'channel',
    weight: 150,
    changeFields: ['$.updatedAt', '$.isConnected', '$.channelName'],
    skippedWhenListSaysAll: channelFields,
  },
  {
    endpoint: 'story',
    list: 'stories',
    asks: 'story',
    weight: 160,
    changeFields: ['$.draft.version', '$.draft.title', '$.archive.archivedAt'],
  },
  {
    endpoint: 'automation_template',
    list: 'automation_templates',
    asks: 'automation_template',
    weight: 170,
    changeFields: ['$.updatedAt', '$.name', '$.version'],
  },
];

/** The resources and endpoints that `--only` takes: a resource means its list and every child. */
export const selectable: readonly string[] = [
  ...lists.map(({ name }) => name),
  ...children.map(({ endpoint }) => endpoint),
];

export interface Selection {
  readonly lists: readonly List[];
  readonly children: readonly Child[];
  /** Names that are neither. */
  readonly unknown: readonly string[];
}

/** What `--only` means; everything when it is absent. */
export function select(only: readonly string[] | undefined): Selection {
  if (only === undefined || only.length === 0) return { lists, children, unknown: [] };
  const wanted = new Set(only);
  return {
    lists: lists.filter(({ name }) => wanted.has(name)),
    children: children.filter(({ endpoint, list }) => wanted.has(endpoint) || wanted.has(list)),
    unknown: only.filter((name) => !selectable.includes(name)),
  };
}

/** The children whose answer comes in one piece. */
export type UnpagedChild = Exclude<ChildEndpoint, 'company_groups' | 'person_groups'>;

/** For code that knows that a child has no pages, as no list's detail has. */
export function unpaged(endpoint: ChildEndpoint): UnpagedChild {
  if (endpoint === 'company_groups' || endpoint === 'person_groups') throw new Error(`${endpoint} has pages`);
  return endpoint;
}
