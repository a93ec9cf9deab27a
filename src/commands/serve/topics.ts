import { type Clock, iso, systemClock } from '../../base/clock.js';
import { folded } from '../../base/closest.js';
import { messageOf, SignalhouseError, StorageError, UsageError } from '../../base/errors.js';
import { groupBy } from '../../base/group-by.js';
import { oneAtATime } from '../../base/one-at-a-time.js';
import { recordExport, recordRead, refuseUnrecorded } from '../../privacy/audit.js';
import { policyOf } from '../../privacy/policy.js';
import { isOpen, onThePage } from '../../push/change.js';
import { isSame } from '../../push/compare.js';
import { type Draft, type DraftEdit, Drafts, keyOf, prepareDraft } from '../../push/drafts.js';
import { fieldOf, type Value } from '../../push/fields.js';
import { parseCell } from '../../push/import/values.js';
import { queueReader } from '../../push/queue.js';
import type { Snapshot } from '../../read/query.js';
import { snapshotVersion, withSnapshot } from '../../read/snapshot.js';
import type { Sheets } from '../../serve/http/sheets.js';
import { type PageEdit, shownOf, type Topics } from '../../serve/http/topics.js';
import type { Person } from '../../serve/page/page.js';
import type { Told } from '../../serve/page/topic.js';
import type { DraftLine, TopicFilter, TopicLine } from '../../serve/page/topics.js';
import { sqlFile } from '../../store/sql.js';
import { shownValue } from '../../view/changes.js';
import { planned, previewsOf } from '../changes-import.js';
import type { Setup } from '../setup.js';
import { type Board, type Found, readBoard, selected, withApplied } from './board.js';
import { written } from './sheets.js';
import { readCompany, readTold, readTopic, Ticks, writeTold } from './topic-pages.js';

/** The pages about topics and companies. They read the published file that people may see, and never the one with everything. */

/** Topics on a page of the list. */
const pageSize = 50;
/** How soon a new publication is read, so that no page waits for it. */
const everyMs = 5_000;
/** The searches in messages that are remembered. */
const remembered = 20;

/** The board of the newest published file. */
class Boards {
  #version: string | null = null;
  #board: Board | null = null;
  #problem: string | null = null;
  #reading: Promise<void> | null = null;

  constructor(
    private readonly setup: Setup,
    private readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  ) {}

  /** The last one; waits for the first. Throws StorageError when there is none. */
  async latest(): Promise<{ readonly board: Board; readonly version: string }> {
    this.refresh();
    if (this.#board === null) await this.#reading;
    if (this.#board && this.#version) return { board: this.#board, version: this.#version };
    throw new StorageError(this.#problem ?? 'there are no data yet', {
      hint: this.#problem === null ? 'Wait for the first sync, and load the page again.' : undefined,
    });
  }

  /** Reads a newer publication, if there is one. */
  refresh(): void {
    const version = snapshotVersion(this.setup.config.dataDir);
    if (version !== null && version !== this.#version) this.#reading ??= this.#read(version);
  }

  /** Keeps it new until `stop`. */
  async follow(clock: Clock, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      this.refresh();
      await clock.sleep(everyMs, stop).catch(() => undefined);
    }
  }

  async #read(version: string): Promise<void> {
    try {
      this.#board = await this.inTurn(() => withSnapshot(this.setup, readBoard));
      this.#problem = null;
    } catch (error) {
      this.setup.log.warn({ err: error }, 'the topics of the published file cannot be shown');
      this.#board = null;
      this.#problem =
        error instanceof SignalhouseError ? [error.message, error.hint].join('. ') : messageOf(error);
    }
    // Also where it failed: the next publication is another try.
    this.#version = version;
    this.#reading = null;
  }
}

/** How long a page shows what its reader has sent. */
const sentMs = 24 * 3_600_000;

/**
 * Everything that the pages about topics can do. `inTurn` runs what takes the memory of a query; without `sheets`, nothing can be
 * edited.
 */
