import { readFileSync } from 'node:fs';
import type { LakeAccess } from '../app/lake.js';
import type { ServeAccess } from '../app/serve.js';
import type { Access, Setup } from '../app/setup.js';
import type { CheckLake, Config, loadServeConfig } from '../config/load.js';
import type { Context } from './command.js';
import type { TerminalProgress } from './progress/terminal.js';

// The settings and the log are loaded by the commands that use them: `--help` and `--version` would take half as long again.
const settings = () => import('../config/load.js');

/** What a command works with: its settings, its log, and a progress line if stderr is a terminal. */
export type CommandSetup<S extends Setup> = S & { readonly progress: TerminalProgress | undefined };

/** For a command that makes no requests. Throws a UsageError with every problem of the settings. */
export async function setUp({ sources }: Context): Promise<CommandSetup<Setup>> {
  const { loadConfig } = await settings();
  const config = loadConfig(sources);
  return { config, programVersion: programVersion(), ...(await logging(config, [])) };
}

/** For a command that talks to the API: address and key are required as well. */
export async function setUpAccess({ sources }: Context): Promise<CommandSetup<Access>> {
  const { loadConfigWithCredentials } = await settings();
  const { config, credentials } = loadConfigWithCredentials(sources);
  return {
    config,
    credentials,
    programVersion: programVersion(),
    ...(await logging(config, [credentials.apiKey])),
  };
}

/** For the commands of the lake: with its secrets, and with everything that is wrong with its settings. */
export async function setUpLake({ sources }: Context, check: CheckLake): Promise<CommandSetup<LakeAccess>> {
  const { loadLakeConfig } = await settings();
  const { config, lake } = loadLakeConfig(sources, check);
  return {
    config,
    lake,
    programVersion: programVersion(),
    ...(await logging(config, textsOf(lake))),
  };
}

/** For `sync --lake`: the same for a command that talks to the API. */
export async function setUpLakeAccess(
  { sources }: Context,
  check: CheckLake,
): Promise<CommandSetup<LakeAccess & Access>> {
  const { loadLakeConfigWithCredentials } = await settings();
  const { config, credentials, lake } = loadLakeConfigWithCredentials(sources, check);
  const hidden = [credentials.apiKey, ...textsOf(lake)];
  return {
    config,
    credentials,
    lake,
    programVersion: programVersion(),
    ...(await logging(config, hidden)),
  };
}

/** The secrets that are set. */
function textsOf(secrets: object): string[] {
  return Object.values(secrets).filter((one) => typeof one === 'string');
}

/** For `serve`: the same with its secrets, and with the problems that `check` finds in its settings. */
export async function setUpServe(
  { sources }: Context,
  check: Parameters<typeof loadServeConfig>[1],
): Promise<ServeAccess> {
  const { loadServeConfig } = await settings();
  const { config, credentials, secrets, lake } = loadServeConfig(sources, check);
  const { log } = await logging(config, [credentials.apiKey, ...textsOf(secrets), ...textsOf(lake)]);
  return { config, credentials, secrets, lake, programVersion: programVersion(), log };
}

/**
 * Log and progress share the terminal: a log line is written above the progress line. The first lines of the log are the
 * warnings about the settings.
 */
async function logging(
  { log: { level }, warnings }: Config,
  secrets: readonly string[],
): Promise<Pick<CommandSetup<Setup>, 'log' | 'progress'>> {
  const { createLog } = await import('../base/log.js');
  const pretty = process.stderr.isTTY === true;
  const progress = pretty
    ? new (await import('./progress/terminal.js')).TerminalProgress(process.stderr)
    : undefined;
  const around = progress && ((write: () => void) => progress.around(write));
  const log = createLog({ level, pretty, secrets, around });
  for (const warning of warnings) log.warn(warning);
  return { log, progress };
}

/** The version of this program, from its package.json, which is beside both dist and src. */
export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
