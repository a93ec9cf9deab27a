import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { writeAtomicallySync } from '../base/atomic-file.js';
import { systemClock } from '../base/clock.js';
import { SignalhouseError, UsageError } from '../base/errors.js';
import { isObject, jsonOf } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/load.js';
import { lakePlace } from '../lake/settings.js';
import type { Warehouse } from '../load/warehouse.js';
import type { Found } from '../privacy/forget.js';
import type { Forgotten } from '../privacy/forgotten.js';
import { endedChange, withoutStrings } from '../privacy/other-rows.js';
import type { Step } from '../privacy/records.js';
import { stripJson } from '../privacy/strip.js';
import { ChangeJournal, journalPath } from '../push/queue.js';
import { textOfBytes } from '../sheet/read.js';
import { Zip } from '../sheet/zip.js';
import { filesOf, movedAsidePrefix } from '../store/engine.js';
import { foreignLogs } from '../store/published-list.js';
import type { Setup } from './setup.js';

/** The part of forgetting that is outside of the warehouse: the files of the data directory, and what follows. */

/**
 * Completes requests to forget, of this process or of one that was killed: the live file without free blocks, the published
 * files, and the lake with `forgetInLake`. A lake that cannot be reached stays to be done.
 */
export async function finishForgetting(
  warehouse: Warehouse,
  setup: Pick<Setup, 'config' | 'clock' | 'log'>,
  forgetInLake?: () => Promise<void>,
): Promise<void> {
  const { config, clock = systemClock, log } = setup;
  await warehouse.finishRequests((found) => cleanFiles(config, found, log, { dryRun: false }));
  const waiting = await warehouse.pendingSteps();
  const hasLake = lakePlace(config.lake) !== null;
  const complete = (step: Step) => warehouse.completeStep(step, new Date(clock.now()));
  // Before the snapshot, which shows the pending steps.
  if (!hasLake && waiting.includes('lake')) await complete('lake');
  for (const step of waiting.filter((one) => hasLake || one !== 'lake')) {
    if (step === 'compact') await warehouse.compactNow();
    if (step === 'publish') await warehouse.publish();
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

/** The folders of the data directory whose files are deleted where they have something of it. */
const searched = ['reports', 'imports', join('inbox', 'done'), join('inbox', 'rejected')];

/**
 * Removes forgotten people, companies and conversations from the files of the data directory. Lines of the journals are
 * rewritten. Reports, uploads and sheets that name them are deleted, and so are a folder of that name in the inbox and logs that
 * other programs left beside published files. Returns the names of these files, relative to the directory.
 */
export async function cleanFiles(
  folder: { readonly dataDir: string },
  found: Pick<Found, 'forgotten' | 'written'>,
  log: Log,
  { dryRun }: { readonly dryRun: boolean },
): Promise<string[]> {
  const { dataDir } = folder;
  const { forgotten } = found;
  const names: string[] = [];
  const changes = new ChangeJournal(folder, log).rewrite((line) => changeLine(forgotten, line), { dryRun });
  if (changes > 0) names.push(basename(journalPath(dataDir)));
  for (const name of namesIn(dataDir).filter((one) => one.endsWith('.json'))) {
    const path = join(dataDir, name);
    const text = readFileSync(path, 'utf8');
    const stripped = stripJson(forgotten, text);
    if (stripped === text) continue;
    names.push(name);
    if (!dryRun) writeAtomicallySync(path, stripped, { mode: statSync(path).mode & 0o777 });
  }
  // The whole file that it belongs to is published again.
  for (const path of foreignLogs(dataDir)) {
    names.push(basename(path));
    if (!dryRun) rmSync(path, { force: true });
  }
  for (const name of foldersIn(join(dataDir, 'inbox')).filter((one) => isIn(found, one))) {
    names.push(join('inbox', name));
    if (!dryRun) rmSync(join(dataDir, 'inbox', name), { recursive: true, force: true });
  }
  for (const path of searched.flatMap((name) => filesUnder(join(dataDir, name)))) {
    // It may have gone with the others of its import.
    if (!existsSync(path) || !(await holds(path, found))) continue;
    names.push(relative(dataDir, path));
    if (dryRun) continue;
    // The preview of an import is three files: the record, the plan, and the sheet.
    const id = path.replace(/\.(json|plan|file)$/, '');
    for (const one of [path, `${id}.json`, `${id}.plan`, `${id}.file`]) rmSync(one, { force: true });
  }
  return [...new Set(names)].sort();
}

/** A line of the journal of changes without it; values of a company that is being forgotten are null. */
function changeLine(forgotten: Forgotten, line: string): string {
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

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? one.name : []));
}

