import { arrivalNow } from '../base/clock.js';
import {
  AnswerTooLargeError,
  isAboutOneRequest,
  RejectedError,
  type SignalhouseError,
} from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import { oneAtATime } from '../base/one-at-a-time.js';
import { pool } from '../base/pool.js';
import type { List } from '../contract/resources.js';
import type { Failure } from '../run/tally.js';
import type { Scan } from '../warehouse/load/batch.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { failureOf } from './failures.js';
import { Landing } from './landing/landing.js';
import type { StoredHash } from './landing/seen-content.js';
import type { ScanReport } from './report.js';
import { type ListRead, readList, scanRow } from './scan.js';
import { nothingSettled, type Settled, settle } from './tombstones.js';

/** The `form` of a scan whose list could not be read (see sql/status/lists.sql). */
const failedForm = 'failed';
const notOfferedForm = 'not offered';

/**
 * Reads every list to its end, all at the same time, and tombstones what is missing from those that did not change
 * meanwhile. A list that cannot be read is reported, and the others are read nevertheless. With `settles: false` (a plan) nothing is deleted.
 * Adds to `scans` as it goes.
 */
export async function readLists(
  context: Context,
  lists: readonly List[],
  scans: ScanReport[],
  { settles }: { settles: boolean },
): Promise<void> {
  if (lists.some(({ embeds }) => embeds === 'authors_and_persons')) await rememberPersons(context);
  const phases = new ListPhases(context.observer, lists);
  const readers = { settles, oneByOne: oneAtATime() };
  // What each has to report, so that it is reported in the order of the lists.
  const owns = new Map(
    lists.map((list) => [list, { ...context, observer: phases.of(list), failures: [], notes: [] }]),
  );
  await pool(lists, lists.length, async (list) => {
    context.stop.throwIfAborted();
    const startedAt = new Date(context.clock.now());
    const own = owns.get(list) ?? context;
    try {
      const scan = await readOne(own, list, readers);
      scans.push(scan);
      phases.end(list, summaryOf(scan));
    } catch (error) {
      if (!isAboutOneRequest(error)) throw error;
      if (isNotOffered(list, error)) {
        phases.end(list, 'not offered');
        return noteNotOffered(own, list, startedAt, error);
      }
      phases.end(list, 'failed');
      if (error instanceof AnswerTooLargeError) {
        const landing = new Landing(arrivalNow(context.clock), context.schemaDrift);
        landing.rejectAnswer(list.name, { id: null, parentId: null }, error);
        await context.batcher.add(landing);
      }
      await addFailure(own, startedAt, failureOf(list.name, null, error));
    }
  }).finally(() => {
    scans.sort((a, b) => placeOf(lists, a) - placeOf(lists, b));
    for (const { failures, notes } of owns.values()) {
      context.failures.push(...failures);
      context.notes.push(...notes);
    }
  });
}

function placeOf(lists: readonly List[], { endpoint }: ScanReport): number {
  return lists.findIndex(({ name }) => name === endpoint);
}

/** Shows lists that are read at the same time as phases, one after the other in their order. */
class ListPhases {
  readonly #observer: RunObserver;
  readonly #lists: readonly List[];
  readonly #results = new Map<string, string>();
  /** The last progress of lists whose phase has not begun. */
  readonly #progress = new Map<string, readonly [done: number, total: number | null]>();
  #current = -1;

  constructor(observer: RunObserver, lists: readonly List[]) {
    this.#observer = observer;
    this.#lists = lists;
    this.#next();
  }

