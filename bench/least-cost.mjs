// The smallest number of requests that return everything a service has, or everything that is new since a mark. It reads
// every answer of a sandbox without a limit and compares their digests. A change is not counted where an answer only copies
// another entity or follows the clock (`ownContents`). A request is not needed when another answer says the same: the detail
// of an item whose list item has every field, a child that fails as the detail does, the conversations of a person who
// belongs to a company.
import { createHash } from 'node:crypto';

/** @typedef {Record<string, number>} Requests how many, by endpoint */
/** @typedef {{total: number, lists: Requests, children: Requests}} Cost */
/** @typedef {{endpoint: string, path: string, requests: number}} Needed an answer that a client has to fetch */
/** @typedef {{endpoint: string, isDetail: boolean, parts: Map<string, string>}} Digest an answer as digests of its parts */
/** @typedef {{lists: Requests, answers: Map<string, Digest>}} Snapshot */
/** @typedef {any} Wire an answer as it goes over the wire */
/** @typedef {import('../src/contract/resources.js').Child} Child */
/** @typedef {import('../src/contract/resources.js').List} List */

const built = new URL('../dist/contract/resources.js', import.meta.url).href;
/** @type {typeof import('../src/contract/resources.js')} */
const { resources } = await import(built);

/** The largest page that the sandbox grants, and how many requests are open at once. */
const [pageSize, concurrency] = [100, 16];

export class LeastCost {
  #env;
  /** @type {Snapshot | undefined} */
  #marked;

  /** @param {{SIGNALHOUSE_BASE_URL: string, SIGNALHOUSE_API_KEY: string}} env */
  constructor(env) {
    this.#env = env;
  }

  /** Remembers every answer as it is now. Returns the cost of fetching all of them. @returns {Promise<Cost>} */
  async mark() {
    this.#marked = await this.#snapshot();
    const { answers, lists } = this.#marked;
    return costOf(
      lists,
      [...answers].map(([path, answer]) => needed(path, answer, undefined)),
    );
  }

  /** The answers that differ from the last mark, and the cost of fetching them. */
  async changed() {
    const before = this.#marked;
    if (!before) throw new Error('mark() comes first');
    const now = await this.#snapshot();
    const answers = [...now.answers]
      .map(([path, answer]) => needed(path, answer, before.answers.get(path)))
      .filter(({ requests }) => requests > 0);
    for (const [path, { endpoint, isDetail }] of before.answers)
      if (isDetail && !now.answers.has(path)) answers.push({ endpoint, path, requests: 1 });
    return { ...costOf(now.lists, answers), answers };
  }

  /** @returns {Promise<Snapshot>} */
  async #snapshot() {
    /** @type {Requests} */
    const lists = { whoami: 1 };
    /** @type {Map<string, Digest>} */
    const answers = new Map();
    for (const list of resources.lists) {
      const { items, requests } =
        list.reads === 'buckets' ? await this.#stories() : await this.#pages(list.endpoint.path);
      lists[list.name] = requests;
      const left = [...items];
      const workers = Array.from({ length: concurrency }, async () => {
        for (let item = left.pop(); item !== undefined; item = left.pop())
          for (const [path, answer] of await this.#answersAbout(list, item)) answers.set(path, answer);
      });
      await Promise.all(workers);
    }
    return { lists, answers };
  }

  /** Every answer about one item of a list that is needed. @param {List} list @param {Wire} item */
  async #answersAbout(list, item) {
    /** @type {[string, Digest][]} */
    const answers = [];
    let detailFailure;
    const children = resources.children.filter((child) => child.list === list);
    const isDetailOf = (/** @type {Child} */ child) => child.name === list.detail;
    for (const child of children.toSorted((a, b) => Number(isDetailOf(b)) - Number(isDetailOf(a)))) {
      // The conversations of a company's people are all among the company's.
      if (child.name === 'person_groups' && item.company) continue;
      const isDetail = isDetailOf(child);
      const path = pathOf(child, keyOf(item, list.key));
      const add = (/** @type {Map<string, string>} */ parts) =>
        answers.push([path, { endpoint: child.endpointName, isDetail, parts }]);
      if (child.paged) {
        add(await this.#pagedParts(child, path));
        continue;
      }
      const { body, failure } = await this.#ask(path, child.extraQuery);
      if (failure !== undefined) {
        if (isDetail) detailFailure = failure;
        if (isDetail || failure !== detailFailure) add(new Map([['', failure]]));
      } else if (!isDetail || !hasEveryField(item, body)) {
        add(new Map([['', digest(ownContents[child.name]?.(body) ?? body)]]));
      }
    }
    return answers;
  }

