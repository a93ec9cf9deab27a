import { minutesFor } from '../api/budget.js';
import { arrivalNow } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import { counted, duration } from '../base/units.js';
import type { Resources } from '../contract/resources.js';
import { organization } from '../contract/service.js';
import type { Identity } from '../run/identity.js';
import { type RunResult, type RunSummary, runLifecycle } from '../run/lifecycle.js';
import type { RunTally } from '../run/tally.js';
import { sqlFile } from '../store/sql.js';
import { clampTimes, readMeasured } from './ages.js';
import { estimateFreshness } from './checks.js';
import { type Context, type SyncParts, syncContext } from './context.js';
import { reportDoubts } from './doubts.js';
import { type DueSnapshot, due, dueAgain, inputOf } from './due.js';
import { foreseen } from './explained.js';
import { fetchDue } from './fetch-due.js';
import { readLists } from './lists.js';
import type { ScanReport, SyncOptions, SyncReport } from './report.js';
import { selectResources } from './selection.js';
import { stageList } from './staging/answers.js';
import { Staging } from './staging/staging.js';
import { cost, type Task } from './task.js';
import { removeHeldBack } from './tombstones.js';

const plannedRowsSql = sqlFile('sync/planned_rows');

/**
 * Brings the warehouse in step with the API: reads the lists, finds what is missing from them, fetches the details that
 * are due. Everything fetched is committed and published however the run ends; the report says what was done, what went
 * wrong and what is left. Throws only when there is nothing to report: a wrong option, or a warehouse that cannot be
 * written.
 */
export async function runSync(
  parts: SyncParts,
  options: SyncOptions,
  observer: RunObserver,
): Promise<SyncReport> {
  const selection = selectResources(options.only, parts.resources);
  const kind = { command: 'sync', publishes: () => true } as const;
  const { report, published } = await runLifecycle(parts, kind, options, observer, (run) => {
    const context = syncContext(run, parts, options);
    const scans: ScanReport[] = [];
    let last: DueSnapshot | null = null;
    return {
      afterMerge: ({ known }) => context.known.apply(known),
      async work() {
        context.isPulled = await isPulled(context);
        await clampTimes(context);
        const planned = await context.store.all<{ rows: string }>(plannedRowsSql);
        for (const { rows } of planned) context.tally.addRows(JSON.parse(rows));
        context.known.apply(await context.store.readKnown());
        await stageOrganization(context, parts.identity);
        await readLists(context, selection.lists, scans, { settles: true });
        last = await fetchDue(context, selection.children);
        if (context.readsAll) await removeHeldBack(context);
      },
      async beforeLastBatch() {
        reportDoubts(context);
        const staging = new Staging(arrivalNow(context.clock), context.schemaDrift);
        staging.noteMissingFields(context.resources);
        await context.batcher.add(staging);
      },
      verdict: () => ({
        incomplete:
          context.tally.rejected.new > 0 || context.failures.length > 0 || scans.some(({ fused }) => fused),
      }),
      report: (end) => syncReport(context, options, { ...end, scans, last }),
    };
  });
  return { ...report, published };
}