  /** The observer for reading one list. Its progress is shown in its phase. */
  of({ name }: List): RunObserver {
    const progress = (done: number, total: number | null) => {
      if (this.#lists[this.#current]?.name === name) this.#observer.progress(done, total);
      else this.#progress.set(name, [done, total]);
    };
    const nothing = () => undefined;
    return { phase: nothing, phaseEnd: nothing, progress, note: (text) => this.#observer.note(text) };
  }

  end({ name }: List, result: string): void {
    this.#results.set(name, result);
    for (;;) {
      const current = this.#lists[this.#current];
      const ended = current && this.#results.get(current.name);
      if (ended === undefined) return;
      this.#observer.phaseEnd(ended);
      this.#next();
    }
  }

  #next(): void {
    this.#current += 1;
    const list = this.#lists[this.#current];
    if (!list) return;
    this.#observer.phase(list.name, null);
    const progress = this.#progress.get(list.name);
    if (progress) this.#observer.progress(...progress);
  }
}

const storedPersonsSql = sqlFile('sync/stored_persons');

/** The people of a topic come with each item of the topics list: those that have not changed need not land again. */
async function rememberPersons({ batcher, store, seenContent }: Context): Promise<void> {
  await batcher.flush();
  seenContent.storedBefore(await store.all<StoredHash>(storedPersonsSql));
}

/** Names a list that could not be read in the summary and in `signalhouse status`. */
async function addFailure(context: Context, startedAt: Date, failure: Failure): Promise<void> {
  context.failures.push(failure);
  const scan = failedScan(failure.endpoint, startedAt, context, failure.message);
  await context.batcher.add({ scans: [scan] });
}

/** The row of ops.scans for a list that could not be read: `signalhouse status` shows its note. */
function failedScan(endpoint: string, startedAt: Date, { clock }: Context, message: string): Scan {
  const nothing = { attempts: 0, pages: 0, items: 0, distinctIds: 0, missing: 0, tombstoned: 0 };
  const unknown = { totalCount: null, pageBase: null, pageSize: null };
  const endedAt = new Date(clock.now());
  return {
    endpoint,
    startedAt,
    endedAt,
    verified: false,
    ...nothing,
    ...unknown,
    form: failedForm,
    note: message,
  };
}

interface Readers {
  readonly settles: boolean;
  /** What is missing is looked up one list at a time: each look uses the same temporary table. */
  readonly oneByOne: ReturnType<typeof oneAtATime>;
}

async function readOne(context: Context, list: List, { settles, oneByOne }: Readers): Promise<ScanReport> {
  let read = await readList(context, list);
  const again = async () => {
    const second = await readList(context, list);
    const both = { attempts: read.attempts + second.attempts, pages: read.pages + second.pages };
    read = { ...second, ...both, startedAt: read.startedAt };
    return second;
  };
  const found = settles ? await oneByOne(() => settle(context, list, read, again)) : nothingSettled;
  const note = found.note ?? read.note;
  await context.batcher.add({ scans: [scanRow(list.name, read, new Date(context.clock.now()), found)] });
  if (note !== null) context.notes.push(`${list.name}: ${note}`);
  return reportOf(list, read, found);
}

function reportOf(list: List, read: ListRead, found: Settled): ScanReport {
  return {
    endpoint: list.name,
    verified: read.verified,
    complete: true,
    attempts: read.attempts,
    pages: read.pages,
    items: read.items,
    totalCount: read.totalCount,
    missing: found.missing,
    tombstoned: found.tombstoned,
    restored: found.restored,
    fused: found.fused,
    note: found.note ?? read.note,
  };
}

function summaryOf(scan: ScanReport): string {
  const parts = [`${scan.items} in ${scan.pages} ${scan.pages === 1 ? 'page' : 'pages'}`];
  if (!scan.verified) parts.push('not verified');
  if (scan.tombstoned > 0) parts.push(`${scan.tombstoned} gone`);
  if (scan.restored > 0) parts.push(`${scan.restored} back`);
  if (scan.fused) parts.push(`${scan.missing} missing, not deleted`);
  return parts.join(', ');
}

/** A list that never existed is worth a note; where items of it are stored, it has gone, and they will age. */
async function noteNotOffered(
  context: Context,
  list: List,
  startedAt: Date,
  error: SignalhouseError,
): Promise<void> {
  await context.batcher.flush();
  const [row] = await context.store.all<{ stored: number }>(
    'SELECT count(*) AS stored FROM raw.documents WHERE endpoint = $list',
    { list: list.name },
  );
  const stored = Number(row?.stored ?? 0);
  if (stored === 0) {
    const scan = failedScan(list.name, startedAt, context, error.message);
    // Nothing is missing from it, so that its freshness is no matter.
    await context.batcher.add({ scans: [{ ...scan, verified: true, form: notOfferedForm }] });
    context.notes.push(`${list.name}: the API does not offer this list (${error.message})`);
    return;
  }
  await addFailure(context, startedAt, {
    endpoint: list.name,
    entityId: null,
    message: `the API does not offer this list any more (${error.message}); its ${stored} stored items stay as they are`,
    hint: `Ask the operator of the API whether it has moved. To sync without it, choose the others with --only.`,
  });
}

/** Where the document shows neither parameters nor answer, a 404 means that this API has no such list. */
function isNotOffered(list: List, error: SignalhouseError): boolean {
  return list.endpoint.documented === false && error instanceof RejectedError && error.status === 404;
}
