import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { clockAheadMs } from '../api/attempt.js';
import { usualPageSize } from '../api/page.js';
import { type Page, pagesOf } from '../api/paging.js';
import { Priority } from '../api/request.js';
import { spendingLogPath } from '../api/spending-log.js';
import { writeAtomicallySync } from '../base/atomic-file.js';
import { shellWord } from '../base/command-line.js';
import {
  ExitCode,
  LockedError,
  messageOf,
  problemsOf,
  problemText,
  RefusedError,
  SignalhouseError,
  UsageError,
} from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { silentLog } from '../base/log.js';
import { Scope } from '../base/scope.js';
import { bytes, count, counted, duration, firstOf } from '../base/units.js';
import { type Config, loadConfig, loadConfigWithCredentials, type Sources } from '../config/load.js';
import { openWarehouse } from '../load/open.js';
import type { Warehouse } from '../load/warehouse.js';
import { decide, type Proof } from '../prove/assumptions.js';
import { forecast } from '../prove/forecast.js';
import { observe } from '../prove/observe.js';
import { journalPath } from '../push/queue.js';
import { openPublished } from '../read/query.js';
import { type Identity, refuseAnother, whoAmI } from '../run/identity.js';
import { filesOf } from '../store/engine.js';
import { type ExtensionUse, extensionsOf, howToGet, inspectExtensions } from '../store/extensions.js';
import { limitsOf, memoryProblem, readingLimitsOf } from '../store/memory.js';
import { foreignLogs } from '../store/published-list.js';
import { refuseUnwritable } from '../store/restore.js';
import type { Organization } from '../store/runs.js';
import { hanging, list, pairs, printable, sections, wrap } from '../view/text.js';
import { command, toggle } from './command.js';
import { programVersion } from './context.js';
import { type Access, type Setup, setUpAccess } from './setup.js';
import { connect } from './worker.js';

export const doctor = command({
  examples: [
    ['signalhouse doctor', 'One line per check; two requests'],
    ['signalhouse doctor --json', 'The same as JSON'],
    ['signalhouse doctor --prove', 'Compare the API with what is assumed'],
  ],
  input: {
    prove: toggle.describe('Check every assumption about the API: at most 100 GETs, changes nothing'),
  },
  async run({ prove: isProof }, context): Promise<Proving | Examined> {
    return isProof ? prove(await setUpAccess(context)) : examine(context.sources);
  },
  show: (found) => ('proof' in found ? proofText(found) : found.checks.map(line).join('\n')),
  exitCode(found) {
    if (!('proof' in found)) return found.exitCode;
    const isOpen = found.proof.some(({ verdict, handled }) => verdict === 'contradicted' && !handled);
    return isOpen ? ExitCode.incomplete : ExitCode.done;
  },
});

function line({ name, state, text, hint }: Omit<Check, 'exitCode'>): string {
  const hintLines = hint === null ? [] : hanging('  ', hint, 54);
  const [first = '', ...rest] = [...wrap(printable(text), 56), ...hintLines];
  return [
    `${state.padEnd(4)}  ${name.padEnd(14)}  ${first}`,
    ...rest.map((one) => `${' '.repeat(22)}${one}`),
  ].join('\n');
}

type Proofs = Proving['proof'];

