import { collectGarbageWhenTight } from '../../base/heap.js';
import { type Batch, batchOf, type RequestRecord } from './batch.js';

export interface BatchLimits {
  /** The size of the documents' bodies, in characters. */
  readonly megabytes: number;
  readonly documents: number;
  readonly answers: number;
  readonly seconds: number;
}

/**
 * A kill costs what is not committed, and a commit costs a request's time: 5 s, or 50 answers, are little of both. More than
 * 5 MB of documents would need more memory while they are appended than the smallest machine has.
 */
const usualLimits: BatchLimits = { megabytes: 5, documents: 4_000, answers: 50, seconds: 5 };

/** The share of the machine's memory above which an answer does not wait for the next batch to free garbage. */
const nearlyFull = 0.8;
/** After so many characters, memory is looked at: a look takes 0.4 ms while DuckDB works. */
const charactersToLook = 500_000;

/** What one answer adds to a batch; a landing is one. */
export type Part = Partial<Omit<Batch, 'runId' | 'requests'>>;

/**
 * Collects answers into batches, and commits a batch when it is full or old enough. One batch is committed while the next
 * one fills; `add` waits while that one is full, so that a slow disk slows fetching down instead of filling memory. After
 * a commit fails, every call throws its error, so that nothing more is fetched.
 *
 * An answer with more documents than a batch may have goes into several, like the pages of a list: the last of them has
 * the state that records the fetch, and what the answer removes.
 */
export class Batcher {
  readonly #append: (batch: Batch, isWhole: boolean) => Promise<void>;
  readonly #merge: () => Promise<void>;
  readonly #limits: BatchLimits;
  readonly #runId: string;
  #parts: Slice[] = [];
  #requests: RequestRecord[] = [];
  #added = 0;
  #taken = 0;
  /** Whether the rest of an answer is still to be taken. */
  #isInAnswer = false;
  #unlooked = 0;
  #timer: NodeJS.Timeout | undefined;
  #committing: Promise<void> = Promise.resolve();
  #isCommitting = false;
  #failure: { error: unknown } | undefined;

  constructor(options: {
    runId: string;
    limits?: BatchLimits | undefined;
    /** `isWhole` tells whether the batch ends with the last part of an answer: only then may it be merged. */
    append: (batch: Batch, isWhole: boolean) => Promise<void>;
    /** Brings the tables up to date with what was appended. */
    merge: () => Promise<void>;
  }) {
    this.#runId = options.runId;
    this.#limits = options.limits ?? usualLimits;
    this.#append = options.append;
    this.#merge = options.merge;
  }

  /** Adds one answer; resolves when there is room for more. */
  async add(part: Part): Promise<void> {
    this.#throwFailure();
    const slices = slicesOf(part, this.#limits);
    this.#unlooked += slices.reduce((sum, { size }) => sum + size.characters, 0);
    if (this.#unlooked >= charactersToLook) {
      this.#unlooked = 0;
      collectGarbageWhenTight(nearlyFull);
    }
    this.#parts.push(...slices);
    this.#added += slices.length;
    this.#startTimer();
    while (this.#isFull()) {
      // The first caller that waits commits for all; they go on fetching while the next batch fills.
      if (this.#isCommitting) await this.#committing;
      else void this.#commit();
      this.#throwFailure();
    }
  }

  /** How many answers, or parts of large ones, were added so far. */
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
    const requests = this.#requests;
    const isTaken = () =>
      this.#taken >= added && !this.#isInAnswer && (requests.length === 0 || this.#requests !== requests);
    await this.#committing;
    while (!isTaken()) {
      this.#throwFailure();
      await this.#commitWhenFree();
    }
    await this.#committing;
    this.#throwFailure();
    await this.#merge();
  }

  #isFull(): boolean {
    const size = this.#parts.reduce((sum, { size }) => plus(sum, size), nothing);
    return this.#parts.length >= this.#limits.answers || isFull(size, this.#limits);
  }

  #startTimer(): void {
    this.#timer ??= setTimeout(() => void this.#commitWhenFree(), this.#limits.seconds * 1_000);
  }

  async #commitWhenFree(): Promise<void> {
    while (this.#isCommitting) await this.#committing;
    if (this.#parts.length > 0 || this.#requests.length > 0) await this.#commit();
  }

  /** Commits the next batch; call it only while none is being committed. Never rejects: the failure is kept. */
  #commit(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#take();
    if (this.#parts.length > 0) this.#startTimer();
    this.#isCommitting = true;
    this.#committing = this.#store(batch, this.#isInAnswer).finally(() => {
      this.#isCommitting = false;
    });
    return this.#committing;
  }

  async #store(batch: Batch, isInAnswer: boolean): Promise<void> {
    if (this.#failure) return;
    try {
      await this.#append(batch, !isInAnswer);
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

  /**
   * The next parts in order that fit, or a first one that does not; the rest is for the one after. What follows the last part
   * of a large answer is itself a part that fills a batch: taken together, no batch of a long list ever ended with an answer,
   * and nothing could be merged before its end.
   */
  #take(): Batch {
    let count = 0;
    let taken = nothing;
    for (const { size } of this.#parts) {
      const together = plus(taken, size);
      if (count >= this.#limits.answers || (count > 0 && !fits(together, this.#limits))) break;
      taken = together;
      count += 1;
    }
    const slices = this.#parts.splice(0, count);
    this.#isInAnswer = slices.at(-1)?.isLast === false;
    const parts = slices.map(({ part }) => part);
    this.#taken += count;
    const requests = this.#requests;
    this.#requests = [];
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

/** How many documents, and how many characters they have. */
interface Size {
  readonly documents: number;
  readonly characters: number;
}

const nothing: Size = { documents: 0, characters: 0 };

/** A whole part, or as much of it as a batch may have. */
interface Slice {
  readonly part: Part;
  readonly size: Size;
  /** Whether nothing more of its answer follows. */
  readonly isLast: boolean;
}

function plus(one: Size, other: Size): Size {
  return { documents: one.documents + other.documents, characters: one.characters + other.characters };
}

function isFull({ documents, characters }: Size, limits: BatchLimits): boolean {
  return documents >= limits.documents || characters >= limits.megabytes * 1e6;
}

function fits({ documents, characters }: Size, limits: BatchLimits): boolean {
  return documents <= limits.documents && characters <= limits.megabytes * 1e6;
}

/** Splits a part so that none is larger than a batch; the last one has everything but documents. */
function slicesOf(part: Part, limits: BatchLimits): Slice[] {
  const { documents = [], removed = [], sets = [], coverage = [] } = part;
  const { rejections = [], drift = [], scans = [] } = part;
  const slices: Slice[] = [];
  let from = 0;
  let size = nothing;
  for (const [index, { body }] of documents.entries()) {
    if (isFull(size, limits)) {
      slices.push({ part: { documents: documents.slice(from, index) }, size, isLast: false });
      from = index;
      size = nothing;
    }
    size = plus(size, { documents: 1, characters: body.length });
  }
  const rest = { documents: documents.slice(from), removed, sets, coverage, rejections, drift, scans };
  return [...slices, { part: rest, size, isLast: true }];
}