/** The files in a folder and in the folders below it; none where it does not exist. */
export function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((one) =>
    one.isFile() ? join(one.parentPath, one.name) : [],
  );
}

/** The kinds of files that people export, into the data directory as well. */
const exported = ['.duckdb', '.parquet', '.csv', '.tsv', '.xlsx', '.ods', '.html', '.gz', '.zip'];

/** Where copies may be that the program cannot or must not change, one sentence each. */
export function placesNotReached({ dataDir, publish }: Config): string[] {
  const ours = Object.values(filesOf(dataDir)).map((path) => basename(path));
  const written = [...ours, ...publish.also.map(({ file }) => file)];
  const foreign = namesIn(dataDir).filter(
    (name) =>
      !written.includes(name) &&
      (name.includes('.broken-') || exported.includes(extname(name).toLowerCase())),
  );
  const aside = foldersIn(dataDir).filter((name) => name.startsWith(movedAsidePrefix));
  return [
    'The API itself: delete the person there as well.',
    'What others write about the person from now on, or what the API sends again of it: only ids and e-mail addresses are recognized, not names.',
    'Copies of signals.duckdb, and readers that still have the old one open.',
    'Backups of the data directory; restoring one elsewhere needs the newest forgotten.journal.',
    'Files that were exported: signalhouse sql "FROM audit" lists them.',
    'Spreadsheets that people keep, and the history of the prompt of signalhouse sql in their home directories.',
    'In the data directory: sheets that wait in inbox/, attributes/ and views/.',
    ...foreign.map((name) => `${name} in the data directory: not a file of the worker. Delete it.`),
    ...aside.map((name) => `${name} in the data directory: files that a restore moved aside. Delete it.`),
  ];
}

/** The first bytes of files that are compressed: gzip, Zstandard, bzip2, xz, 7-Zip, PDF, old Office files. */
const unsearchable = ['1f8b', '28b52ffd', '425a68', 'fd377a58', '377abcaf', '25504446', 'd0cf11e0'];

type Search = Pick<Found, 'forgotten' | 'written'>;

/** Whether a file, or its name, has any of it. A file that cannot be searched, such as Parquet or an archive, may. */
async function holds(path: string, search: Search): Promise<boolean> {
  if (isIn(search, basename(path))) return true;
  const bytes = readFileSync(path);
  const start = bytes.subarray(0, 4).toString('hex');
  if (unsearchable.some((one) => start.startsWith(one))) return true;
  if (bytes.subarray(0, 2).toString('latin1') === 'PK') return workbookHolds(path, bytes, search);
  if (/\.(draft|told)$/.test(path) && namesForgotten(search.forgotten, bytes.toString())) return true;
  const hasMark = ['fffe', 'feff'].some((one) => start.startsWith(one));
  return (bytes.includes(0) && !hasMark) || isIn(search, textOfBytes(bytes).text);
}

/** Whether a draft or a tick is about a person who is being forgotten: these have ids and no names. */
function namesForgotten(forgotten: Forgotten, json: string): boolean {
  const texts = [...json.matchAll(/"([^"\\]+)"/g)].map(([, text]) => text);
  return texts.some((one) => forgotten.has('person', one) || forgotten.has('company', one));
}

async function workbookHolds(path: string, bytes: Buffer, search: Search): Promise<boolean> {
  try {
    const zip = await Zip.open(bytes, basename(path));
    for (const part of zip.paths()) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of zip.chunks(part)) chunks.push(chunk);
      if (isIn(search, `${part}\n${textOfBytes(Buffer.concat(chunks)).text}`)) return true;
    }
    return false;
  } catch (error) {
    // An archive that is damaged or has a password.
    if (error instanceof UsageError) return true;
    throw error;
  }
}

/** Lines that are shorter may be anyone's, and a page shows no more than the beginning of a long one. */
const [shortestLine, shownOfLine] = [20, 40];

/** Whether a text has names, addresses or lines of it, as a reader of HTML or XML, or of JSON, sees the text. */
function isIn({ forgotten, written }: Search, text: string): boolean {
  const lines = written
    .flatMap((one) => one.split('\n'))
    .map((one) => one.trim())
    .filter((one) => one.length >= shortestLine)
    .map((one) => one.slice(0, shownOfLine));
  return [withoutEntities(text), withoutEscapes(text)].some(
    (one) => forgotten.redact(one) !== one || lines.some((line) => one.includes(line)),
  );
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (found, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? found;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : found;
  });
}

function withoutEscapes(json: string): string {
  return json.replace(/\\(?:u([0-9a-fA-F]{4})|(["\\/])|[bfnrt])/g, (_, code: string | undefined, plain) =>
    code === undefined ? (plain ?? ' ') : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