/** The proofs, for people: contradicted assumptions first. */
function proofText({ requests, proof, forecast, before, file }: Proving): string {
  const earlier = new Map(before?.proof.map((one) => [one.id, one.verdict]));
  const of = (verdict: Proofs[number]['verdict']) => proof.filter((one) => one.verdict === verdict);
  // An assumption that one of the two could not check has not changed.
  const isChanged = ({ id, verdict }: Proofs[number]) =>
    ![undefined, 'undecidable', verdict].includes(earlier.get(id)) && verdict !== 'undecidable';
  const changed = proof.filter(isChanged);
  const contradicted = of('contradicted');
  // Differences that the program handles are reported in full only the first time.
  const told = contradicted.filter(({ id, handled }) => handled && earlier.get(id) === 'contradicted');
  const against = contradicted.filter((one) => !told.includes(one));
  const texts = against.map(({ id, statement, evidence, handled, otherwise }) => {
    const then = handled ? `Handled: ${otherwise}` : 'The program cannot handle it.';
    return `${id}: ${statement}. Found otherwise: ${evidence}. ${then}`.replaceAll('`', '');
  });
  const set = contradicted.flatMap(({ id, setting, evidence }) =>
    setting === null ? [] : `${setting} (${id}: ${evidence})`,
  );
  const open = [...groupBy(of('undecidable'), ({ evidence }) => evidence)];
  const { minutes, rows, megabytes } = forecast;
  return sections([
    [
      `The API behaves differently since ${before?.provedAt.slice(0, 10)}`,
      list(changed.map(({ id, verdict }) => `${id}: ${earlier.get(id)}, now ${verdict}`)),
    ],
    [
      'Contradicted',
      list(told.length > 0 ? [...texts, `As before, and handled: ${ids(told)}`] : texts) || 'nothing',
    ],
    ['Undecidable here', list(open.map(([why, all]) => `${why}: ${ids(all)}`))],
    ['Confirmed', list([ids(of('confirmed'))])],
    ['What to set', list(set) || 'nothing'],
    [
      'The first pull takes about',
      `${count(forecast.requests)} requests (${duration(minutes * 60_000)}), ${count(rows)} rows, ${count(megabytes)} MB of disk`,
    ],
    [
      'This proof',
      pairs([
        ['requests', requests],
        ['file', file ?? 'none: there is no data directory'],
      ]),
    ],
  ]);
}

function ids(proofs: Proofs): string {
  return proofs.map(({ id }) => id).join(', ');
}

/** `signalhouse doctor`: checks of the settings, the key, the machine and the warehouse. */

/** One line of the doctor's result. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it; null where there is nothing to do. */
  readonly hint: string | null;
  /** The exit code when this check fails. */
  readonly exitCode: ExitCode;
}

function ok(name: string, text: string): Check {
  return { name, state: 'ok', text, hint: null, exitCode: ExitCode.done };
}

function warn(name: string, text: string, hint: string): Check {
  return { ...ok(name, text), state: 'warn', hint };
}

function fail(name: string, text: string, hint: string | null, exitCode: ExitCode = ExitCode.failed): Check {
  return { name, state: 'fail', text, hint, exitCode };
}

function failed(name: string, error: unknown, exitCode?: ExitCode): Check {
  const hint = error instanceof SignalhouseError ? (error.hint ?? null) : null;
  return fail(name, [messageOf(error), ...problemsOf(error)].join('; '), hint, exitCode);
}

/** The failure to fix first decides: the settings, then the key, then the lock, then everything else. */
const order: readonly ExitCode[] = [ExitCode.usage, ExitCode.refused, ExitCode.locked, ExitCode.failed];

/** The exit code of the failure to fix first; 0 when no check failed. */
export function exitCodeOf(checks: readonly Check[]): ExitCode {
  const failed = new Set(checks.filter(({ state }) => state === 'fail').map(({ exitCode }) => exitCode));
  return order.find((code) => failed.has(code)) ?? ExitCode.done;
}

/** What `doctor` prints without --prove. */
interface Examined {
  readonly exitCode: ExitCode;
  readonly checks: readonly Omit<Check, 'exitCode'>[];
}

/** Runs every check that is possible, whatever else is wrong. */
async function examine(sources: Sources): Promise<Examined> {
  const { checks, access } = settings(sources);
  const all = access === null ? checks : [...checks, ...(await checksOf(access))];
  return { exitCode: exitCodeOf(all), checks: all.map(({ exitCode: _, ...check }) => check) };
}

async function checksOf(access: Found): Promise<Check[]> {
  const { config, credentials } = access;
  const { lake, duckdb } = config;
  const published = await checkPublished(config);
  const service = credentials
    ? await checkService({ ...access, credentials })
    : { checks: [], identity: null };
  const warehouse = await checkWarehouse(access);
  const uses: ExtensionUse[] = lake.catalog === undefined ? [] : ['lake'];
  return [
    checkMemory(config),
    ...checkDataDir(config.dataDir),
    ...checkPermissions(config),
    ...published,
    ...service.checks,
    ...warehouse.checks,
    ...checkOwner(service.identity, warehouse.organization, config.dataDir),
    extensionsCheck(await inspectExtensions(duckdb.extensionDirectory), uses),
  ];
}

type Found = Setup & Partial<Access>;

