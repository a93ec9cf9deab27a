import { type Batch, batchOf, type Loaded, type RequestRecord } from './batch.js';

export interface BatchLimits {
  readonly documents: number;
  readonly answers: number;
  readonly seconds: number;
}

/** What one answer adds to a batch; a landing is one. */
export type Part = Partial<Omit<Batch, 'runId' | 'requests'>>;

/**
 * Gathers what answers bring into batches, and commits a batch when it is full or old enough. One batch is committed
 * while the next one fills; whoever adds to a full one waits, so that a slow disk slows the fetching down instead of
 * filling memory. The first failure of a commit is thrown to everybody from then on: nothing is fetched in vain.
 */
export class Batcher {
  readonly #load: (batch: Batch) => Promise<Loaded>;
  readonly #limits: BatchLimits;
  readonly #runId: string;
  readonly #onLoaded: (loaded: Loaded, batch: Batch) => void;
  #parts: Part[] = [];
  #requests: RequestRecord[] = [];
  #documents = 0;
  #answers = 0;
  #timer: NodeJS.Timeout | undefined;
  #committing: Promise<void> = Promise.resolve();
  #isCommitting = false;
  #failure: { error: unknown } | undefined;

  constructor(options: {
    runId: string;
    limits: BatchLimits;
    load: (batch: Batch) => Promise<Loaded>;
    onLoaded: (loaded: Loaded, batch: Batch) => void;
  }) {
    this.#runId = options.runId;
    this.#limits = options.limits;
    this.#load = options.load;
    this.#onLoaded = options.onLoaded;
  }

  /** Adds what one answer brought; resolves when there is room for more. */
  async add(part: Part): Promise<void> {
    this.#throwFailure();
    this.#parts.push(part);
    this.#documents += part.documents?.length ?? 0;
    this.#answers += 1;
    if (!this.#isFull()) {
      this.#timer ??= setTimeout(
        () => void this.#commit().catch(() => undefined),
        this.#limits.seconds * 1_000,
      );
      return;
    }
    if (this.#isCommitting) await this.#committing;
    this.#throwFailure();
    // Of those who waited, the first commits for all; the others go on fetching meanwhile.
    if (this.#isFull() && !this.#isCommitting) void this.#commit().catch(() => undefined);
  }

  /** Notes a request; it is stored with the next batch. */
  record(request: RequestRecord): void {
    this.#requests.push(request);
  }

  /** Commits everything that was added so far. */
  async flush(): Promise<void> {
    await this.#committing;
    this.#throwFailure();
    if (this.#parts.length > 0 || this.#requests.length > 0) await this.#commit();
    this.#throwFailure();
  }

  #isFull(): boolean {
    return this.#documents >= this.#limits.documents || this.#answers >= this.#limits.answers;
  }

  #commit(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#committing;
    this.#isCommitting = true;
    const commit = before.then(async () => {
      const batch = this.#take();
      if (!batch || this.#failure) return;
      try {
        this.#onLoaded(await this.#load(batch), batch);
      } catch (error) {
        this.#failure ??= { error };
        throw error;
      }
    });
    const settled = commit
      .catch(() => undefined)
      .then(() => {
        if (this.#committing === settled) this.#isCommitting = false;
      });
    this.#committing = settled;
    return commit;
  }

  #take(): Batch | undefined {
    const parts = this.#parts;
    const requests = this.#requests;
    if (parts.length === 0 && requests.length === 0) return undefined;
    this.#parts = [];
    this.#requests = [];
    this.#documents = 0;
    this.#answers = 0;
    return batchOf(this.#runId, {
      documents: parts.flatMap((part) => part.documents ?? []),
      removed: parts.flatMap((part) => part.removed ?? []),
      sets: parts.flatMap((part) => part.sets ?? []),
      coverage: parts.flatMap((part) => part.coverage ?? []),
      rejections: parts.flatMap((part) => part.rejections ?? []),
      drift: parts.flatMap((part) => part.drift ?? []),
      scans: parts.flatMap((part) => part.scans ?? []),
      requests,
    });
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
