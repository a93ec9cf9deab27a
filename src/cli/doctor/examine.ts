import { statSync } from 'node:fs';
import type { Access } from '../../app/worker.js';
import { ExitCode, UsageError } from '../../base/errors.js';
import { createLog } from '../../base/log.js';
import { loadConfig, loadConfigWithCredentials, type Sources } from '../../config/load.js';
import type { Context } from '../command.js';
import { programVersion } from '../version.js';
import { type Check, fail, ok, warn } from './check.js';
import { checkDataDir } from './machine.js';
import { checkOwner, checkService } from './service.js';
import { checkWarehouse } from './warehouse.js';

/** What can be checked is checked, whatever else is wrong. */
export async function examine({ sources }: Context): Promise<Check[]> {
  const { checks, access } = settings(sources);
  if (access === null) return checks;
  const { config } = access;
  const folder = checkDataDir(config.dataDir);
  const service = isComplete(access) ? await checkService(access) : { checks: [], probe: null };
  const warehouse = await checkWarehouse(access);
  const owner = checkOwner(service.probe, warehouse.inspection, config.dataDir);
  return [...checks, ...folder, ...service.checks, ...warehouse.checks, ...owner];
}

type Found = Omit<Access, 'credentials'> & Partial<Pick<Access, 'credentials'>>;

function isComplete(found: Found): found is Access {
  return found.credentials !== undefined;
}

/** The settings, and what is wrong with them; without an address and a key, the local checks go on. */
function settings(sources: Sources): { checks: Check[]; access: Found | null } {
  // The checks say what there is to say; a log line in between would say it twice.
  const told = (secrets: readonly string[]) => ({
    log: createLog({ level: 'fatal', pretty: false, secrets }),
    programVersion: programVersion(),
  });
  try {
    const { config, credentials } = loadConfigWithCredentials(sources);
    const access = { config, credentials, ...told([credentials.apiKey]) };
    return { checks: [ok('settings', 'complete and well-formed'), ...keyFile(config.api.keyFile)], access };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const checks = error.problems.map(({ setting, problem }) =>
      fail('settings', `${setting}: ${problem}`, null, ExitCode.usage),
    );
    try {
      return { checks, access: { config: loadConfig(sources), ...told([]) } };
    } catch {
      return { checks, access: null };
    }
  }
}

/** A key that others on this machine can read is as good as theirs. */
function keyFile(path: string | undefined): Check[] {
  if (path === undefined || process.platform === 'win32') return [];
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  const octal = (mode & 0o777).toString(8);
  return [warn('key file', `${path} can be read by other users (mode ${octal})`, `chmod 600 ${path}`)];
}