/** The settings and their problems. Without an address and a key, the local checks still run. */
function settings(sources: Sources): { checks: Check[]; access: Found | null } {
  // The checks report everything; log lines would repeat it.
  const parts = { log: silentLog, programVersion: programVersion() };
  try {
    const { config, credentials } = loadConfigWithCredentials(sources);
    const access = { config, credentials, ...parts };
    const files = keyFile('key file', config.api.keyFile);
    return { checks: [ok('settings', 'complete and valid'), ...files], access };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const checks = error.problems.map((problem) =>
      fail('settings', problemText(problem), null, ExitCode.usage),
    );
    try {
      return { checks, access: { config: loadConfig(sources), ...parts } };
    } catch {
      return { checks, access: null };
    }
  }
}

/** Other users of this machine must not be able to read a key. */
function keyFile(name: string, path: string | undefined): Check[] {
  if (path === undefined || process.platform === 'win32') return [];
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  const octal = (mode & 0o777).toString(8);
  return [warn(name, `${path} can be read by other users (mode ${octal})`, `chmod 600 ${path}`)];
}

/**
 * Whether other users can read anything in the data directory but the published files. Who may read those must be able
 * to pass the directory, too.
 */
export function checkPermissions({ dataDir, publish }: Pick<Config, 'dataDir' | 'publish'>): Check[] {
  if (process.platform === 'win32' || !existsSync(dataDir)) return [];
  const mode = Number.parseInt(String(publish.mode), 8);
  const published = new Set(['signals.duckdb', ...publish.also.map(({ file }) => file)]);
  const passing = ((mode & 0o040) === 0 ? 0 : 0o050) | ((mode & 0o004) === 0 ? 0 : 0o005);
  const open = [
    ...(isOpen(dataDir, passing) ? ['.'] : []),
    ...readdirSync(dataDir, { withFileTypes: true, recursive: true })
      .filter((one) => one.isFile() || one.isDirectory())
      .map((one) => relative(dataDir, join(one.parentPath, one.name)))
      .filter((name) => isOpen(join(dataDir, name), published.has(name) ? mode : 0)),
  ];
  if (open.length === 0)
    return [ok('permissions', 'only this user can read the private files of the data directory')];
  const named = open.map((name) => (name === '.' ? 'the directory itself' : name));
  const again =
    (mode & 0o077) === 0
      ? ''
      : ` && chmod ${mode.toString(8)} ${[...published].map((name) => shellWord(join(dataDir, name))).join(' ')}`;
  return [
    warn(
      'permissions',
      `other users can read ${firstOf(named, 5)} in ${dataDir}`,
      `chmod -R go= ${shellWord(dataDir)}${again}${passing === 0 ? '' : `, and let the readers pass: chmod ${(0o700 | (passing & 0o011)).toString(8)} ${shellWord(dataDir)}`}`,
    ),
  ];
}

/** Whether the published files can be read, and whether a program opened one for writing. */
async function checkPublished(config: Config): Promise<Check[]> {
  const { dataDir, publish } = config;
  const { published, recovery } = filesOf(dataDir);
  const paths = [published, recovery, ...publish.also.map(({ file }) => join(dataDir, file))];
  const checks = checkLogs(dataDir);
  for (const path of paths.filter((one) => existsSync(one))) {
    try {
      (await openPublished(dataDir, readingLimitsOf(config), basename(path))).close();
    } catch (error) {
      checks.push(failed('published file', error));
    }
  }
  return checks;
}

/** Whether a program opened a published file for writing. */
function checkLogs(dataDir: string): Check[] {
  const logs = foreignLogs(dataDir).map((path) => basename(path));
  if (logs.length === 0) return [];
  return [
    warn(
      'published file',
      `${logs.join(', ')}: another program opened the published file for writing; readers may see its changes, or fail`,
      'Open it read-only there (docs/other-tools.md). The next publication removes the log: signalhouse sync, or signalhouse rebuild.',
    ),
  ];
}

/** Whether other users have more rights than these. A file that is gone by now is no problem. */
function isOpen(path: string, allowed: number): boolean {
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & 0o077 & ~allowed) !== 0;
}

/** Too little for a sync. */
const scarce = 100 * 1024 ** 2;
/** Little enough for a warning. */
const low = 1024 ** 3;

/** Whether the data directory is writable and has free space. */
function checkMemory(config: Config): Check {
  const problem = memoryProblem(config);
  if (problem) return failed('memory', problem, ExitCode.usage);
  return ok('memory', `enough; DuckDB may use ${limitsOf(config).memoryLimit}`);
}

