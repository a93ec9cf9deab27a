import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { writeAtomicallySync } from '../base/atomic-file.js';
import { systemClock } from '../base/clock.js';
import { type DataDir, type EncryptionKey, fromStored } from '../base/encryption.js';
import { SignalhouseError, UsageError } from '../base/errors.js';
import { isObject, jsonOf } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/load.js';
import { lakePlace } from '../lake/settings.js';
import { ChangeJournal, journalPath } from '../push/queue.js';
import { textOfBytes } from '../sheet/read.js';
import { Zip } from '../sheet/zip.js';
import { endedChange, stripPath, withoutStrings } from '../warehouse/forget/apply.js';
import { type Fingerprints, unescaped } from '../warehouse/forget/fingerprints.js';
import type { Step } from '../warehouse/forget/records.js';
import { stripJson } from '../warehouse/forget/strip.js';
import { foreignLogs } from '../warehouse/publish.js';
import { filesOf } from '../warehouse/store/engine.js';
import { foldersIn } from '../warehouse/store/private-folder.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { attributeFiles } from './attributes.js';
import type { Setup } from './setup.js';

/** What has to follow a request to forget once the tables are done: the files of the data directory. */

/** How a folder begins with what was in a data directory before a restore. */
export const movedAsidePrefix = 'before-restore-';

/**
 * Does what has to follow a request to forget, of this process or of one that was killed: files, the live file without free
 * blocks, the published files, and the lake with `forgetInLake`. A lake that cannot be reached stays to be done.
 */
export async function finishForgetting(
  warehouse: Warehouse,
  setup: Pick<Setup, 'config' | 'clock' | 'log'>,
  forgetInLake?: () => Promise<void>,
): Promise<void> {
  const { config, clock = systemClock, log } = setup;
  const waiting = await warehouse.pendingSteps();
  const hasLake = lakePlace(config.lake) !== null;
  const complete = (step: Step) => warehouse.completeStep(step, new Date(clock.now()));
  // Before the snapshot, which shows what is still to do.
  if (!hasLake && waiting.includes('lake')) await complete('lake');
  for (const step of waiting.filter((one) => hasLake || one !== 'lake')) {
    if (step === 'files') await cleanFiles(config, warehouse.forgotten, log, { dryRun: false });
    if (step === 'compact') await warehouse.compactNow();
    if (step === 'publish') await warehouse.publish({ keepReplaced: false });
    if (step === 'lake' && !(await isDone(forgetInLake, log))) continue;
    await complete(step);
  }
}

/** Whether the work was there and succeeded; a failure of the lake is logged. */
async function isDone(work: (() => Promise<void>) | undefined, log: Log): Promise<boolean> {
  try {
    await work?.();
    return work !== undefined;
  } catch (error) {
    if (!(error instanceof SignalhouseError)) throw error;
    log.warn({ err: error }, 'the lake still has what was forgotten; signalhouse lake publish tries again');
    return false;
  }
}

/**
 * Removes what was forgotten from the files of the data directory: lines of the journals are rewritten, and reports and sheets
 * that hold any of it are deleted, as are kept snapshots, as are logs that other programs left beside published files. Returns their names, relative
 * to the directory.
 */
export async function cleanFiles(
  folder: DataDir,
  forgotten: Fingerprints,
  log: Log,
  { dryRun }: { readonly dryRun: boolean },
): Promise<string[]> {
  const { dataDir, encryptionKey } = folder;
  const found: string[] = [];
  const changes = new ChangeJournal(folder, log).rewrite((line) => changeLine(forgotten, line), { dryRun });
  if (changes > 0) found.push(basename(journalPath(dataDir)));
  for (const name of namesIn(dataDir).filter((one) => one.endsWith('.json'))) {
    const path = join(dataDir, name);
    const text = readFileSync(path, 'utf8');
    const stripped = stripJson(forgotten, text);
    if (stripped === text) continue;
    found.push(name);
    if (!dryRun) writeAtomicallySync(path, stripped, { mode: statSync(path).mode & 0o777 });
  }
  // The whole file that it belongs to is published again.
  for (const path of foreignLogs(dataDir)) {
    found.push(basename(path));
    if (!dryRun) rmSync(path, { force: true });
  }
  // A database cannot be searched like a text: every kept snapshot may have it.
  const kept = ['reports', 'imports', 'snapshots', join('inbox', 'done'), join('inbox', 'rejected')];
  for (const name of kept) {
    for (const path of filesUnder(join(dataDir, name))) {
      // It may have gone with the other one of its pair.
      if (!existsSync(path) || !(await holds(path, encryptionKey, forgotten))) continue;
      found.push(relative(dataDir, path));
      if (dryRun) continue;
      // The preview of an import is three files: what it is, what it shows, and the sheet.
      const id = path.replace(/\.(json|plan|file)$/, '');
      for (const one of [path, `${id}.json`, `${id}.plan`, `${id}.file`]) rmSync(one, { force: true });
    }
  }
  return [...new Set(found)].sort();
}

