import { arrivalNow } from '../base/clock.js';
import {
  AnswerTooLargeError,
  isAboutOneRequest,
  RejectedError,
  type SignalhouseError,
} from '../base/errors.js';
import { pool } from '../base/pool.js';
import type { List } from '../contract/resources.js';
import type { Scan } from '../load/batch.js';
import type { Failure } from '../run/tally.js';
import type { Context } from './context.js';
import { failureOf } from './failures.js';
import { OrderedPhases } from './phases.js';
import type { ScanReport } from './report.js';
import { type ListRead, readList, scanRow } from './scan.js';
import { Staging } from './staging/staging.js';
import { nothingSettled, type Settled, settle } from './tombstones.js';

/** The `form` of a scan whose list could not be read (see sql/status/lists.sql). */
const failedForm = 'failed';
const notOfferedForm = 'not offered';

/**
 * Reads every list to its end, all at the same time, and tombstones what is missing from those that did not change
 * meanwhile. A list that cannot be read is reported, and the others are read nevertheless. With `settles: false` (a plan)
 * nothing is deleted. Adds to `scans` as it goes.
 */
export async function readLists(
  context: Context,
  lists: readonly List[],
  scans: ScanReport[],
  { settles }: { settles: boolean },
): Promise<void> {
  const { observer } = context;
  const phases = new OrderedPhases(
    observer,
    lists.map(({ name }) => ({ name, total: null })),
  );
  const readings = lists.map((list) => {
    const read = { pages: 0, items: 0, totalCount: null as number | null };
    const progress = (done: number, total: number | null) => {
      Object.assign(read, { pages: read.pages + 1, items: done, totalCount: total });
      phases.progress(list.name, done, total);
    };
    const shown = {
      phase: ignored,
      phaseEnd: ignored,
      progress,
      note: (text: string) => observer.note(text),
    };
    // Failures and notes of its own: they are reported in the order of the lists.
    const own: Context = { ...context, observer: shown, failures: [], notes: [] };
    return { list, own, read };
  });
  await pool(readings, readings.length, async ({ list, own, read }) => {
    const startedAt = new Date(context.clock.now());
    try {
      context.stop.throwIfAborted();
      const scan = await readOne(own, list, settles);
      scans.push(scan);
      phases.end(list.name, summaryOf(scan));
    } catch (error) {
      if (!isAboutOneRequest(error)) {
        // What ends the run ends this list as well: what is due of the rest of it is not known.
        const unread = { verified: false, complete: false, attempts: 1, ...read };
        scans.push({ ...nothingSettled, endpoint: list.name, ...unread });
        throw error;
      }
      if (isNotOffered(list, error)) {
        phases.end(list.name, 'not offered');
        return noteNotOffered(own, list, startedAt, error);
      }
      phases.end(list.name, 'failed');
      if (error instanceof AnswerTooLargeError) {
        const staging = new Staging(arrivalNow(context.clock), context.schemaDrift);
        staging.rejectAnswer(list.name, { id: null, parentId: null }, error);
        await context.batcher.add(staging);
      }
      await addFailure(own, startedAt, failureOf(list.name, null, error));
    }
  }).finally(() => {
    scans.sort((a, b) => placeOf(lists, a) - placeOf(lists, b));
    for (const {
      own: { failures, notes },
    } of readings) {
      context.failures.push(...failures);
      context.notes.push(...notes);
    }
  });
}

const ignored = () => undefined;

function placeOf(lists: readonly List[], { endpoint }: ScanReport): number {
  return lists.findIndex(({ name }) => name === endpoint);
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

async function readOne(context: Context, list: List, settles: boolean): Promise<ScanReport> {
  let read = await readList(context, list);
  const again = async () => {
    const second = await readList(context, list);
    const both = { attempts: read.attempts + second.attempts, pages: read.pages + second.pages };
    read = { ...second, ...both, startedAt: read.startedAt };
    return second;
  };
  const found = settles ? await settle(context, list, read, again) : nothingSettled;
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
  const stored = [...context.known.entities(list.name)].length;
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
