import { readFileSync } from 'node:fs';
import type { Api } from '../api/client.js';
import type { LakeAccess } from '../app/lake.js';
import type { ServeAccess } from '../app/serve.js';
import type { Access, RunSignals, Setup } from '../app/setup.js';
import type { ObservedOptions } from '../app/worker.js';
import { UsageError } from '../base/errors.js';
import type { Config, loadServeConfig, Sources } from '../config/load.js';
import type { Context } from './command.js';
import type { TerminalProgress } from './progress.js';
import { interruptible } from './signals.js';

// The settings and the log are loaded by the commands that use them: `--help` and `--version` would take half as long again.
const settings = () => import('../config/load.js');

/** What a command works with: its settings, its log, and a progress line if stderr is a terminal. */
export type CommandSetup<S extends Setup> = S & { readonly progress: TerminalProgress | undefined };

/**
 * The command for each organization of the settings file; with `all`, one is not enough. Without a list, or with the name of one,
 * only the command itself. Throws a UsageError for what is wrong with the list; with `withKeys`, also for a key that several would share.
 */
export async function eachOrganization(
  context: Context,
  { all = false, withKeys = true } = {},
): Promise<{ readonly contexts: readonly OrganizationContext[]; readonly isList: boolean }> {
  const { sources } = context;
  const { organization } = sources;
  if (all && organization !== undefined) {
    const problem = `takes all organizations, and --organization ${organization} takes one; leave one of them out`;
    throw new UsageError('The flags contradict each other.', [{ setting: '--all', problem }]);
  }
  const alone = { contexts: [{ ...context, organization: organization ?? '' }], isList: false };
  if (organization !== undefined) return alone;
  const { organizationNames } = await settings();
  const names = organizationNames(sources, withKeys);
  if (names === null) {
    const problem = 'needs a settings file with organizations';
    if (all) throw new UsageError('There is no list of organizations.', [{ setting: '--all', problem }]);
    return alone;
  }
  const of = (name: string) => ({ ...sources, organization: name, together: names.length });
  return {
    contexts: names.map((name) => ({ ...context, sources: of(name), organization: name })),
    isList: true,
  };
}

/** The context of a command for one organization of a list. */
export type OrganizationContext = Context & { readonly organization: string };

/** For a command that makes no requests. Throws a UsageError with every problem of the settings. */
export async function setUp(context: Context): Promise<CommandSetup<Setup>> {
  const { loadConfig } = await settings();
  return withLog(context, (sources) => ({ config: loadConfig(sources) }));
}

/** For a command that talks to the API: address and key are required as well. */
export async function setUpAccess(context: Context): Promise<CommandSetup<Access>> {
  const { loadConfigWithCredentials } = await settings();
  return withLog(context, loadConfigWithCredentials);
}

/** For the commands of the lake: with its secrets, and with everything that is wrong with its settings. */
export async function setUpLake(context: Context): Promise<CommandSetup<LakeAccess>> {
  const { loadLakeConfig } = await settings();
  const { lakeProblems } = await import('../app/lake.js');
  return withLog(context, (sources) => loadLakeConfig(sources, lakeProblems));
}

/** For `sync --lake`: the same for a command that talks to the API. */
export async function setUpLakeAccess(context: Context): Promise<CommandSetup<LakeAccess & Access>> {
  const { loadLakeConfigWithCredentials } = await settings();
  const { lakeProblems } = await import('../app/lake.js');
  return withLog(context, (sources) => loadLakeConfigWithCredentials(sources, lakeProblems));
}

/** For `serve`: the same with its secrets, and with the problems that `check` finds in its settings. */
export async function setUpServe(
  context: Context,
  check: Parameters<typeof loadServeConfig>[1],
): Promise<CommandSetup<ServeAccess>> {
  const { loadServeConfig } = await settings();
  return withLog(context, (sources) => loadServeConfig(sources, check));
}

/**
 * Loads the settings, and adds the log, which hides every secret that is read now or later, and the progress line. Both
 * share the terminal: a log line is written above the progress line. The first lines of the log are the warnings about the settings.
 */
async function withLog<L extends { readonly config: Config }>(
  { sources }: Context,
  load: (sources: Sources) => L,
): Promise<L & Pick<CommandSetup<Setup>, 'log' | 'progress' | 'programVersion'>> {
  const secrets = new Set<string>();
  const loaded = load({ ...sources, onSecret: (secret) => secrets.add(secret) });
  const { config } = loaded;
  const { createLog } = await import('../base/log.js');
  const pretty = process.stderr.isTTY === true;
  // Several at the same time would overwrite each other's line.
  const isOne = (sources.together ?? 1) === 1;
  const progress =
    pretty && isOne ? new (await import('./progress.js')).TerminalProgress(process.stderr) : undefined;
  const made = await createLog({
    level: config.log.level,
    pretty,
    secrets,
    around: progress && ((write) => progress.around(write)),
  });
  const log = config.organization === null ? made : made.child({ organization: config.organization });
  for (const warning of config.warnings) log.warn(warning);
  return { ...loaded, log, progress, programVersion: programVersion() };
}

/**
 * Runs work that signals end early, and shows its progress: on the terminal, with the client's budget and pace, or else in
 * the log.
 */
export async function observed<S extends Setup, T>(
  loading: Promise<CommandSetup<S>>,
  work: (setup: S, run: RunSignals & Pick<ObservedOptions, 'observe'>) => Promise<T>,
): Promise<T> {
  const setup = await loading;
  const { progress, log, config } = setup;
  const { LoggedProgress, speedOf } = await import('../app/progress.js');
  const observe = (api: Api) => {
    const speed = speedOf(api);
    if (!progress) return new LoggedProgress(log, speed);
    progress.watch(speed);
    return progress;
  };
  return interruptible(setup, config.shutdownSeconds, (signals) => work(setup, { ...signals, observe }));
}

/** What `--version` prints: the version, and the commit that it was built from. */
export function versionText(): string {
  return `${programVersion()} (${readFileSync(new URL('../../dist/commit', import.meta.url), 'utf8')})`;
}

/** The version of this program, from its package.json, which is beside both dist and src. */
export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
