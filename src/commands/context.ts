import { readFileSync } from 'node:fs';
import type { Sources } from '../config/load.js';
import type { Context } from './command.js';

/** The flags that every command has, and the version: available before a command is loaded. */

/** The context of a command, from the flags that every command has. `tuning` replaces what the program chooses itself. */
export async function contextOf(
  given: Readonly<Record<string, unknown>>,
  tuning: Sources['tuning'],
): Promise<Context> {
  const dataDir = given['data-dir'];
  const configFile = typeof given.config === 'string' ? given.config : undefined;
  const hasFile = configFile !== undefined || Boolean(process.env.SIGNALHOUSE_CONFIG?.trim());
  return {
    json: given.json === true,
    sources: {
      env: process.env,
      tuning,
      configFile,
      organization: typeof given.organization === 'string' ? given.organization : undefined,
      flags: dataDir === undefined ? [] : [{ path: 'dataDir', flag: '--data-dir', value: dataDir }],
      // Only a file can set jobs and masks. Loaded only then: the parser of schedules takes 50 ms.
      ...(hasFile && (await fileChecks())),
    },
  };
}

/** Checks of a settings file that a schema cannot express. */
export async function fileChecks(): Promise<Pick<Sources, 'checkJobs' | 'checkPublish'>> {
  const [{ jobProblems }, { publishProblems }] = await Promise.all([
    import('../serve/schedule/job.js'),
    import('../privacy/policy.js'),
  ]);
  return { checkJobs: jobProblems, checkPublish: publishProblems };
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