/** A line of the journal of changes without what was forgotten; values of a company or person that was forgotten are null. */
function changeLine(forgotten: Fingerprints, line: string): string {
  const change = jsonOf(line);
  if (!isObject(change)) return stripJson(forgotten, line);
  const left: Record<string, unknown> = { ...change };
  const type = change.entityType;
  const isOfForgotten = (type === 'company' || type === 'person') && forgotten.has(type, change.entityId);
  if (isOfForgotten) {
    left.body = null;
    for (const name of ['wanted', 'base', 'remoteBefore', 'remoteAfter'])
      left[name] = withoutStrings(left[name]);
  }
  const wanted = JSON.stringify(change.wanted ?? null);
  if (!isOfForgotten && stripJson(forgotten, wanted) === wanted) return stripJson(forgotten, line);
  Object.assign(left, endedChange(String(change.status)));
  return stripJson(forgotten, JSON.stringify(left));
}

function namesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isFile() ? one.name : []));
}

/** The files in a folder and in the folders below it; none where it does not exist. */
export function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((one) =>
    one.isFile() ? join(one.parentPath, one.name) : [],
  );
}

/** The kinds of files that people export, into the data directory as well. */
const exported = ['.parquet', '.csv', '.tsv', '.xlsx', '.ods', '.html', '.gz', '.zip'];

/** Where copies may be that the program cannot or must not change, one sentence each. */
export async function placesNotReached(config: Config, forgotten: Fingerprints): Promise<string[]> {
  const { dataDir, publish, encryptionKey } = config;
  const ours = Object.values(filesOf(dataDir)).map((path) => basename(path));
  const written = [...ours, ...publish.also.map(({ file }) => file)];
  const others = namesIn(dataDir).filter((name) => name.endsWith('.duckdb') && !written.includes(name));
  const aside = namesIn(dataDir).filter((name) => name.includes('.broken-'));
  const waiting = filesUnder(join(dataDir, 'inbox'))
    .map((path) => relative(join(dataDir, 'inbox'), path))
    .filter((name) => !/^(done|rejected)[/\\]/.test(name));
  const holding = async (names: readonly string[]) => {
    const found: string[] = [];
    for (const name of names)
      if (await holds(join(dataDir, name), encryptionKey, forgotten)) found.push(name);
    return found;
  };
  const isOther = (name: string) =>
    exported.includes(extname(name).toLowerCase()) && ![...others, ...aside].includes(name);
  const foreign = await holding(namesIn(dataDir).filter(isOther));
  const attributes = await holding(attributeFiles.filter((name) => existsSync(join(dataDir, name))));
  const views = namesIn(join(dataDir, 'views')).filter((name) => {
    const text = readFileSync(join(dataDir, 'views', name), 'utf8');
    return forgotten.redact(text) !== text;
  });
  return [
    'Copies of signals.duckdb that somebody made, and readers that still have the old one open.',
    'Backups and snapshots of the data directory; after restoring one, forgotten.journal must be the newest.',
    'Files that were exported: signalhouse sql "FROM audit" lists them.',
    'Spreadsheets that people keep, and the history of the prompt of signalhouse sql in their home directories.',
    'The API itself: delete the person there as well.',
    ...aside.map((name) => `${name} in the data directory: a damaged file that was moved aside. Delete it.`),
    ...foreign.map((name) => `${name} in the data directory: not a file of the worker. Delete it.`),
    ...others.map((name) => `${name} in the data directory: a database that the worker does not write.`),
    ...(existsSync(dataDir) ? readdirSync(dataDir) : [])
      .filter((name) => name.startsWith(movedAsidePrefix))
      .map((name) => `${name} in the data directory: what a restore moved aside. Delete it.`),
    ...foldersIn(dataDir).map(
      (name) =>
        `${name} in the data directory: what a query that is still running wrote there. It goes when that ends.`,
    ),
    ...waiting.map((name) => `inbox/${name}: a sheet that has not been imported yet.`),
    ...attributes.map((name) => `${name}: publications leave out what was forgotten. Delete it in the file.`),
    ...views.map((name) => `views/${name}: a query that names what was forgotten.`),
  ];
}