function checkDataDir(dataDir: string): Check[] {
  const there = existsSync(dataDir);
  const nearest = existing(dataDir);
  try {
    if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is not a directory`);
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch (error) {
    const hint = 'Set SIGNALHOUSE_DATA_DIR to a directory that this user can write to.';
    return [fail('data directory', `${dataDir} is not writable: ${messageOf(error)}`, hint)];
  }
  return [
    ok('data directory', there ? `${dataDir} is writable` : `the first sync will create ${dataDir}`),
    checkSpace(nearest),
  ];
}

function checkSpace(path: string): Check {
  const { bavail, bsize } = statfsSync(path);
  const free = bavail * bsize;
  const text = `${bytes(free)} free`;
  const hint =
    'Every publish writes a whole new snapshot beside the old one: keep four times the size of signals.duckdb free.';
  if (free < scarce) return fail('disk', text, hint);
  return free < low ? warn('disk', text, hint) : ok('disk', text);
}

/** The path itself, or its nearest parent that exists. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

/** A larger difference makes the ages in the warehouse noticeably wrong. */
const maxSkewMs = 30_000;

/** Two requests show whether the key is accepted, whose it is, whether the clocks agree, and how lists are paged. */
async function checkService(access: Access): Promise<{ checks: Check[]; identity: Identity | null }> {
  try {
    return await Scope.run(async (scope) => {
      const api = connect(access, { waits: false });
      scope.defer(() => api.close());
      const identity = await whoAmI(api);
      const [last] = identity.attempts.slice(-1);
      const { value: first } = await pagesOf(api, 'topics', {}, { priority: Priority.essential }).next();
      const { id, name } = identity.organization;
      const checks = [
        ok('key', `accepted by ${access.credentials.baseUrl}`),
        ok('organization', name === null ? id : `${name} (${id})`),
        clock(last ? clockAheadMs(last) : null),
        paging(first ?? null),
      ];
      return { checks, identity };
    });
  } catch (error) {
    const isRefused = error instanceof RefusedError;
    const check = isRefused ? failed('key', error, ExitCode.refused) : failed('service', error);
    return { checks: [check], identity: null };
  }
}

function clock(aheadMs: number | null): Check {
  if (aheadMs === null) return ok('clock', 'not checked: the service sends no date');
  const text = `${duration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'} the service`;
  if (Math.abs(aheadMs) <= maxSkewMs) return ok('clock', `correct (${text})`);
  return warn(
    'clock',
    `is ${text}`,
    'Set the clock of this machine, for example with NTP: runs go by the time of the service, and everything else by this clock.',
  );
}

/** How the list of topics is paged, according to its first page. */
function paging(first: Page | null): Check {
  if (first === null || first.page === null) {
    return warn(
      'paging',
      'GET /topics does not return its page number',
      'See api.paging in config/default.yaml.',
    );
  }
  const size = first.limit === null ? 'an unknown number of items' : counted(first.limit, 'item');
  const note = first.limit === null || first.limit === usualPageSize ? '' : ` (${usualPageSize} requested)`;
  return ok('paging', `pages start at ${first.page} and hold ${size}${note}`);
}

/** Whether key and warehouse belong to the same organization; no check while one of the two is unknown. */
function checkOwner(identity: Identity | null, organization: Organization | null, dataDir: string): Check[] {
  if (!identity || !organization) return [];
  try {
    refuseAnother(organization, identity, dataDir);
    return [ok('owner', 'the warehouse belongs to the organization of the key')];
  } catch (error) {
    return [failed('owner', error, ExitCode.refused)];
  }
}

/** Whether the warehouse is free, may be written, opens with the tables of this program, and has unique keys. */
async function checkWarehouse({ config, log }: Setup): Promise<{
  checks: Check[];
  organization: Organization | null;
}> {
  const { dataDir } = config;
  const { worker, published } = filesOf(dataDir);
  if (!existsSync(worker))
    return { checks: [ok('warehouse', 'none yet; the first sync will create it')], organization: null };
  try {
    refuseUnwritable(dataDir, undefined, [spendingLogPath(dataDir), journalPath(dataDir)]);
    return await Scope.run(async (scope) => {
      const warehouse = await openWarehouse({ ...limitsOf(config), log, access: 'read' });
      scope.defer(() => warehouse.close());
      const size = statSync(published, { throwIfNoEntry: false })?.size;
      const snapshot = size === undefined ? 'nothing published yet' : `published ${bytes(size)}`;
      const checks = [
        ok('lock', 'no other process holds the warehouse'),
        ok(
          'warehouse',
          `opens with the tables of this version (${bytes(statSync(worker).size)}; ${snapshot})`,
        ),
        keys(await warehouse.checkKeys()),
      ];
      return { checks, organization: await warehouse.organization() };
    });
  } catch (error) {
    const isLocked = error instanceof LockedError;
    const check = isLocked ? failed('lock', error, ExitCode.locked) : failed('warehouse', error);
    return { checks: [check], organization: null };
  }
}

type ExtensionStates = Awaited<ReturnType<typeof inspectExtensions>>;

/**
 * Which of DuckDB's extensions are on this machine, and whether they can be loaded. A missing one is a problem only for the
 * `uses` that the settings switch on.
 */
export function extensionsCheck(found: ExtensionStates, uses: readonly ExtensionUse[]): Check {
  const name = 'extensions';
  const states = Object.entries(found);
  const inState = (wanted: string) => states.flatMap(([name, { state }]) => (state === wanted ? name : []));
  const [present, missing] = [inState('loaded'), inState('missing')];
  const problems = states.flatMap(([name, one]) =>
    one.state === 'unusable' ? `${name}: ${one.problem}` : [],
  );
  const isBlocking = uses.some((use) => extensionsOf[use].some((one) => found[one].state === 'unusable'));
  const here = present.length === 0 ? 'none of DuckDB on this machine' : `present: ${present.join(', ')}`;
  const absent = missing.length === 0 || present.length === 0 ? [] : [`not present: ${missing.join(', ')}`];
  const wanted = uses.flatMap((use) => {
    const lacking = extensionsOf[use].filter((one) => !present.includes(one));
    return lacking.length > 0 ? `${use} needs ${lacking.join(', ')}` : [];
  });
  const text = [here, ...absent, ...problems, ...wanted].join('; ');
  const how = howToGet('*');
  if (isBlocking) return fail(name, text, how, ExitCode.usage);
  if (problems.length > 0) return warn(name, text, how);
  if (uses.length === 0) return ok(name, `${text} (only a lake needs them)`);
  if (wanted.length === 0) return ok(name, text);
  return warn(name, text, `DuckDB downloads them when extensions.duckdb.org can be reached. ${how}`);
}

function keys(keyFaults: Awaited<ReturnType<Warehouse['checkKeys']>>): Check {
  if (keyFaults.length === 0) return ok('keys', 'unique in every table');
  const faults = keyFaults.map(
    ({ table, repeated, nulls }) =>
      `${table}: ${counted(repeated, 'duplicate row')}, ${counted(nulls, 'row')} without a key`,
  );
  return fail('keys', faults.join('; '), 'Run signalhouse rebuild, and report this as a bug.');
}

/** What `doctor --prove` found. */
export type Proving = Awaited<ReturnType<typeof prove>>;

interface Stored {
  readonly provedAt: string;
  readonly programVersion: string;
  readonly proof: readonly Pick<Proof, 'id' | 'verdict' | 'evidence'>[];
}

/**
 * Asks the API what it can, decides the assumptions, and replaces proof.json, the `file`, which is null without a data
 * directory. `before` is the proof before this one: null for the first. Throws what `observe` throws.
 */
async function prove(access: Access) {
  const { config, programVersion } = access;
  return Scope.run(async (scope) => {
    // Each request is repeated once at the most.
    const api = connect(access, { waits: false, retry: { attempts: 2, rateLimitedMs: 1 } });
    scope.defer(() => api.close());
    const observations = await observe(api);
    const proof = decide(observations);
    const file = existsSync(config.dataDir) ? join(config.dataDir, 'proof.json') : null;
    const before = file === null ? null : read(file);
    const verdicts = proof.map(({ id, verdict, evidence }) => ({ id, verdict, evidence }));
    const stored: Stored = { provedAt: new Date().toISOString(), programVersion, proof: verdicts };
    if (file !== null) writeAtomicallySync(file, `${JSON.stringify(stored, null, 2)}\n`);
    const expected = forecast(observations, config.sync.personGroups);
    return { requests: observations.requests, proof, forecast: expected, before, file };
  });
}

/** A file that is missing or damaged is no proof to compare with. */
function read(path: string): Stored | null {
  try {
    const stored = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(stored?.proof) && typeof stored.provedAt === 'string' ? stored : null;
  } catch {
    return null;
  }
}