export function topicsOf(
  setup: Setup,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  stop: AbortSignal,
  sheets: Sheets | null,
): Topics {
  const { clock = systemClock, config } = setup;
  const previews = previewsOf(setup);
  const drafts = new Drafts(config.dataDir, previews, clock);
  const ticks = new Ticks(config.dataDir);
  // Two reviews of one person must not show the same edits twice.
  const reviewing = oneAtATime();
  const boards = new Boards(setup, inTurn);
  const queue = queueReader(setup);
  const searches = new Map<string, Promise<Found>>();
  void boards.follow(clock, stop);

  const read = <T>(work: (snapshot: Snapshot) => Promise<T>) => inTurn(() => withSnapshot(setup, work));

  /** The topics whose messages have the words; each search is made once for a publication. */
  async function searched({ q, in: place }: TopicFilter, version: string): Promise<Found> {
    if (q === '' || place !== 'messages') return null;
    const key = `${version} ${q}`;
    const found = searches.get(key) ?? read((snapshot) => topicsWith(snapshot, q));
    found.catch(() => searches.delete(key));
    searches.delete(key);
    searches.set(key, found);
    if (searches.size > remembered) searches.delete(searches.keys().next().value ?? '');
    return found;
  }

  async function currentBoard() {
    const { board, version } = await boards.latest();
    return { board: withApplied(board, await queue()), version };
  }

  async function matching(filter: TopicFilter): Promise<{ board: Board; topics: TopicLine[] }> {
    const { board, version } = await currentBoard();
    return { board, topics: selected(board, filter, await searched(filter, version)) };
  }

  const recorded = (by: string, rows: number | null, reader: Person | null) =>
    recordRead(setup, { by, rows }, reader?.name ?? 'person without a login');

  /** Every person's unsent edits, beside the values that a board has now. */
  function draftsFor(board: Board, reader: Person | null) {
    const own = reader === null ? null : drafts.of(reader.name);
    const others = drafts.all().filter(({ by }) => by !== own?.by);
    const lines = ({ edits }: Draft) => edits.map((edit) => lineOf(board, edit));
    return {
      own: own === null ? [] : lines(own),
      reason: own?.reason ?? '',
      others: others.flatMap((draft) => lines(draft).map((line) => ({ ...line, by: draft.by }))),
    };
  }

  /** The changes that are queued or being sent, in words, by topic or company. */
  async function waiting(): Promise<ReadonlyMap<string, readonly string[]>> {
    const open = groupBy((await queue()).filter(isOpen), ({ entityId }) => entityId);
    return new Map(
      [...open].map(([id, changes]) => [
        id,
        changes.flatMap(({ wanted, status }) =>
          Object.entries(wanted).map(([name, value]) =>
            `${status}: ${name} ${shownValue(value)}`.replaceAll('_', ' '),
          ),
        ),
      ]),
    );
  }

  /** The changes that a person sent last from these pages. */
  async function sent(reader: Person | null) {
    if (reader === null || sheets === null) return null;
    const lines = await sheets.history();
    const own = lines.find(
      ({ by, name, state, at }) =>
        by === reader.name &&
        (name === onThePage || name === `undo of ${onThePage}`) &&
        state !== 'new' &&
        state !== 'cancelled' &&
        clock.now() - Date.parse(at) < sentMs,
    );
    return own ? sheets.look(own.id) : null;
  }

  /** What the page of a topic or a company has beside what is read of it. */
  async function edited(board: Board, reader: Person | null) {
    return { drafts: draftsFor(board, reader), waiting: await waiting(), sent: await sent(reader) };
  }

  /** Who of those who asked for a topic was told. */
  async function toldOf(id: string): Promise<Told | null> {
    const { board } = await currentBoard();
    return read((snapshot) => readTold(snapshot, board, ticks, id));
  }

  return {
    canEdit: sheets !== null && policyOf(config.publish).methodOfKind('topic_id') === undefined,

    async list(filter, reader, isPart = false) {
      const { board, topics } = await matching(filter);
      if (filter.in === 'messages' && filter.q !== '') recorded('topics', topics.length, reader);
      const pages = Math.max(1, Math.ceil(topics.length / pageSize));
      const page = Math.min(filter.page, pages);
      return {
        filter: { ...filter, page },
        companyName: board.companies.get(filter.company)?.name ?? null,
        topics: topics.slice((page - 1) * pageSize, page * pageSize),
        total: topics.length,
        pages,
        attributes: board.attributes,
        sources: board.sources,
        drafts: draftsFor(board, reader),
        waiting: await waiting(),
        sent: isPart ? null : await sent(reader),
        note:
          filter.in === 'messages' && filter.q !== ''
            ? 'Topics with the words in their title or messages, the best first.'
            : null,
      };
    },

    async matching(filter) {
      return (await matching(filter)).topics;
    },

    async edit(edits, by) {
      const before = new Map(drafts.of(by.name).edits.map((one) => [keyOf(one), one]));
      // A field that still has the value that was shown, and no edit, needs no check.
      const made = edits.filter((one) => one.wanted !== one.seen || before.has(keyOf(one)));
      drafts.edit(
        by.name,
        made.map(({ entityType, entityId, field, seen, wanted }) => {
          const isAsSeen = wanted === seen;
          const known = seenValue(entityType, field, seen);
          return {
            entityType,
            entityId,
            field,
            seen: known,
            wanted: isAsSeen ? known : valueIn(entityType, field, wanted),
          };
        }),
      );
    },

    async pasted(column, text, shown) {
      if (column !== 'priority' && column !== 'lifecycle_state')
        throw new UsageError('There is no such column.');
      const lines = text.replace(/\s+$/, '').split(/\r?\n/);
      const { board } = await currentBoard();
      const problems: string[] = [];
      const edits = lines.flatMap((line, at): PageEdit[] => {
        const cells = line.split('\t').map((cell) => cell.trim());
        const value = cells.at(-1) ?? '';
        const named = cells.length > 1 ? rowNamed(board, cells[0] ?? '') : shown[at];
        if (value === '') return [];
        if (!named) {
          problems.push(
            `line ${at + 1}: ${cells.length > 1 ? `no topic, or more than one, is called ${cells[0]}` : 'the page has no more topics'}`,
          );
          return [];
        }
        const parsed = parseCell(fieldOf('topic', column), value);
        if (parsed.kind === 'problem') problems.push(`line ${at + 1}: ${value} ${parsed.problem}`);
        if (parsed.kind !== 'value') return [];
        const seen = named.values[column] ?? '';
        return [
          { entityType: 'topic', entityId: named.id, field: column, seen, wanted: String(parsed.value) },
        ];
      });
      if (problems.length === 0) return edits;
      const listed = problems.map((problem) => ({ setting: 'values', problem }));
      throw new UsageError('Nothing was pasted.', listed, { hint: 'Fix these lines, and paste them again.' });
    },

    async settle(keys, decision, by) {
      const chosen = keys === 'all' ? drafts.of(by.name).edits.map(keyOf) : keys;
      const { board } = await currentBoard();
      drafts.settle(by.name, chosen, decision === 'discard' ? decision : (edit) => nowOf(board, edit));
    },

    review: (reason, by) =>
      reviewing(async () => {
        drafts.explain(by.name, reason.trim());
        const draft = drafts.of(by.name);
        if (draft.edits.length === 0) throw new UsageError('The draft is empty: nothing was edited.');
        const plan = await planned(setup, (parts) => prepareDraft(parts, draft));
        const { id } = previews.add(plan);
        drafts.reviewed(draft, id);
        return id;
      }),

    async topic(id, reader) {
      const { board } = await currentBoard();
      const changes = await queue();
      const found = await read((snapshot) => readTopic(snapshot, board, changes, id));
      if (!found) return null;
      recorded('topic', null, reader);
      return { ...found, ...(await edited(board, reader)) };
    },

    async company(id, reader) {
      const { board } = await currentBoard();
      const found = await read((snapshot) => readCompany(snapshot, board, id));
      if (!found) return null;
      recorded('company', null, reader);
      return { ...found, ...(await edited(board, reader)) };
    },

    async told(id, reader) {
      const told = await toldOf(id);
      if (told) recorded('told', told.people.length, reader);
      return told;
    },

    async toldFile(id, by) {
      refuseUnrecorded(setup);
      const told = await toldOf(id);
      if (!told) return null;
      const name = `told-${id.replaceAll(/[^\w-]/g, '_').slice(0, 60)}.csv`;
      const file = await written(config.dataDir, name, (out) => writeTold(out, told));
      recordExport(setup, { tables: ['told'], format: 'csv', rows: told.people.length, file: name }, by.name);
      return file;
    },

    async tell(topicId, listed, told, { name: by }) {
      const at = iso(clock.now());
      for (const personId of listed) ticks.set({ topicId, personId, by, at }, told.includes(personId));
    },
  };
}