async function syncReport(
  context: Context,
  options: SyncOptions,
  {
    head,
    endedAt,
    error,
    scans,
    last,
  }: RunResult & { scans: readonly ScanReport[]; last: DueSnapshot | null },
): Promise<RunSummary<SyncReport>> {
  const { tally, config, failures, notes, shortHistories, lagging, explained, unsettledConversations } =
    context;
  if (error && head.outcome === 'failed') {
    const hint = error.hint ?? null;
    failures.push({ endpoint: 'sync', entityId: null, message: messageOf(error), hint });
  }
  if (shortHistories.size > 0) {
    notes.push(`${shortHistories.size} histories have more records than the API returns`);
  }
  const older = lagging.size + tally.outdated;
  if (older > 0) {
    notes.push(
      `${counted(older, 'item')} came from a server that lags behind, with an updatedAt before the one that is known: the newer values stay, and the next sync asks again`,
    );
  }
  if (unsettledConversations.size > 0) {
    notes.push(
      `${counted(unsettledConversations.size, 'list')} of conversations could not be verified in two readings; what was read is stored, nothing was removed, and each is read again with the next sync, and then less and less often`,
    );
  }
  if (explained.size > 0) {
    notes.push(
      `${counted(explained.size, 'changed list')} of conversations not read: what they count came with the topics`,
    );
  }
  const clockNote = noteOfClock(tally.clockAheadMs);
  if (clockNote !== null) {
    context.log.warn({ aheadMs: tally.clockAheadMs }, clockNote);
    notes.push(clockNote);
  }
  // Whatever --only named: status, page and metrics say what is missing from the whole.
  const { children } = context.resources;
  const measured = await readMeasured(context.store);
  const input = { ...inputOf(context, children), measured };
  const everything =
    context.readsAll && last
      ? dueAgain(last, input, endedAt, context.known.takeChanged())
      : due(input, endedAt);
  notes.push(...(await estimateFreshness(context, everything, measured, endedAt)));
  const left = cost((await foreseen(context.store, everything.tasks)).tasks, children);
  const leftDue = left.reduce((sum, line) => sum + line.due, 0);
  const requests = left.reduce((sum, line) => sum + line.requests, 0);
  const report: SyncReport = {
    ...head,
    scans,
    rows: tally.rows,
    rejected: tally.rejected,
    drift: tally.drift,
    failures,
    left: {
      due: leftDue,
      requests,
      minutes: minutesFor(requests, config),
      complete: await isEveryListRead(context, scans),
      // A signal says nothing about how long the next run may take.
      runs:
        context.readsAll && head.outcome === 'stopped' && !options.stop?.aborted
          ? runsFor(requests, tally, context.resources)
          : null,
    },
    leftByResource: left,
    notes,
  };
  return {
    report,
    leftDue,
    firstPullLeft: await firstPullLeft(context, report.left.complete, everything.tasks),
  };
}

/** The requests for what was never fetched, as long as no sync has left none; null where not every list was read to its end. */
async function firstPullLeft(
  context: Context,
  isKnown: boolean,
  tasks: readonly Task[],
): Promise<number | null> {
  if (context.isPulled) return 0;
  if (!isKnown) return null;
  return tasks.reduce((sum, { reason, requests }) => (reason === 'never' ? sum + requests : sum), 0);
}

/** Whether some sync has left nothing that was never fetched. */
async function isPulled({ store }: Context): Promise<boolean> {
  const done = await store.all('SELECT 1 FROM ops.runs WHERE first_pull_left = 0 LIMIT 1');
  return done.length > 0;
}

async function isEveryListRead(
  { store, resources, failures }: Context,
  scans: readonly ScanReport[],
): Promise<boolean> {
  const known = await store.all<{ endpoint: string; read_at: Date | null }>(sqlFile('status/lists'));
  const before = new Set(known.flatMap(({ endpoint, read_at }) => (read_at === null ? [] : endpoint)));
  return resources.lists.every(({ name }) => {
    const scan = scans.find(({ endpoint }) => endpoint === name);
    return (
      scan?.complete ??
      (before.has(name) && !failures.some(({ endpoint, entityId }) => endpoint === name && entityId === null))
    );
  });
}

/** A larger difference from the service's clock should be fixed: other commands go by the clock of this machine. */
const mostSkewMs = 60_000;

function noteOfClock(aheadMs: number | null): string | null {
  if (aheadMs === null || Math.abs(aheadMs) <= mostSkewMs) return null;
  const difference = `${duration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
  return `the clock of this machine is ${difference} the service: this run went by the time of the service. Set the clock, for example with NTP`;
}

/**
 * About how many runs like this one fetch what is left. Every run reads the lists first (pages without news and repetitions
 * included), so only the requests that this one spent on other things count; null when they were fewer than those for the lists,
 * since such a run was a trial.
 */
export function runsFor(
  left: number,
  { requests: { byEndpoint, total } }: Pick<RunTally, 'requests'>,
  { lists }: Pick<Resources, 'lists'>,
): number | null {
  const names = ['whoami', ...lists.map(({ name }) => name)];
  const ofLists = names.reduce((sum, name) => sum + (byEndpoint[name] ?? 0), 0);
  const rest = total - ofLists;
  return rest === 0 || rest < ofLists ? null : Math.ceil(left / rest);
}

/** Stores the organization as the API returned it. */
export async function stageOrganization(context: Context, identity: Identity): Promise<void> {
  const staging = new Staging(identity.arrivedAt, context.schemaDrift);
  const whoami = { name: 'whoami', item: organization, key: ['id'] } as const;
  stageList(staging, whoami, [identity.body], context.listed);
  await context.batcher.add(staging);
}
