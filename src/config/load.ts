import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { closestMatch } from '../base/closest.js';
import { type Problem, UsageError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { isLoopback } from '../base/loopback.js';
import {
  type Checks,
  checkedSettings,
  chosenFrom,
  directoryProblems,
  keyProblems,
  type Listed,
  listedIn,
  merged,
  organizationsProblems,
  placeOf,
  settingsIn,
  settingsOf,
} from './organizations.js';
import type { Settings } from './schema.js';
import {
  allSecretVariables,
  baseUrlProblem,
  given,
  type LakeSecrets,
  lakeVariables,
  type Place,
  readApiKey,
  type ServeSecrets,
  secretsIn,
  serveVariables,
} from './secrets.js';
import { assign, dotted, parseSettings, type SettingsFile, valueAt, withoutEmpty } from './settings-file.js';

/** The environment variables that set a setting, and which. The API key is not a setting and has its own variables. */
export const variables = {
  SIGNALHOUSE_BASE_URL: ['api', 'baseUrl'],
  SIGNALHOUSE_API_KEY_FILE: ['api', 'keyFile'],
  SIGNALHOUSE_DATA_DIR: ['dataDir'],
  SIGNALHOUSE_RATE_LIMIT_REQUESTS: ['rateLimit', 'requests'],
  SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: ['rateLimit', 'windowMs'],
  SIGNALHOUSE_LOG_LEVEL: ['log', 'level'],
} as const;

const numeric = new Set(['SIGNALHOUSE_RATE_LIMIT_REQUESTS', 'SIGNALHOUSE_RATE_LIMIT_WINDOW_MS']);

/**
 * Values that the program otherwise chooses, for a caller that knows better: tests, which have little data and do not wait. Only a
 * program can hand this in. Whatever is left out is the constant of the part that uses it.
 */
export interface Tuning {
  /** The most requests in flight. */
  readonly concurrency?: number;
  readonly timeouts?: Readonly<Record<'connectMs' | 'firstByteMs' | 'totalMs', number>>;
  readonly maxAnswerBytes?: number;
  readonly maxItemBytes?: number;
  /** When a batch is committed. */
  readonly batch?: Readonly<Record<'megabytes' | 'answers' | 'seconds', number>>;
  /** The memory of the machine or container, in bytes. */
  readonly memory?: number;
  /** Threads of DuckDB. */
  readonly threads?: number;
  /** How long a job of serve waits for an API that does not answer. */
  readonly jobOutageMinutes?: number;
  /** How long after a publication a run that is not at its end publishes again. */
  readonly publishEveryMinutes?: number;
  /** When the live file is rewritten. */
  readonly compactWhen?: Readonly<Record<'freeShare' | 'freeMegabytes', number>>;
}

export interface Sources extends Checks, Place {
  readonly tuning?: Tuning | undefined;
  /** Values from the command line, over everything else: by dotted setting path, with the flag's name. */
  readonly flags?: readonly { path: string; flag: string; value: unknown }[];
  /** The config file named on the command line, over SIGNALHOUSE_CONFIG. */
  readonly configFile?: string | undefined;
  /** Which organization of the file; may be left out where it names one or none. */
  readonly organization?: string | undefined;
  /** How many organizations this process works for. */
  readonly together?: number | undefined;
}

export interface Config extends Settings {
  /** Absolute. */
  readonly dataDir: string;
  /** The settings file, absolute; undefined where there is none. */
  readonly settingsFile: string | undefined;
  readonly tuning: Tuning;
  /** Its name in the list of the file; null where the file has no list. */
  readonly organization: string | null;
  /** How many jobs may run in this process at the same time, so that they share its memory. */
  readonly jobsAtOnce: number;
}

/** How to reach the API. The key is only here, never among the settings. */
export interface Credentials {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Reads the key again, where it is in a file, which may be replaced. Throws UsageError when it cannot be used. */
  readonly readKey?: (() => string) | undefined;
}

/**
 * Reads file < environment < flags into one checked configuration. Throws one UsageError with every problem, each
 * under the name by which the user gave the setting.
 */
export function loadConfig(sources: Sources): Config {
  return checked(readConfig(sources));
}

/** Where a setting comes from: its default, the settings file, a variable, or a flag. */
type Origin = 'default' | 'file' | 'environment' | 'flag';

/** The value of one setting that is in force. */
export interface EffectiveSetting {
  /** Its dotted path, e.g. `serve.jobs[0].cron`. */
  readonly setting: string;
  /** Null for one that has no default and is not set. */
  readonly value: unknown;
  readonly from: Origin;
  /** The file, variable or flag; null for a default. */
  readonly source: string | null;
}

/** Every setting that is in force, and where it comes from. Throws what `loadConfig` throws. */
export function effectiveSettings(sources: Sources): EffectiveSetting[] {
  const read = readConfig(sources);
  const { origin, fileValues, own } = read;
  const flags = new Set((sources.flags ?? []).map(({ flag }) => flag));
  const config = checked(read);
  // Required by most commands, so its absence is shown as well.
  const leaves = leavesOf({ ...settingsIn(config), api: { baseUrl: undefined, ...config.api } });
  return leaves.map(([path, value]) => {
    const setting = dotted(path);
    const given = origin.get(setting);
    if (given !== undefined && valueAt(own, path) === undefined)
      return { setting, value, from: flags.has(given) ? 'flag' : 'environment', source: given };
    const isInFile = path.length > 0 && valueAt(fileValues, path) !== undefined;
    const source = isInFile ? (fileOf(sources) ?? null) : null;
    return { setting, value, from: isInFile ? 'file' : 'default', source };
  });
}

function leavesOf(value: unknown, path: readonly PropertyKey[] = []): [readonly PropertyKey[], unknown][] {
  if (Array.isArray(value) && value.some(isObject))
    return value.flatMap((inner, index) => leavesOf(inner, [...path, index]));
  if (!isObject(value)) return [[path, value ?? null]];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

/** `loadConfig` for a command that talks to the API: address and key are required and reported with the rest. */
export function loadConfigWithCredentials(sources: Sources): { config: Config; credentials: Credentials } {
  const read = readConfig(sources);
  const credentials = readCredentials(sources, read);
  return { config: checked(read), credentials };
}

/** Everything that `serve` needs to know. */
export interface ServeConfig {
  readonly config: Config;
  readonly credentials: Credentials;
  readonly secrets: ServeSecrets;
  readonly lake: LakeSecrets;
  /** Reads the secrets of the server and of the lake again. Throws UsageError with every problem. */
  readonly readSecrets: () => Pick<ServeConfig, 'secrets' | 'lake'>;
}

/**
 * `loadConfigWithCredentials` with the secrets of the server and its jobs. `check` finds what a schema cannot, such as an
 * e-mail server without a recipient; its problems are reported with the rest. `named` tells how the user gave a setting.
 */
export function loadServeConfig(
  sources: Sources,
  check: (
    config: Config,
    secrets: ServeSecrets,
    named: (path: string) => string,
    lake: LakeSecrets,
  ) => readonly Problem[],
): ServeConfig {
  const read = readConfig(sources);
  const secretsOf = (problems: Problem[]) => ({
    secrets: secretsIn(sources, serveVariables, problems),
    lake: secretsIn(sources, lakeVariables, problems),
  });
  const { secrets, lake } = secretsOf(read.problems);
  if (read.config) read.problems.push(...check(read.config, secrets, read.named, lake));
  const credentials = readCredentials(sources, read);
  const readSecrets = () => {
    const problems: Problem[] = [];
    const again = secretsOf(problems);
    if (problems.length === 0) return again;
    throw new UsageError('A secret cannot be read again.', problems);
  };
  return { config: checked(read), credentials, secrets, lake, readSecrets };
}

function withAbsolutePaths(values: Settings, cwd: string): Settings {
  const { dataDir, duckdb } = values;
  const { extensionDirectory } = duckdb;
  return {
    ...values,
    dataDir: resolve(cwd, dataDir),
    duckdb: { extensionDirectory: extensionDirectory && resolve(cwd, extensionDirectory) },
  };
}

/** Finds what a schema cannot in the settings of the lake. `named` tells how the user gave a setting. */
type CheckLake = (
  lake: Config['lake'],
  secrets: LakeSecrets,
  named: (path: string) => string,
) => readonly Problem[];

/** `loadConfig` with the secrets of the lake. The problems that `check` finds are reported with the rest. */
export function loadLakeConfig(sources: Sources, check: CheckLake): { config: Config; lake: LakeSecrets } {
  const read = readConfig(sources);
  const lake = checkedLake(sources, read, check);
  return { config: checked(read), lake };
}

/** `loadConfigWithCredentials` with the secrets of the lake, for a sync that also publishes to it. */
export function loadLakeConfigWithCredentials(
  sources: Sources,
  check: CheckLake,
): { config: Config; credentials: Credentials; lake: LakeSecrets } {
  const read = readConfig(sources);
  const lake = checkedLake(sources, read, check);
  const credentials = readCredentials(sources, read);
  return { config: checked(read), credentials, lake };
}

function checkedLake(sources: Sources, { config, problems, named }: Read, check: CheckLake): LakeSecrets {
  const lake = secretsIn(sources, lakeVariables, problems);
  if (config) problems.push(...check(config.lake, lake, named));
  return lake;
}

/** Reads address and key, and adds what is wrong with them to the problems. */
function readCredentials(sources: Sources, read: Read): Credentials {
  const { values, named, problems, listed, isChosen } = read;
  // Which organization is missing; whose address and key are wanted follows from it.
  if (!isChosen) return { baseUrl: '', apiKey: '' };
  const [baseUrl, keyFile] = ['baseUrl', 'keyFile'].map((name) => {
    const value = valueAt(values, ['api', name]);
    return typeof value === 'string' ? value : undefined;
  });
  const problem = baseUrlProblem(baseUrl);
  if (problem) {
    const setting = baseUrl === undefined ? 'SIGNALHOUSE_BASE_URL' : named('api.baseUrl');
    problems.push({ setting, problem });
  }
  if (sources.env.NODE_TLS_REJECT_UNAUTHORIZED === '0' && isElsewhere(baseUrl)) {
    problems.push({
      setting: 'NODE_TLS_REJECT_UNAUTHORIZED',
      problem:
        'must not be 0: the key would be sent to any server that claims to be the API. For a certificate of your own authority, set NODE_EXTRA_CA_CERTS',
    });
  }
  // The variable has one key; of several organizations, one that names a file has its own.
  const isInFile =
    keyFile !== undefined && (listed !== undefined || given(sources.env.SIGNALHOUSE_API_KEY) === undefined);
  const place = isInFile ? { ...sources, env: { ...sources.env, SIGNALHOUSE_API_KEY: undefined } } : sources;
  const readKey = () => readApiKey(place, keyFile, named('api.keyFile'));
  const key = readKey();
  if (typeof key !== 'string') problems.push(key);
  return {
    baseUrl: (baseUrl ?? '').trim().replace(/\/+$/, ''),
    apiKey: typeof key === 'string' ? key : '',
    readKey: isInFile ? () => usable(readKey()) : undefined,
  };
}

/** Whether requests to an address leave this machine. */
function isElsewhere(baseUrl: string | undefined): boolean {
  const address = baseUrl?.trim() ?? '';
  return URL.canParse(address) && !isLoopback(new URL(address).hostname);
}

/** A secret that was read again. */
function usable(secret: string | Problem): string {
  if (typeof secret === 'string') return secret;
  throw new UsageError('The API key cannot be read.', [secret]);
}

/** The configuration that was read, unless something is wrong with it. */
function checked({ config, problems, located }: Read): Config {
  if (config && problems.length === 0) return config;
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  throw new UsageError(`The configuration has ${count}.`, problems.map(located), {
    hint: 'config/default.yaml describes every setting; README.md lists the environment variables.',
  });
}

interface Read {
  config: Config | undefined;
  /** The name by which the user gave a setting, by its dotted path. */
  origin: Map<string, string>;
  values: Record<string, unknown>;
  /** The settings of the file, before variables and flags. */
  fileValues: Record<string, unknown>;
  /** The file's settings of this organization alone. */
  own: Record<string, unknown>;
  /** The list of organizations of the file; undefined where it has none. */
  listed: Listed | undefined;
  /** Whether it is known which organization's settings these are. */
  isChosen: boolean;
  /** The problems of the list as a whole. */
  listProblems: readonly Problem[];
  /** How the user gave a setting: its variable or flag, or its place in the file. */
  named: (path: string) => string;
  problems: Problem[];
  /** Adds the line to a problem of the file. */
  located: (problem: Problem) => Problem;
}

/**
 * Variables that are spelled almost like one that is read: a typing error in a name would leave the default in force. Others with our
 * prefix are not ours, such as those that Kubernetes sets for a Service of that name.
 */
function misspelledVariables(env: NodeJS.ProcessEnv): Problem[] {
  const prefix = 'SIGNALHOUSE_';
  const settable = [...Object.keys(variables), ...allSecretVariables, 'SIGNALHOUSE_CONFIG'];
  const choices = settable.flatMap((one) => (one.startsWith(prefix) ? one.slice(prefix.length) : []));
  return Object.entries(env).flatMap(([name, value]): Problem[] => {
    if (!name.startsWith(prefix) || given(value) === undefined || settable.includes(name)) return [];
    const guess = closestMatch(name.slice(prefix.length), choices);
    if (guess === undefined) return [];
    return [
      { setting: name, problem: `is not a variable that Signalhouse reads; did you mean ${prefix}${guess}?` },
    ];
  });
}

function readConfig(sources: Sources, withFiles = true): Read {
  const problems: Problem[] = [];
  const origin = new Map<string, string>();
  const cwd = sources.cwd ?? process.cwd();
  const file = fileOf(sources);
  const pointer = !withFiles ? 'file' : sources.configFile === undefined ? 'SIGNALHOUSE_CONFIG' : '--config';
  const path = settingsPath(sources);
  const { values: written, lineOf } =
    file === undefined || path === undefined
      ? { values: {}, lineOf: () => undefined }
      : readFile(path, file, problems, pointer);
  const listed = 'organizations' in written ? listedIn(written) : undefined;
  const shared = listed?.shared ?? written;
  problems.push(...misspelledVariables(sources.env));
  const ofFile = structuredClone(shared);
  for (const [name, path] of Object.entries(variables)) {
    const value = given(sources.env[name]);
    if (value === undefined) continue;
    assign(shared, path, numeric.has(name) ? asNumber(value) : value);
    origin.set(path.join('.'), name);
  }
  for (const { path, flag, value } of sources.flags ?? []) {
    assign(shared, path.split('.'), value);
    origin.set(path, flag);
  }
  const organization = chosenFrom(listed, sources.organization, problems);
  const inList = listed ? [...listed.problems, ...directoryProblems(listed, shared, cwd)] : [];
  const listProblems = inList.map((one) => ({ ...one, setting: `${file}: ${one.setting}` }));
  problems.push(...listProblems);
  // A setting of one organization wins over a variable, which is for all.
  const values = organization ? settingsOf(organization, shared) : shared;
  const own = organization?.own ?? {};
  const fileValues = organization ? merged(ofFile, own) : ofFile;
  const named = (path: string) => {
    const place = listed && organization ? placeOf(organization, listed, path) : path;
    const isOwn = place !== path && place.startsWith('organizations');
    const given = isOwn ? undefined : origin.get(path);
    return given ?? (file === undefined ? path : `${file}: ${place}`);
  };
  const { data, problems: found } = checkedSettings(values, named, sources);
  problems.push(...found);
  const config = data && {
    ...withAbsolutePaths(data, cwd),
    tuning: sources.tuning ?? {},
    organization: organization?.name ?? null,
    jobsAtOnce: Math.min(data.serve.parallel, sources.together ?? 1),
    settingsFile: path,
  };
  // Otherwise each command would fail in its own way at the first file that it looks for.
  const blocked = withFiles && config ? notDirectory(config.dataDir) : undefined;
  if (blocked) problems.push({ setting: named('dataDir'), problem: `${config?.dataDir} ${blocked}` });
  // A folder of this name would be made where the command runs.
  if (/^~(\/|$)/.test(data?.dataDir ?? '')) {
    const problem = 'begins with ~, which only a shell replaces: write the whole path';
    problems.push({ setting: named('dataDir'), problem });
  }
  const isChosen = listed === undefined || organization !== undefined;
  const located = locating(`${file}: `, lineOf);
  return {
    config,
    origin,
    values,
    fileValues,
    own,
    listed,
    isChosen,
    listProblems,
    named,
    problems,
    located,
  };
}

/** Why a path can be no directory; undefined where it is one, or can be made. */
function notDirectory(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? 'is a file, not a directory' : undefined;
  } catch (error) {
    return isObject(error) && error.code === 'ENOTDIR' ? 'is below a file' : undefined;
  }
}

/**
 * The names of the organizations of the file; null where it has no list. Throws a UsageError for what is wrong with the list as
 * a whole; with `withKeys`, also when several would use one key: each would have the same organization's data.
 */
export function organizationNames(sources: Sources, withKeys: boolean): readonly string[] | null {
  const [file, path] = [fileOf(sources), settingsPath(sources)];
  if (file === undefined || path === undefined) return null;
  const { values, lineOf } = readFile(path, file, [], 'SIGNALHOUSE_CONFIG');
  // Problems of the file itself are reported where its settings are read.
  if (!('organizations' in values)) return null;
  const listed = listedIn(values);
  const names = listed.organizations.map(({ name }) => name);
  const problems = [...readConfig({ ...sources, organization: names[0] }, false).listProblems];
  if (withKeys) {
    const { SIGNALHOUSE_API_KEY: key, SIGNALHOUSE_API_KEY_FILE: keyFile } = sources.env;
    const place = { ...sources, env: {} };
    const keyIn = (inFile: string) => {
      const read = readApiKey(place, inFile, '');
      return typeof read === 'string' ? read : undefined;
    };
    const found = keyProblems(listed, { key: given(key), keyFile: given(keyFile) }, keyIn);
    for (const { setting, problem } of found) problems.push({ setting: `${file}: ${setting}`, problem });
  }
  if (problems.length > 0)
    throw new UsageError('The list of organizations is wrong.', problems.map(locating(`${file}: `, lineOf)));
  return names;
}

function locating(prefix: string, lineOf: SettingsFile['lineOf']): Read['located'] {
  return (problem) => {
    if (!problem.setting.startsWith(prefix)) return problem;
    const line = lineOf(problem.setting.slice(prefix.length));
    return line === undefined ? problem : { ...problem, line };
  };
}

/**
 * The problems of a settings file, whatever the environment says. A key file that it names must be on this machine
 * and hold a key.
 */
export function fileProblems(
  file: string,
  { cwd = process.cwd(), ...checks }: Pick<Sources, 'cwd' | keyof Checks>,
): readonly Problem[] {
  const read = readConfig({ ...checks, cwd, env: {}, configFile: file }, false);
  const { listed, named, problems, located } = read;
  if (listed) {
    const inList = organizationsProblems(readFileSync(resolve(cwd, file), 'utf8'), file, checks);
    const keys = listed.organizations.flatMap((one) =>
      keyFileProblems(settingsOf(one, listed.shared), `${file}: ${placeOf(one, listed, 'api.keyFile')}`, cwd),
    );
    // A shared setting is reported once.
    const byPlace = new Map(keys.map((one) => [one.setting, located(one)]));
    return [...inList, ...byPlace.values()];
  }
  const baseUrl = valueAt(read.values, ['api', 'baseUrl']);
  const problem = typeof baseUrl === 'string' ? baseUrlProblem(baseUrl) : undefined;
  if (problem) problems.push({ setting: named('api.baseUrl'), problem });
  problems.push(...keyFileProblems(read.values, named('api.keyFile'), cwd));
  return problems.map(located);
}

/** The problem of the key file of these settings; `setting` is where they name it. */
function keyFileProblems(values: Record<string, unknown>, setting: string, cwd: string): Problem[] {
  const keyFile = valueAt(values, ['api', 'keyFile']);
  if (typeof keyFile !== 'string') return [];
  const key = readApiKey({ env: {}, cwd }, keyFile, setting);
  return typeof key === 'string' ? [] : [key];
}

/** The absolute path of the settings file; undefined where there is none. */
function settingsPath(sources: Sources): string | undefined {
  const file = fileOf(sources);
  return file === undefined ? undefined : resolve(sources.cwd ?? process.cwd(), file);
}

function fileOf(sources: Sources): string | undefined {
  return sources.configFile ?? given(sources.env.SIGNALHOUSE_CONFIG);
}

function asNumber(value: string): number | string {
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
}

function readFile(
  path: string,
  name: string,
  problems: Problem[],
  setting: string,
): { values: Record<string, unknown>; lineOf: SettingsFile['lineOf'] } {
  let source: string;
  try {
    // Otherwise a name with an umlaut, saved in another encoding, would be another name.
    source = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isEncoding = code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
    const problem = isEncoding
      ? 'is not UTF-8: save it in this encoding'
      : `cannot be read: ${code ?? error}`;
    problems.push({ setting, problem: `${name} ${problem}` });
    return { values: {}, lineOf: () => undefined };
  }
  const parsed = parseSettings(source, name);
  const { value, lineOf } = parsed;
  problems.push(...parsed.problems);
  if (isObject(value)) return { values: withoutEmpty(value), lineOf };
  if (value !== null && parsed.problems.length === 0)
    problems.push({ setting: name, problem: 'must be a mapping of settings, as in config/default.yaml' });
  return { values: {}, lineOf };
}
