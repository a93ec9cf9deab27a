import { statSync } from 'node:fs';
import { UsageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/load.js';
import { recordRead } from '../privacy/audit.js';
import { filesOf } from '../store/engine.js';
import { readingLimitsOf } from '../store/memory.js';
import {
  allColumns,
  columnsOf,
  firstSentence,
  type Relation,
  type RelationColumn,
  relationCalled,
  relationsOf,
} from './catalog.js';
import { openPublished, type Snapshot } from './query.js';
import { snapshotVersion } from './snapshot.js';

/** A table, view or macro, and what it answers or holds, in a sentence. */
export type ListedRelation = Pick<Relation, 'label' | 'kind'> & { readonly summary: string };

export type DescribedRelation = Pick<Relation, 'label' | 'kind' | 'comment'> & {
  readonly columns: readonly RelationColumn[];
};

/** Whose snapshot it is. */
interface Owner {
  readonly config: Config;
  readonly log: Log;
}

/** The published snapshot, open for the statements of one person for hours. It follows what is published meanwhile. */
export class SqlSession {
  readonly #owner: Owner;
  #open: Opened;

  private constructor(owner: Owner, opened: Opened) {
    this.#owner = owner;
    this.#open = opened;
  }

  /** Raises StorageError when nothing is published, or it cannot be opened. */
  static async open(owner: Owner): Promise<SqlSession> {
    return new SqlSession(owner, await opened(owner));
  }

  get snapshot(): Snapshot {
    return this.#open.snapshot;
  }

  get path(): string {
    return filesOf(this.#owner.config.dataDir).published;
  }

  /** When the snapshot that is read was published. */
  get publishedAt(): Date {
    return this.#open.publishedAt;
  }

  /**
   * Opens the newest snapshot when another one was published. Returns whether it did. While the new file cannot be opened,
   * the session stays on the one that it has.
   */
  async refresh(): Promise<boolean> {
    const version = snapshotVersion(this.#owner.config.dataDir);
    if (version === null || version === this.#open.version) return false;
    const before = this.#open;
    try {
      this.#open = await opened(this.#owner);
    } catch {
      return false;
    }
    before.snapshot.close();
    return true;
  }

  /** Every table, view and macro, the views first. */
  async list(): Promise<ListedRelation[]> {
    const relations = await relationsOf(this.snapshot);
    return relations.map(({ label, kind, comment }) => ({ label, kind, summary: firstSentence(comment) }));
  }

  /** A table, view or macro by its name. Raises UsageError when there is none. */
  async describe(wanted: string): Promise<DescribedRelation> {
    const found = relationCalled(await relationsOf(this.snapshot), wanted);
    if (!found)
      throw new UsageError(`There is no table, view or macro ${wanted}.`, [], { hint: '\\d lists them.' });
    const { label, kind, comment } = found;
    return { label, kind, comment, columns: await columnsOf(this.snapshot, found) };
  }

  /** Every table, view and macro by label, with the columns of tables and views. */
  async columnsByLabel(): Promise<Map<string, readonly string[]>> {
    const columns = await allColumns(this.snapshot);
    const relations = await relationsOf(this.snapshot);
    return new Map(relations.map(({ label }) => [label, columns.get(label) ?? []]));
  }

  /** Records how many rows a statement has shown. */
  shown(sql: string, rows: number): void {
    recordRead(this.#owner, { by: 'sql', tables: this.snapshot.tablesOf(sql), rows });
  }

  close(): void {
    this.#open.snapshot.close();
  }
}

type Opened = Awaited<ReturnType<typeof opened>>;

async function opened({ config }: Owner) {
  // Looked at before the file is opened: when it is replaced in between, the next statement opens it again.
  const version = snapshotVersion(config.dataDir);
  const { mtime = new Date() } = statSync(filesOf(config.dataDir).published, { throwIfNoEntry: false }) ?? {};
  const snapshot = await openPublished(config.dataDir, readingLimitsOf(config));
  return { snapshot, version, publishedAt: mtime };
}
