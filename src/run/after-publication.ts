import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ExitCode } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { ProgressDisplay } from '../base/observer.js';
import { runCommand } from '../base/processes.js';
import type { Signals } from '../base/stop.js';
import type { Config } from '../config/load.js';
import { fullestIn } from '../read/query.js';
import { filesOf } from '../store/engine.js';
import type { RunReport } from './lifecycle.js';

/** The outcome of one of the commands of `publish.after`, such as one that backs up the data directory. */
interface AfterCommand {
  /** Its place in `publish.after`, from 1, and the program; not all of it, which may hold a secret. */
  readonly command: string;
  readonly seconds: number;
  /** Null when it succeeded. */
  readonly problem: string | null;
}

/** A report with what was run after its publication. */
export type Followed<R> = R & { readonly afterPublication: readonly AfterCommand[] };

/** How long a command may take: it holds the warehouse, and a night is not endless. */
const limitMs = 3_600_000;

/**
 * Runs the commands after a run that has published, while the warehouse is still locked: nothing else writes to the data
 * directory, so that the files belong together. What they print goes to the log. A failure leaves the publication as it is,
 * is noted, and makes the run incomplete, as does a user's view that is newly left out; the other commands run all the same. None is started once the run was stopped.
 */
export async function runAfterPublication<
  R extends Pick<RunReport, 'published' | 'notes' | 'exitCode' | 'outcome'>,
>(
  { config, log }: { readonly config: Config; readonly log: Log },
  report: R,
  { stop, kill }: Signals,
  display: Pick<ProgressDisplay, 'phase' | 'phaseEnd'>,
): Promise<Followed<R>> {
  const commands = config.publish.after;
  if (report.published === null) return { ...report, afterPublication: [] };
  const signals = [stop, kill].filter((one) => one !== undefined);
  const stopping = signals.length === 0 ? undefined : AbortSignal.any(signals);
  const done: AfterCommand[] = [];
  const notes: string[] = [];
  let hasFailed = report.published.newlyLeftOut.length > 0;
  for (const [index, command] of commands.entries()) {
    const [program] = typeof command === 'string' ? command.trim().split(/\s/) : command;
    const name = `publish.after ${index + 1} (${program ?? ''})`;
    display.phase(name, null);
    const started = performance.now();
    const { problem, isStopped } = await runCommand(command, {
      env: environmentOf(config),
      stop: stopping,
      limitMs,
      onLine: (line) => log.info({ command: name }, line),
    });
    const seconds = (performance.now() - started) / 1000;
    done.push({ command: name, seconds, problem });
    if (problem === null) {
      display.phaseEnd('done');
      continue;
    }
    display.phaseEnd(problem);
    notes.push(
      `${name}: ${problem}${isStopped ? ', because the run was stopped; the next publication runs it' : ''}`,
    );
    hasFailed ||= !isStopped;
    log[isStopped ? 'warn' : 'error']({ command: name }, `${name}: ${problem}`);
  }
  const followed = { ...report, notes: [...report.notes, ...notes], afterPublication: done };
  if (!hasFailed) return followed;
  return {
    ...followed,
    outcome: report.outcome === 'done' ? 'incomplete' : report.outcome,
    exitCode: report.exitCode === ExitCode.done ? ExitCode.incomplete : report.exitCode,
  };
}

/** The failures in one line, for the result of a job; empty where there is none. */
export function afterFailures({ afterPublication = [] }: Partial<Followed<object>>): string {
  return afterPublication
    .flatMap(({ command, problem }) => (problem === null ? [] : `; ${command}: ${problem}`))
    .join('');
}

/** The paths of what belongs together. */
function environmentOf({ dataDir, settingsFile }: Config): Record<string, string> {
  const journals = readdirSync(dataDir).filter((name) => name.endsWith('.journal'));
  return {
    SIGNALHOUSE_DATA_DIR: dataDir,
    SIGNALHOUSE_PUBLISHED: filesOf(dataDir).published,
    SIGNALHOUSE_FULL_SNAPSHOT: fullestIn(dataDir),
    SIGNALHOUSE_JOURNALS: journals.map((name) => join(dataDir, name)).join('\n'),
    SIGNALHOUSE_SETTINGS: settingsFile ?? '',
  };
}