  /** The items of a paged child, each as a part of its own. @param {Child} child @param {string} path */
  async #pagedParts(child, path) {
    const { items } = await this.#pages(path);
    const { answer } = child;
    return new Map(
      items.map((item) =>
        answer.form === 'members'
          ? [keyOf(item, answer.key), digest(item)]
          : [String(item.group.id), digest(ownConversation(item))],
      ),
    );
  }

  /** A bucket has no pages: another one costs a request only when it has stories that the ones before have not. */
  async #stories() {
    const stories = new Map();
    let requests = 0;
    for (const bucket of ['everything', 'archived', 'for-you', 'unread']) {
      const { body } = await this.#ask('/stories', { bucket, limit: pageSize });
      const added = body.stories.filter((/** @type {Wire} */ { draft }) => !stories.has(draft.slug));
      if (requests > 0 && added.length === 0) continue;
      for (const story of added) stories.set(story.draft.slug, story);
      requests += 1;
    }
    return { items: [...stories.values()], requests };
  }

  /** All items of a list, and how many requests that takes. @param {string} path */
  async #pages(path) {
    /** @type {Wire[]} */
    const items = [];
    for (let page = 1; ; page += 1) {
      const { body } = await this.#ask(path, { page, limit: pageSize });
      const found = Array.isArray(body) ? body : (Object.values(body ?? {}).find(Array.isArray) ?? []);
      items.push(...found);
      const isComplete = body?.totalCount === undefined || items.length >= body.totalCount;
      if (isComplete || found.length === 0) return { items, requests: page };
    }
  }

  /** @param {string} path @param {object} [query] @returns {Promise<{body?: Wire, failure?: string}>} */
  async #ask(path, query = {}) {
    const url = new URL(`${this.#env.SIGNALHOUSE_BASE_URL}${path}`);
    for (const [name, value] of Object.entries(query))
      for (const one of [value].flat()) url.searchParams.append(name, String(one));
    const headers = { authorization: `Bearer ${this.#env.SIGNALHOUSE_API_KEY}` };
    const answer = await fetch(url, { headers });
    const body = /** @type {Wire} */ (await answer.json());
    return answer.ok ? { body } : { failure: digest(body.message) };
  }
}

/** As many requests as there are pages with changes; one when something is only gone. @returns {Needed} */
function needed(
  /** @type {string} */ path,
  /** @type {Digest} */ { endpoint, parts },
  /** @type {Digest | undefined} */ before,
) {
  const pages = new Set();
  [...parts].forEach(([name, value], index) => {
    if (before?.parts.get(name) !== value) pages.add(Math.floor(index / pageSize));
  });
  const isGone = before !== undefined && [...before.parts.keys()].some((name) => !parts.has(name));
  return { endpoint, path, requests: Math.max(pages.size, isGone || before === undefined ? 1 : 0) };
}

/** @param {Requests} lists @param {Needed[]} answers @returns {Cost} */
function costOf(lists, answers) {
  /** @type {Requests} */
  const children = {};
  for (const { endpoint, requests } of answers) children[endpoint] = (children[endpoint] ?? 0) + requests;
  const sum = (/** @type {Requests} */ all) => Object.values(all).reduce((total, count) => total + count, 0);
  return { total: sum(lists) + sum(children), lists, children };
}

/** @param {Wire} item @param {Wire} detail */
function hasEveryField(item, detail) {
  return Object.entries(detail).every(([name, value]) => digest(item[name]) === digest(value));
}

/** @param {Wire} item @param {readonly string[]} key */
function keyOf(item, key) {
  return key.map((path) => String(path.split('.').reduce((value, name) => value?.[name], item))).join(':');
}

/** @param {Child} child @param {string} parentId */
function pathOf({ endpoint, parentParameter }, parentId) {
  const id = encodeURIComponent(parentId);
  const path = endpoint.path.replace(/\{\w+\}/, id);
  return parentParameter === undefined ? path : `${path}?${parentParameter}=${id}`;
}

/** Reduces the copy of another entity to its id. @param {Wire} copy */
const idOnly = (copy) => copy && { id: copy.id };

/** A conversation without what it copies of its topic, of authors, channels and other messages. @param {Wire} item */
function ownConversation({ messages, topic, ...own }) {
  return {
    ...own,
    topicId: topic?.topicId,
    messages: messages.map((/** @type {Wire} */ { author, channel, replyTo: _, thread: __, ...message }) => ({
      ...message,
      author: idOnly(author),
      channel: idOnly(channel),
    })),
  };
}

/** Answers without the copies of other entities, which change when those do, and without what follows the clock. */
/** @type {Partial<Record<string, (body: Wire) => Wire>>} */
const ownContents = {
  topic: ({ successorTopic, ...own }) => ({ ...own, successorTopic: idOnly(successorTopic) }),
  topic_groups: ({ data }) => data.map(ownConversation),
  topic_people: ({ data }) =>
    data.map((/** @type {Wire} */ { id, identities, isBot, messageCount, sources }) => ({
      id,
      identities,
      isBot,
      messageCount,
      sources,
    })),
  // The weeks shift every Monday, although nobody wrote.
  company_activity: ({ weeklyActivity: _, ...own }) => own,
  person: ({ company, weeklyActivity: _, ...own }) => ({ ...own, company: idOnly(company) }),
};

/** @param {unknown} value */
function digest(value) {
  return createHash('sha1')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}
