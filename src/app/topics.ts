import { type Clock, systemClock } from '../base/clock.js';
import { messageOf, SignalhouseError, StorageError } from '../base/errors.js';
import type { Change } from '../push/change.js';
import { journalPath, readQueue } from '../push/queue.js';
import type { Snapshot } from '../read/query.js';
import type { Topics } from '../serve/http/topics.js';
import type { Person } from '../serve/page/page.js';
import type { TopicFilter, TopicLine } from '../serve/page/topics.js';
import { sqlFile } from '../store/sql.js';
import { recordRead } from './audit.js';
import { type Board, type Found, readBoard, selected, withApplied } from './board.js';
import type { Setup } from './setup.js';
import { fileVersion, snapshotVersion, withSnapshot, withSnapshotIfAny } from './snapshot.js';

/** The pages about topics and companies. They read the published file that people may see, and never the one with everything. */

/** Topics on a page of the list. */
const pageSize = 50;
/** How soon a new publication is read, so that nobody waits for it. */
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

/** A function that reads the queue again only when it has changed. */
export function queueReader(setup: Setup): () => Promise<readonly Change[]> {
  const { config, log } = setup;
  let last: { readonly version: string; readonly changes: Promise<readonly Change[]> } | undefined;
  return () => {
    const version = `${snapshotVersion(config.dataDir)}, ${fileVersion(journalPath(config.dataDir))}`;
    if (last?.version !== version) {
      const changes = withSnapshotIfAny(setup, (snapshot) => readQueue(snapshot, config, log));
      changes.catch(() => {
        last = undefined;
      });
      last = { version, changes };
    }
    return last.changes;
  };
}

/** Everything that the pages about topics can do. `inTurn` runs what takes the memory of a query. */
export function topicsOf(
  setup: Setup,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  stop: AbortSignal,
): Topics {
  const { clock = systemClock } = setup;
  const boards = new Boards(setup, inTurn);
  const queue = queueReader(setup);
  const searches = new Map<string, Promise<Found>>();
  void boards.follow(clock, stop);

  /** The topics whose messages have the words; each search is made once for a publication. */
  async function searched({ q, in: place }: TopicFilter, version: string): Promise<Found> {
    if (q === '' || place !== 'messages') return null;
    const key = `${version} ${q}`;
    const found =
      searches.get(key) ?? inTurn(() => withSnapshot(setup, (snapshot) => topicsWith(snapshot, q)));
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
    recordRead(setup, { by, rows }, reader?.name ?? 'somebody without a login');

  return {
    async list(filter, reader) {
      const { board, topics } = await matching(filter);
      if (filter.in === 'messages' && filter.q !== '') recorded('topics', topics.length, reader);
      const pages = Math.max(1, Math.ceil(topics.length / pageSize));
      const page = Math.min(filter.page, pages);
      return {
        filter: { ...filter, page },
        topics: topics.slice((page - 1) * pageSize, page * pageSize),
        total: topics.length,
        pages,
        attributes: board.attributes,
        sources: board.sources,
        note:
          filter.in === 'messages' && filter.q !== ''
            ? 'Topics with the words in their title or messages, the best first.'
            : null,
      };
    },
  };
}

async function topicsWith(snapshot: Snapshot, words: string): Promise<Found> {
  const rows = await snapshot.rows<{ id: string; score: number }>(sqlFile('topics/found'), { words });
  return new Map(rows.map(({ id, score }) => [id, score]));
}