/** The value of a field on a board; undefined where it has none. */
function nowOf(board: Board, { entityType, entityId, field }: DraftEdit): Value | undefined {
  const topic = entityType === 'topic' ? board.byId.get(entityId) : undefined;
  const company = entityType === 'company' ? board.companies.get(entityId) : undefined;
  const values: Readonly<Record<string, Value | undefined>> = {
    priority: topic?.priority,
    lifecycle_state: topic?.lifecycleState,
    archived: topic?.isArchived,
    name: company?.name,
    is_vip: company?.isVip,
  };
  return values[field];
}

function lineOf(board: Board, edit: DraftEdit): DraftLine {
  const { entityType, entityId, field, seen, wanted } = edit;
  const now = nowOf(board, edit);
  const isStale = now !== undefined && !isSame(now, seen) && !isSame(now, wanted);
  const named = board.byId.get(entityId)?.title ?? board.companies.get(entityId)?.name;
  return {
    key: keyOf(edit),
    entityType,
    entityId,
    field,
    title: named ?? entityId,
    from: shownValue(seen),
    to: shownValue(wanted),
    now: isStale ? shownValue(now) : null,
  };
}

/** The only topic with an id or a title. */
function rowNamed(board: Board, name: string) {
  const wanted = folded(name);
  const found = board.byId.get(name) ?? board.topics.filter(({ title }) => folded(title ?? '') === wanted);
  const [topic, second] = Array.isArray(found) ? found : [found];
  return topic && !second ? shownOf(topic) : undefined;
}

/** The values that the page showed, as the form returns them. */
function seenValue(entityType: PageEdit['entityType'], field: string, text: string): Value {
  if (fieldOf(entityType, field).kind === 'boolean') return text === 'true';
  return text === '' ? null : text;
}

/** The value of a field from the text of a form. Throws UsageError for one that the field cannot have. */
function valueIn(entityType: PageEdit['entityType'], field: string, text: string): Value {
  const parsed = parseCell(fieldOf(entityType, field), text);
  if (parsed.kind === 'value') return parsed.value;
  const problem = parsed.kind === 'nothing' ? 'must not be empty' : `${text} ${parsed.problem}`;
  throw new UsageError('Nothing was edited.', [{ setting: field, problem }]);
}

async function topicsWith(snapshot: Snapshot, words: string): Promise<Found> {
  const rows = await snapshot.rows<{ id: string; score: number }>(sqlFile('topics/found'), { words });
  return new Map(rows.map(({ id, score }) => [id, score]));
}
