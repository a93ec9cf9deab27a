import { readFileSync } from 'node:fs';
import { writeAtomically } from '../base/atomic-file.js';
import { iso, systemClock } from '../base/clock.js';
import { ExitCode, messageOf, SignalhouseError, StoppedError } from '../base/errors.js';
import { Metrics } from '../serve/http/metrics.js';
import type { JobView, Outcome, RunRecord } from '../serve/schedule/record.js';
import { readFacts } from './facts.js';
import type { Setup } from './setup.js';

/**
 * `serve.metricsFile`: what /metrics shows, in a file for Prometheus' textfile collector, written by every sync and push. The file
 * is its own memory: what a run does not know, it takes over from the one before.
 */

type Command = 'sync' | 'push' | 'lake';

/** All users may read it: it has no names of people, and the collector is another user. */
const mode = 0o644;

/** What only a process that goes on running knows. */
const ofServe =
  /^# HELP signalhouse_(freshness|overdue|next_run|running|waiting|api_|budget|http|run_duration)/;

/** Runs a sync, a push or a publication to the lake, and writes the file whatever becomes of it. A file that cannot be written is only logged. */
export async function withMetricsFile<R extends { readonly exitCode: ExitCode }>(
  setup: Setup,
  command: Command,
  run: () => Promise<R>,
): Promise<R> {
  if (setup.config.serve.metricsFile === null) return run();
  try {
    const report = await run();
    await recordRun(setup, command, report.exitCode);
    return report;
  } catch (error) {
    const code = error instanceof SignalhouseError ? error.exitCode : ExitCode.failed;
    await recordRun(setup, command, error instanceof StoppedError ? ExitCode.done : code);
    throw error;
  }
}

/** Writes the file after a run that ended now. */
async function recordRun(setup: Setup, command: Command, exitCode: ExitCode): Promise<void> {
  const { config, log, programVersion: version } = setup;
  const path = config.serve.metricsFile;
  if (path === null) return;
  const now = (setup.clock ?? systemClock).now();
  const before = readBefore(path);
  const facts = await readFacts(setup).catch(() => null);
  const metrics = new Metrics({ version, organization: config.organization ?? before.organization });
  const outcome = outcomeOf(exitCode);
  metrics.restore(before.runs);
  for (const one of ['done', 'incomplete', 'failed'] as const)
    metrics.restore([[command, one, one === outcome ? 1 : 0]]);
  const commands = new Set<string>([...before.commands.keys(), command]);
  const jobs = [...commands].map((name): JobView => {
    const known = before.commands.get(name);
    const isThis = name === command;
    const code = isThis ? exitCode : known?.exitCode;
    const succeeded = isThis && exitCode === ExitCode.done ? iso(now) : (known?.lastSuccessAt ?? null);
    return {
      name,
      run: name as Command,
      cron: '',
      timezone: 'UTC',
      nextAt: null,
      overdueSince: null,
      unavailableSince: null,
      last: code === undefined ? null : ended(name, code, now),
      lastSuccessAt: succeeded,
    };
  });
  const schedule = { stopping: false, running: null, waiting: [], jobs, history: [] };
  try {
    const text = await metrics.render(facts, schedule, now);
    const families = text.split('\n\n').filter((one) => !ofServe.test(one) && /^[^#\n]/m.test(one));
    await writeAtomically(path, (file) => file.writeFile(`${families.join('\n\n').trim()}\n`), { mode });
  } catch (error) {
    log.warn({ path }, `serve.metricsFile cannot be written: ${messageOf(error)}`);
  }
}

function outcomeOf(exitCode: ExitCode): Extract<Outcome, 'done' | 'incomplete' | 'failed'> {
  if (exitCode === ExitCode.done) return 'done';
  return exitCode === ExitCode.incomplete ? 'incomplete' : 'failed';
}

function ended(job: string, exitCode: ExitCode, now: number): RunRecord {
  const at = { dueAt: null, startedAt: iso(now), endedAt: iso(now) };
  return { job, trigger: 'manual', outcome: outcomeOf(exitCode), ...at, exitCode, message: '' };
}

/** What the file says; nothing where there is none yet. */
function readBefore(path: string) {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // The first run.
  }
  const series = [...text.matchAll(/^signalhouse_(\w+)\{(.*)\} (\S+)$/gm)].map(
    ([, name, labels = '', value]) => ({
      name,
      labels: new Map(
        [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', of = '']) => [
          label,
          unescaped(of),
        ]),
      ),
      value: Number(value),
    }),
  );
  const named = (name: string) => series.filter((one) => one.name === name);
  const commands = named('last_success_timestamp_seconds').flatMap(({ labels, value }) => {
    const job = labels.get('job');
    if (job === undefined) return [];
    const code = named('last_exit_code').find((one) => one.labels.get('job') === job)?.value;
    const known = Object.values(ExitCode).find((one) => one === code);
    return [[job, { lastSuccessAt: value > 0 ? iso(value * 1000) : null, exitCode: known }] as const];
  });
  return {
    organization: series.find(({ labels }) => labels.has('organization'))?.labels.get('organization'),
    runs: named('runs_total').map(
      ({ labels, value }) => [labels.get('job') ?? '', labels.get('outcome') ?? '', value] as const,
    ),
    commands: new Map(commands),
  };
}

/** The value of a label. The slug of an organization is any text. */
function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
