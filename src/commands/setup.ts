import type { Attempt } from '../api/attempt.js';
import type { Api } from '../api/client.js';
import type { Clock } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import { createLog, type Log } from '../base/log.js';
import type { ProgressDisplay } from '../base/observer.js';
import type { RunSignals } from '../base/stop.js';
import { TerminalProgress } from '../cli/progress.js';
import { interruptible } from '../cli/signals.js';
import {
  type Config,
  type Credentials,
  loadConfig,
  loadConfigWithCredentials,
  loadLakeConfig,
  loadLakeConfigWithCredentials,
  loadServeConfig,
  organizationNames,
  type ServeConfig,
  type Sources,
} from '../config/load.js';
import { lakeProblems } from '../lake/settings.js';
import { LoggedProgress, speedOf } from '../run/progress.js';
import type { Context } from './command.js';
import { programVersion } from './context.js';

/** The start of every command: its settings, its log and, where it makes requests, the key. */

/** What every command has: its settings and its log. */
export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly programVersion: string;
  readonly clock?: Clock;
  /** Called for every attempt at the API. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

export interface Access extends Setup {
  readonly credentials: Credentials;
}

export interface LakeAccess extends Setup, Pick<ServeConfig, 'lake'> {}

export type ServeAccess = Access & ServeConfig;

/** For a command that makes requests. */
export interface Observed {
  /** Makes the display of the command from the client, whose budget it shows. */
  readonly observe: (api: Api) => ProgressDisplay;
}

/** A command's setup with a progress line, if stderr is a terminal. */
export type CommandSetup<S extends Setup> = S & { readonly progress: TerminalProgress | undefined };

/**
 * The command for each organization of the settings file; with `all`, one is not enough. Without a list, or with the name of one,
 * only the command itself. Throws a UsageError for a wrong list; with `withKeys`, also for a key that several would share.
 */
export async function eachOrganization(
  context: Context,
  { all = false, withKeys = true } = {},
): Promise<{ readonly contexts: readonly Context[]; readonly isList: boolean }> {
  const { sources } = context;
  const { organization } = sources;
  if (all && organization !== undefined) {
    const problem = `takes all organizations, and --organization ${organization} takes one; leave one of them out`;
    throw new UsageError('The flags contradict each other.', [{ setting: '--all', problem }]);
  }
  const alone = { contexts: [context], isList: false };
  if (organization !== undefined) return alone;
  const names = organizationNames(sources, withKeys);
  if (names === null) {
    const problem = 'needs a settings file with organizations';
    if (all) throw new UsageError('There is no list of organizations.', [{ setting: '--all', problem }]);
    return alone;
  }
  const contexts = names.map((name) => ({
    ...context,
    sources: { ...sources, organization: name, together: names.length },
  }));
  return { contexts, isList: true };
}

/** For a command that makes no requests. Throws a UsageError with every problem of the settings. */
export function setUp(context: Context): Promise<CommandSetup<Setup>> {
  return withLog(context, (sources) => ({ config: loadConfig(sources) }));
}

/** For a command that talks to the API: address and key are required as well. */
export function setUpAccess(context: Context): Promise<CommandSetup<Access>> {
  return withLog(context, loadConfigWithCredentials);
}

/** For the commands of the lake: with its secrets, and with everything that is wrong with its settings. */
export function setUpLake(context: Context): Promise<CommandSetup<LakeAccess>> {
  return withLog(context, (sources) => loadLakeConfig(sources, lakeProblems));
}

/** For `sync --lake`: the same for a command that talks to the API. */
export function setUpLakeAccess(context: Context): Promise<CommandSetup<LakeAccess & Access>> {
  return withLog(context, (sources) => loadLakeConfigWithCredentials(sources, lakeProblems));
}

/** For `serve`: the same with its secrets, and with the problems that `check` finds in its settings. */
export function setUpServe(
  context: Context,
  check: Parameters<typeof loadServeConfig>[1],
): Promise<CommandSetup<ServeAccess>> {
  return withLog(context, (sources) => loadServeConfig(sources, check));
}

/**
 * Loads the settings, and adds the log, which hides every secret that is read now or later, and the progress line. Both
 * share the terminal: a log line is written above the progress line.
 */
async function withLog<L extends { readonly config: Config }>(
  { sources }: Context,
  load: (sources: Sources) => L,
): Promise<L & Pick<CommandSetup<Setup>, 'log' | 'progress' | 'programVersion'>> {
  const secrets = new Set<string>();
  const loaded = load({ ...sources, onSecret: (secret) => secrets.add(secret) });
  const { config } = loaded;
  const pretty = process.stderr.isTTY === true;
  // Several at the same time would overwrite each other's line.
  const isOne = (sources.together ?? 1) === 1;
  const progress = pretty && isOne ? new TerminalProgress(process.stderr) : undefined;
  const made = await createLog({
    level: config.log.level,
    pretty,
    secrets,
    around: progress && ((write) => progress.around(write)),
  });
  const log = config.organization === null ? made : made.child({ organization: config.organization });
  return { ...loaded, log, progress, programVersion: programVersion() };
}

/**
 * Runs work that signals end early, and shows its progress: on the terminal, with the client's budget and pace, or else in
 * the log.
 */
export async function observed<S extends Setup, T>(
  loading: Promise<CommandSetup<S>>,
  work: (setup: S, run: RunSignals & Observed) => Promise<T>,
): Promise<T> {
  const setup = await loading;
  const { progress, log, config } = setup;
  const observe = (api: Api) => {
    const speed = speedOf(api);
    if (!progress) return new LoggedProgress(log, speed);
    progress.watch(speed);
    return progress;
  };
  return interruptible(setup, config.shutdownSeconds, (signals) => work(setup, { ...signals, observe }));
}
