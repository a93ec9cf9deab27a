import { readFile, stat } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { type Iso, iso } from '../base/clock.js';
import { type Problem, UsageError } from '../base/errors.js';
import { oneAtATime } from '../base/one-at-a-time.js';
import { bytes } from '../base/units.js';
import { recordExport, recordRead, refuseUnrecorded } from '../privacy/audit.js';
import { snapshotVersion, withSnapshot } from '../read/snapshot.js';
import type { Digest } from '../report/digest.js';
import { reportPage } from '../report/page.js';
import { readReport } from '../report/read.js';
import { writeSheetFile } from '../sheet/write.js';
import { refuseOfTheWorker } from '../store/engine.js';
import { command, text, toggle } from './command.js';
import { type Setup, setUp } from './setup.js';

export const report = command({
  examples: [
    ['signalhouse report --out report.html', 'Open it in a browser'],
    ['signalhouse report --since 2026-11-01', 'What changed this month'],
    ['signalhouse report --digest --out digest.txt', 'News since the last digest'],
  ],
  input: {
    out: text
      .optional()
      .describe('File to write (default report.html or digest.html); .txt for a digest as text'),
    digest: toggle.describe('One short page instead: what is new, grew, waits, was decided and is at risk'),
    since: text
      .optional()
      .describe(
        'What changed since this date (default: 7 days before the end of the data; for a digest, the end of the one that is replaced)',
      ),
    force: toggle.describe('Replace a file that is not a report or digest'),
  },
  async run(input, context) {
    return writeReport(await setUp(context), input);
  },
  show: ({ path, bytes: size, asOf }) =>
    `${path}: ${bytes(size)}${asOf === null ? '; there are no data yet' : ''}`,
});

interface Made {
  /** Up to when there are data; null before the first sync brought any. */
  readonly asOf: Iso | null;
  /** From when on changes are shown. */
  readonly since: Iso | null;
}

/**
 * Writes the report or digest to a file, which appears whole or not at all. A report that is there already is replaced, any other
 * file only with `force`. Without `since`, a digest begins where the one ends that it replaces, or seven days before the end of the
 * data. Raises UsageError for a place that cannot be written to, and StorageError when nothing was published yet.
 */
export async function writeReport(
  setup: Setup,
  given: {
    readonly out?: string | undefined;
    readonly digest: boolean;
    readonly since?: string | undefined;
    readonly force: boolean;
  },
): Promise<Made & { readonly path: string; readonly bytes: number }> {
  const { digest: isDigest, force } = given;
  const from = given.since === undefined ? null : momentFrom(given.since, '--since');
  const name = isDigest ? 'digest' : 'report';
  const path = resolve(given.out ?? `${name}.html`);
  refuseUnrecorded(setup);
  refuseOfTheWorker(setup.config.dataDir, path);
  await refuseOther(path, force);
  const made = isDigest
    ? await makeDigest(setup, { since: from ?? (await nextAfterDigest(path)) })
    : await makeReport(setup, from);
  const { asOf, since } = made;
  const content = 'text' in made && path.endsWith('.txt') ? made.text : made.html;
  await writeSheetFile(path, { overwrite: true }, (file) => file.writeFile(content));
  const format = isDigest ? extname(path).slice(1) : 'html';
  recordExport(setup, { tables: [name], format, rows: 0, file: path });
  return { path, bytes: Buffer.byteLength(content), asOf, since };
}

/** The digest of a published file: signals.duckdb, or the one named, which shows less. */
export async function makeDigest(
  setup: Setup,
  { since, file }: { readonly since: Iso | null; readonly file?: string | undefined },
): Promise<Made & Digest> {
  const { digestOf } = await import('../report/digest.js');
  const data = await withSnapshot(setup, (snapshot) => readReport(snapshot, since), { file });
  const { serve, organization } = setup.config;
  const site =
    serve.url && `${serve.url.replace(/\/+$/, '')}${organization === null ? '' : `/o/${organization}`}`;
  return { ...digestOf(data, setup.programVersion, site), asOf: data.header.as_of, since: data.header.since };
}

