import { type Batch, batchOf, type RequestRecord } from './batch.js';

/** A batch is full when it has one of these. */
export interface BatchLimits {
  /** The size of the documents' bodies, in millions of characters. */
  readonly megabytes: number;
  readonly answers: number;
  readonly seconds: number;
}

/**
 * A kill costs what is not committed, and a commit costs a request's time: 5 s, or 50 answers, are little of both. More than
 * 5 MB of documents would need more memory while they are appended than the smallest machine has.
 */
const usualLimits: BatchLimits = { megabytes: 5, answers: 50, seconds: 5 };

/** What one answer adds to a batch; a staging is one. */
export type Part = Partial<Omit<Batch, 'runId' | 'requests'>>;

/**
 * Collects answers into batches, and commits a batch when it is full or old enough. One batch is committed while the next
 * one fills; `add` waits while that one is full, so that a slow disk slows fetching down instead of filling memory. After
 * a commit fails, every call throws its error, so that nothing more is fetched.
 */
export class Batcher {
  readonly #limits: BatchLimits;
  #parts: { readonly part: Part; readonly characters: number }[] = [];
  #requests: RequestRecord[] = [];
  #added = 0;
  #taken = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Ends when the batch is stored that is being committed; it never rejects. */
  #committing: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;

  constructor(
    private readonly run: {
      readonly runId: string;
      readonly limits?: BatchLimits | undefined;
      readonly append: (batch: Batch) => Promise<void>;
      /** Brings the tables up to date with what was appended. */
      readonly merge: () => Promise<void>;
    },
  ) {
    this.#limits = run.limits ?? usualLimits;
  }

  /** Adds one answer; resolves when there is room for more. */
  async add(part: Part): Promise<void> {
    this.#throwFailure();
    const characters = (part.documents ?? []).reduce((sum, { body }) => sum + body.length, 0);
    this.#parts.push({ part, characters });
    this.#added += 1;
    this.#startTimer();
    while (this.#isFull()) {
      // The first caller that waits commits for all; they go on fetching while the next batch fills.
      if (this.#committing !== undefined) await this.#committing;
      else void this.#commit();
      this.#throwFailure();
    }
  }

  /** How many answers were added so far. */
  get added(): number {
    return this.#added;
  }

  /** Adds a request; it is stored with the next batch. */
  record(request: RequestRecord): void {
    this.#requests.push(request);
  }

  /**
   * Commits everything added so far, and merges it: the tables show it. Not what is added meanwhile: while lists were read,
   * a flush went on until the last of them had ended, and committed each page by itself.
   */
  async flush(): Promise<void> {
    const added = this.#added;
    do {
      await this.#commitWhenFree();
      this.#throwFailure();
    } while (this.#taken < added);
    await this.#committing;
    this.#throwFailure();
    await this.run.merge();
  }

  #isFull(): boolean {
    const characters = this.#parts.reduce((sum, part) => sum + part.characters, 0);
    return this.#parts.length >= this.#limits.answers || characters >= this.#limits.megabytes * 1e6;
  }

  #startTimer(): void {
    this.#timer ??= setTimeout(() => void this.#commitWhenFree(), this.#limits.seconds * 1_000);
  }

  async #commitWhenFree(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
    if (this.#parts.length > 0 || this.#requests.length > 0) await this.#commit();
  }

  /** Commits the next batch; call it only while none is being committed. Never rejects: the failure is kept. */
  #commit(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#take();
    if (this.#parts.length > 0) this.#startTimer();
    this.#committing = this.#store(batch).finally(() => {
      this.#committing = undefined;
    });
    return this.#committing;
  }

  async #store(batch: Batch): Promise<void> {
    if (this.#failure) return;
    try {
      await this.run.append(batch);
    } catch (error) {
      this.#failure = { error };
      this.#forget();
    }
  }

  /**
   * Drops what is not committed, and takes nothing more. Otherwise a failed run would go on taking a batch out every few
   * seconds: it held 1.5 GB and the process for minutes.
   */
  drop(): void {
    this.#failure ??= { error: new Error('the run has ended: nothing more can be stored') };
    this.#forget();
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#parts = [];
    this.#requests = [];
  }

  /** The next answers in order that fit, or a first one that does not; the rest is for the batch after. */
  #take(): Batch {
    let characters = 0;
    const rest = this.#parts.findIndex((part, index) => {
      characters += part.characters;
      return index >= this.#limits.answers || characters > this.#limits.megabytes * 1e6;
    });
    const count = rest < 0 ? this.#parts.length : Math.max(rest, 1);
    const parts = this.#parts.splice(0, count).map(({ part }) => part);
    this.#taken += parts.length;
    const requests = this.#requests;
    this.#requests = [];
    return batchOf(this.run.runId, {
      documents: parts.flatMap((part) => part.documents ?? []),
      removed: parts.flatMap((part) => part.removed ?? []),
      sets: parts.flatMap((part) => part.sets ?? []),
      listed: parts.flatMap((part) => part.listed ?? []),
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
