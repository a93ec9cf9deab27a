import { type Problem, UsageError } from '../base/errors.js';
import { count } from '../base/units.js';
import type { Config } from '../config/load.js';
import type { LakeSecrets } from '../config/secrets.js';
import { type LakeTaskParts, runLakeProcess } from '../lake/child.js';
import type { LakeReport, PublishOptions, TableChanges } from '../lake/publish.js';
import { lakePlace, lakeProblems } from '../lake/settings.js';
import { limitsOf, type Setup } from './setup.js';

/** The commands of the lake: settings in, a process that does the work, and its report. */

export type { LakeReport } from '../lake/publish.js';

/** A setup with the secrets of the lake. */
export interface LakeAccess extends Setup {
  readonly lake: LakeSecrets;
}

/** What ends a command of the lake early. */
interface Signals {
  readonly stop?: AbortSignal | undefined;
  readonly kill?: AbortSignal | undefined;
}

/** Everything that is wrong with the settings of the lake. */
export function lakeSettingsProblems(
  { lake }: Config,
  secrets: LakeSecrets,
  named: (path: string) => string,
): Problem[] {
  return lakeProblems(lake, secrets, named);
}

/** `lake init`: creates the namespace and its tables. */
export function lakeInit(access: LakeAccess, signals: Signals): Promise<LakeReport> {
  return runLakeProcess('init', {}, taskParts(access), { ...signals, log: access.log });
}

/** `lake publish`: makes the lake equal to the published file. */
export function lakePublish(
  access: LakeAccess,
  options: PublishOptions,
  signals: Signals,
): Promise<LakeReport> {
  return runLakeProcess('publish', options, taskParts(access), { ...signals, log: access.log });
}

/** What a publication did, in one line. */
export function lakeText({ mode, namespace, tables, changed }: LakeReport): string {
  if (!changed) return `${namespace} is up to date`;
  const sum = (of: keyof TableChanges) => Object.values(tables).reduce((total, one) => total + one[of], 0);
  const rows = `${count(sum('inserted'))} new, ${count(sum('updated'))} changed and ${count(sum('deleted'))} deleted rows`;
  return `${namespace}: ${rows}${mode === 'compared' ? ' (every row was compared)' : ''}`;
}

function taskParts({ config, lake, programVersion }: LakeAccess): LakeTaskParts {
  const place = lakePlace(config.lake);
  if (place === null)
    throw new UsageError('no lake is set', [], { hint: 'Set lake.catalog and lake.warehouse.' });
  const { dataDir, memoryLimit, threads } = limitsOf(config);
  return {
    dataDir,
    place,
    secrets: lake,
    extensionDirectory: config.duckdb.extensionDirectory,
    profile: config.lake.profile,
    limits: { memoryLimit, threads },
    encryptionKey: config.encryptionKey?.forDuckDB ?? null,
    programVersion,
  };
}