/**
 * From when on the digest after this one counts: what happened at its end is in it, to the millisecond that it names. Null
 * where there is none.
 */
export async function nextAfterDigest(path: string): Promise<Iso | null> {
  const [, end] = /Data up to (\d{4}-\d\d-\d\dT[\d:.]+Z)\./.exec(await contentOf(path)) ?? [];
  return end === undefined ? null : iso(Date.parse(end) + 1);
}

/** What tells reports and digests from other files. */
const ours =
  /<meta name="generator" content="Signalhouse (report|digest)">|: digest of [\s\S]*\nData up to .*\.\n$/;

async function refuseOther(path: string, force: boolean): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null) {
    const folder = await stat(dirname(path)).catch(() => null);
    if (!folder?.isDirectory()) throw notWritten('is in a folder that does not exist', path);
    return;
  }
  if (found.isDirectory()) throw notWritten('is a directory; name a file in it, such as report.html', path);
  if (force || ours.test(await contentOf(path))) return;
  throw notWritten('exists and is not a report; name another file, or pass --force to replace it', path);
}

/** The text of a file that may be a report; '' where there is none, or it is larger than any. */
async function contentOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile() || found.size > 20_000_000) return '';
  return readFile(path, 'utf8').catch(() => '');
}

function notWritten(problem: string, path: string): UsageError {
  const found = { setting: '--out', problem: `${path} ${problem}` };
  return new UsageError('The report cannot be written.', [found]);
}

type Report = Awaited<ReturnType<typeof makeReport>>;

async function makeReport(setup: Setup, since: Iso | null, site: Parameters<typeof reportPage>[2] = null) {
  const data = await withSnapshot(setup, (snapshot) => readReport(snapshot, since));
  const page = reportPage(data, setup.programVersion, site);
  return { ...page, asOf: data.header.as_of, since: data.header.since };
}

/**
 * A moment as people write it: a date (the start of that day in UTC), or a date and time with its zone. Throws a
 * UsageError that names the setting.
 */
function momentFrom(text: string, setting: string): Iso {
  const [, date, time] =
    /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text.trim()) ??
    [];
  const day = Date.parse(`${date}T00:00:00Z`);
  const at = Date.parse(`${date}${time ?? 'T00:00:00Z'}`);
  // The 30th of February is a date to JavaScript.
  if (date !== undefined && !Number.isNaN(at) && iso(day).startsWith(date)) return iso(at);
  const problem: Problem = {
    setting,
    problem: `${JSON.stringify(text)} is not a date; write 2026-11-20, or 2026-11-20T08:00Z`,
  };
  throw new UsageError('The date cannot be read.', [problem]);
}

/** How many reports `serve` remembers: the page without a date, and some with one. */
const remembered = 8;

/**
 * The report for a web server: made once for each snapshot and date, and one at a time, because each takes the memory
 * and the threads of a query. Topics and companies are links to their pages. Resolves to null when nothing was published yet. Rejects with UsageError for a bad date.
 */
export function reportSource(
  setup: Setup,
  site: { readonly base: string },
): (since: string | null, reader: string | null) => Promise<Report | null> {
  let version = '';
  let made = new Map<string, Report>();
  const inTurn = oneAtATime();

  async function report(since: Iso | null): Promise<Report | null> {
    const now = snapshotVersion(setup.config.dataDir);
    if (now === null) return null;
    if (now !== version) made = new Map();
    version = now;
    const key = since ?? '';
    const known = made.get(key);
    if (known !== undefined) return known;
    const fresh = await makeReport(setup, since, site);
    if (made.size >= remembered) made.delete(made.keys().next().value ?? '');
    made.set(key, fresh);
    return fresh;
  }

  return async (since, reader) => {
    const from = since === null ? null : momentFrom(since, 'since');
    const made = await inTurn(() => report(from));
    if (made) recordRead(setup, { by: 'report', rows: null }, reader ?? 'person without a login');
    return made;
  };
}
