import { hostname } from 'node:os';
import { type Iso, millis } from '../../base/clock.js';
import type { Facts, StoredRun } from '../../base/facts.js';
import { duration } from '../../base/units.js';
import type { Tone } from '../../view/html.js';
import { type Badge, clockOf, type Table, type Words } from '../../view/view.js';
import type { RunRecord, ScheduleView } from '../schedule/record.js';

/** A run as the lists show it: of a command, or of a job of serve that made no run in the warehouse. */
export interface RunLine {
  /** Its id in ops.runs; null for a job that did not get that far, such as one that was skipped. */
  readonly id: string | null;
  readonly command: string;
  /** The job of serve that made it; null for a command, also one of an external scheduler. */
  readonly job: string | null;
  readonly trigger: string;
  readonly startedAt: Iso | null;
  readonly endedAt: Iso | null;
  readonly outcome: string;
  readonly stored: StoredRun | null;
  /** Why it did not end well; null when it did. */
  readonly message: string | null;
}

const tones: Readonly<Record<string, Tone>> = {
  done: 'good',
  stopped: 'good',
  running: 'busy',
  incomplete: 'warn',
  interrupted: 'warn',
  failed: 'bad',
  unavailable: 'bad',
  skipped: 'quiet',
};

export function outcomeTone(outcome: string): Tone {
  return tones[outcome] ?? 'quiet';
}

export function outcomeBadge(outcome: string): Badge {
  return { badge: outcome, tone: outcomeTone(outcome) };
}

/** The other process that holds the warehouse. Our own is no news: the facts are older than the schedule, which says it too. */
export function otherHolder(facts: Facts | null): Facts['holder'] {
  const holder = facts?.holder ?? null;
  return holder?.pid === process.pid && holder.host === hostname() ? null : holder;
}

/** Every run that is known, newest first: the warehouse has those of all commands, the schedule those of the jobs. */
export function allRuns(facts: Facts | null, { history, jobs, running }: ScheduleView): RunLine[] {
  const stored = facts?.contents?.runs ?? [];
  const busy = running !== null || otherHolder(facts) !== null;
  const lines = stored.map((run): RunLine => {
    const record = history.find((one) => made(one, run));
    const outcome = run.outcome === 'running' && !busy ? 'interrupted' : run.outcome;
    const isWell = outcomeTone(outcome) === 'good' || outcome === 'running';
    return {
      id: run.run_id,
      command: run.command,
      job: record?.job ?? null,
      trigger: record?.trigger ?? 'command',
      startedAt: run.started_at,
      endedAt: run.ended_at,
      outcome,
      stored: run,
      message: isWell ? null : (run.error ?? record?.message ?? null),
    };
  });
  const others = history
    .filter((record) => !stored.some((run) => made(record, run)))
    .map(({ job, trigger, startedAt, endedAt, outcome, message }): RunLine => {
      const command = jobs.find(({ name }) => name === job)?.run ?? 'job';
      return { id: null, command, job, trigger, startedAt, endedAt, outcome, stored: null, message };
    });
  const at = (line: RunLine) => millis(line.startedAt ?? line.endedAt) ?? 0;
  return [...lines, ...others].toSorted((a, b) => at(b) - at(a));
}

/** Whether a job made a run. */
function made({ runIds = [] }: RunRecord, run: StoredRun): boolean {
  return runIds.includes(run.run_id);
}

/** How long it took; null while it runs, and for one that never started. */
export function runMs({ startedAt, endedAt }: RunLine): number | null {
  const [from, to] = [millis(startedAt), millis(endedAt)];
  return from === null || to === null ? null : Math.max(0, to - from);
}

/** Runs, newest first. */
export function runsTable(lines: readonly RunLine[]): Table {
  const rows = lines.map((line): Words[] => {
    const { id, command, job, trigger, stored, message } = line;
    const ms = runMs(line);
    return [
      [
        id === null ? command : { path: `/runs/${encodeURIComponent(id)}`, words: command },
        { note: job === null ? 'by command' : `${job}, ${trigger}` },
      ],
      clockOf(line.startedAt ?? line.endedAt),
      [outcomeBadge(line.outcome), { note: message }],
      ms === null ? null : duration(ms),
      stored?.requests ?? null,
      stored?.rows_new ?? null,
      stored?.rows_changed ?? null,
      stored?.rows_removed ?? null,
    ];
  });
  const numbers = ['took#', 'requests#', 'new#', 'changed#', 'removed#'];
  return { columns: ['run', 'started', 'outcome', ...numbers], rows };
}