/** Files of text, whatever encoding they have. Any other file with bytes that are no text cannot be searched. */
const textFiles: ReadonlySet<string> = new Set([
  ...['.json', '.ndjson', '.jsonl', '.csv', '.tsv', '.txt', '.html', '.htm', '.svg', '.md', '.xml', '.log'],
  // The preview of an import, and its sheet.
  ...['.plan', '.file'],
]);

/** The first bytes of files that are compressed or encrypted: gzip, Zstandard, bzip2, xz, 7-Zip, PDF, old Office files. */
const unsearchable = ['1f8b', '28b52ffd', '425a68', 'fd377a58', '377abcaf', '25504446', 'd0cf11e0'];

/** Whether a file, or its name, holds any of it. What cannot be searched, such as Parquet or an archive, may. */
async function holds(
  path: string,
  key: EncryptionKey | undefined,
  forgotten: Fingerprints,
): Promise<boolean> {
  if (isIn(forgotten, basename(path))) return true;
  const extension = extname(path).toLowerCase();
  if (['.parquet', '.duckdb'].includes(extension)) return true;
  const bytes = Buffer.from(fromStored(readFileSync(path), key, path));
  const start = bytes.subarray(0, 4).toString('hex');
  if (unsearchable.some((one) => start.startsWith(one))) return true;
  if (bytes.subarray(0, 2).toString('latin1') === 'PK') return workbookHolds(path, bytes, forgotten);
  const isText = textFiles.has(extension) || !bytes.includes(0) || hasByteOrderMark(bytes);
  return !isText || textsOf(bytes).some((text) => isIn(forgotten, text));
}

async function workbookHolds(path: string, bytes: Buffer, forgotten: Fingerprints): Promise<boolean> {
  try {
    const zip = await Zip.open(bytes, basename(path));
    for (const part of zip.paths()) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of zip.chunks(part)) chunks.push(chunk);
      const texts = [part, ...textsOf(Buffer.concat(chunks))];
      if (texts.some((text) => isIn(forgotten, text))) return true;
    }
    return false;
  } catch (error) {
    // An archive that is damaged or has a password.
    if (error instanceof UsageError) return true;
    throw error;
  }
}

/** The bytes as text; where they have zeros and no mark says which encoding it is, in each that they may have. */
function textsOf(bytes: Buffer): string[] {
  if (hasByteOrderMark(bytes) || !bytes.includes(0)) return [textOfBytes(bytes).text];
  return ['utf-16le', 'utf-16be', 'latin1'].map((name) => new TextDecoder(name).decode(bytes));
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return ['fffe', 'feff'].includes(bytes.subarray(0, 2).toString('hex'));
}

function isIn(forgotten: Fingerprints, text: string): boolean {
  return formsOf(text).some(
    (one) => forgotten.redact(one, { isFile: true }) !== one || stripPath(forgotten, one) !== one,
  );
}

/** A text as it is, and as a reader of HTML or XML, of JSON and of a link sees it. */
function formsOf(text: string): string[] {
  const plain = withoutEntities(text);
  const forms = [plain];
  // A name of which a part is bold, and one in two cells.
  if (plain.includes('<')) forms.push(plain.replace(/<[^<>]*>/g, ''), plain.replace(/<[^<>]*>/g, ' '));
  if (text.includes('\\')) forms.push(unescaped(text));
  const bytesOf = (found: string) => Buffer.from(found.replaceAll('%', ''), 'hex').toString('utf8');
  if (text.includes('%')) forms.push(plain.replace(/(?:%[0-9a-fA-F]{2})+/g, bytesOf));
  return forms;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Text of HTML or XML without its entities; tags stay. */
function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (found, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? found;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : found;
  });
}
