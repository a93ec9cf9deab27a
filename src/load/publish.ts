import { chmodSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { moveFile, syncFile } from '../base/atomic-file.js';
import type { Clock } from '../base/clock.js';
import type { Forgotten } from '../privacy/forgotten.js';
import { type FileFacts, listFiles, writeMasked } from '../privacy/masked-file.js';
import { type Policy, type PrivacySettings, policyOf } from '../privacy/policy.js';
import { copyDatabase, databaseInUse, inDatabase } from '../store/copy.js';
import { attaching, filesOf, logOf, logsOf, makePrivate, unfinished } from '../store/engine.js';
import { storageFault } from '../store/faults.js';
import { lastPublication, makeOnce, notePublication } from '../store/made.js';
import { foreignLogs, listPublished, publishedBefore } from '../store/published-list.js';
import type { Session } from '../store/session.js';
import { readAttributes } from './attribute-file.js';
import {
  attributesSchema,
  dropMatched,
  matchAttributes,
  type PublishedAttributes,
  writeAttributes,
} from './attributes.js';
import type { Models } from './models.js';
import { refreshDerived } from './rebuild.js';
import { stampOf } from './stamp.js';
import { createUserViews, type TriedView, tryUserViews, type UserView } from './user-views.js';
import { type Analysis, createViews, makeViews, schemaOf } from './views.js';

export interface Published {
  readonly path: string;
  readonly bytes: number;
  readonly ms: number;
  readonly tables: number;
  /** The outcome of the files of views/ in the data directory. */
  readonly userViews: readonly UserView[];
  /** Those of them that are left out, and were not the time before. */
  readonly newlyLeftOut: readonly string[];
  /** The outcome of the file of attributes/ in the data directory; null where there is none. */
  readonly attributes: PublishedAttributes | null;
  /** Logs that other programs had left beside published files, which were removed. */
  readonly removedLogs: readonly string[];
}

/** What is published in addition to signals.duckdb, and what each file leaves out and masks. */
interface Publications {
  readonly main: PrivacySettings;
  readonly also: readonly (PrivacySettings & { readonly file: string })[];
}

/** signals.duckdb with everything, and no other file. */
const onlyFullFile: Publications = { main: { profile: 'none', exclude: [], mask: {} }, also: [] };

/** How a warehouse is published. */
export interface PublishSettings {
  /** The permissions of the published file. */
  readonly publishMode: number;
  readonly publications: Publications;
  /** What some views show of the settings; their defaults when undefined. */
  readonly analysis: Analysis | undefined;
}

export const publishDefaults: PublishSettings = {
  publishMode: 0o600,
  publications: onlyFullFile,
  analysis: undefined,
};

interface PublishParts extends PublishSettings {
  readonly dataDir: string;
  readonly viewsDir: string;
  readonly models: Models;
  readonly forgotten: Forgotten;
  readonly clock: Clock;
}

/** What a copy takes in addition. */
interface CopyParts extends PublishParts {
  readonly userViews: readonly TriedView[];
  readonly attributes: PublishedAttributes | undefined;
}

/** A file to publish. */
interface Output {
  readonly path: string;
  readonly temporary: string;
  readonly mode: number;
  readonly policy: Policy;
}

/** What there is to say of a file with everything. */
const showsAll = { profile: 'none', excluded: [], masked: [], viewsAdapted: [], viewsLeftOut: [] };

/** The name by which an unfinished snapshot is attached: that of the file, which users' views may name. */
const target = 'signals';

/**
 * Refreshes the derived tables and the views, copies the warehouse into a file beside it, checks that no row was lost, and
 * renames the copy over signals.duckdb, with the permissions of `publishMode`. Readers keep the snapshot that they
 * have open. If anything fails, no published file changes, and the warehouse stays usable.
 *
 * When signals.duckdb leaves anything out, the full snapshot is recovery.duckdb, which only this user may read. Files that
 * are no longer published are removed. All files are complete before the first one is renamed.
 */
export async function publish(session: Session, parts: PublishParts): Promise<Published> {
  const started = performance.now();
  const { dataDir } = parts;
  const { published } = filesOf(dataDir);
  // Those of documents too: a table that was made again by another declaration has other rows.
  const texts = [...parts.models.documents, ...parts.models.derived].map(({ select }) => select);
  const now = new Date(parts.clock.now());
  const makeDerived = async () => refreshDerived(session, parts.models, await stampOf(session, now));
  await makeOnce(session, 'derived', texts, makeDerived);
  await makeViews(session, parts);
  const outputs = outputsOf(parts);
  const remove = ({ temporary }: Output) => {
    for (const path of [temporary, logOf(temporary)]) rmSync(path, { force: true });
  };
  let attributes: PublishedAttributes | null = null;
  try {
    const file = await readAttributes(session, dataDir);
    attributes = file && (await matchAttributes(session, file, parts.forgotten));
    const withViews = { ...parts, attributes: attributes ?? undefined };
    const schema = () => [...attributesSchema(attributes), ...schemaOf(withViews)];
    const copyParts = { ...withViews, userViews: await tryUserViews(dataDir, schema) };
    const copies: Copied[] = [];
    // The full file is the last one, because it lists what the others leave out.
    for (const output of outputs) {
      const others = output === outputs.at(-1) ? copies.map(({ facts }) => facts) : [];
      remove(output);
      copies.push(await copyInto(session, output, copyParts, others));
    }
    for (const { temporary, mode } of outputs) {
      // Before the mode, which takes away the right to write.
      syncFile(temporary);
      chmodSync(temporary, mode);
    }
    const removedLogs = replaceFiles(dataDir, outputs);
    const { tables = 0, userViews = [] } = copies[outputs.findIndex(({ path }) => path === published)] ?? {};
    const leftOut = userViews.flatMap(({ file, error }) => (error === null ? [] : file));
    const ms = performance.now() - started;
    const before = await lastPublication(session);
    await notePublication(session, { ms, leftOut });
    return {
      path: published,
      bytes: statSync(published).size,
      ms,
      tables,
      userViews,
      newlyLeftOut: leftOut.filter((file) => !before?.leftOut.includes(file)),
      attributes,
      removedLogs,
    };
  } catch (error) {
    outputs.forEach(remove);
    throw storageFault(error, dataDir);
  } finally {
    if (attributes) await dropMatched(session).catch(() => undefined);
  }
}

/** Every file to write, the one with everything last. */
function outputsOf({ dataDir, publishMode: mode, publications: { main, also } }: PublishParts): Output[] {
  const { published, recovery } = filesOf(dataDir);
  const output = (path: string, policy: Policy, ofMode: number): Output => ({
    path,
    policy,
    mode: ofMode,
    temporary: join(dataDir, `${unfinished}${basename(path, '.duckdb')}-${process.pid}.duckdb`),
  });
  const policy = policyOf(main);
  const others = also.map((one) => output(join(dataDir, one.file), policyOf(one), mode));
  const first = output(published, policy, mode);
  return policy.isFull
    ? [...others, first]
    : [...others, first, output(recovery, policyOf(onlyFullFile.main), 0o600)];
}

/**
 * Renames the finished files to their names, and removes those that are no longer published. Their names are written down
 * before, so that a kill in the middle leaves no unknown file: the next publication removes it.
 *
 * The log of a program that opened a published file for writing goes before the file that it belongs to does: it must never
 * lie beside a new one. Returns the names of such logs.
 */
function replaceFiles(dataDir: string, outputs: readonly Output[]): string[] {
  const { published, recovery } = filesOf(dataDir);
  const before = publishedBefore(dataDir);
  const paths = outputs.map(({ path }) => path);
  const now = paths.filter((path) => path !== published && path !== recovery).map((path) => basename(path));
  if (now.some((name) => !before.includes(name))) listPublished(dataDir, [...new Set([...before, ...now])]);
  const logs = () => [...new Set([...paths.flatMap(logsOf), ...foreignLogs(dataDir)])];
  const removed = logs();
  for (const log of removed) rmSync(log, { force: true });
  // The full one first: until it is there, an older one may be the only one to recover from.
  for (const { temporary, path } of outputs.toReversed()) moveFile(temporary, path);
  // A program that still has the old file open may have made another one meanwhile.
  for (const log of logs()) rmSync(log, { force: true });
  if (!paths.includes(recovery)) rmSync(recovery, { force: true });
  const stale = before.filter((name) => !now.includes(name));
  for (const name of stale) rmSync(join(dataDir, name), { force: true });
  if (stale.length > 0) listPublished(dataDir, now);
  return removed.map((log) => basename(log));
}

interface Copied extends Pick<Published, 'tables' | 'userViews'> {
  readonly facts: FileFacts;
}

/** Writes one file; `others` is what it lists about the files before it. */
async function copyInto(
  session: Session,
  output: Output,
  parts: CopyParts,
  others: readonly FileFacts[],
): Promise<Copied> {
  const { policy, temporary, path } = output;
  const { recovery } = filesOf(parts.dataDir);
  const facts = { ...showsAll, file: basename(path) };
  const source = await databaseInUse(session);
  await session.run(attaching(temporary, target));
  makePrivate(temporary);
  try {
    if (!policy.isFull) {
      const masked = await fillFile(session, source, output, parts);
      await session.run(`CHECKPOINT ${target}`);
      return masked;
    }
    // A snapshot is taken when everything is merged.
    const tables = await copyDatabase(session, source, target, 'appended');
    const userViews = await inDatabase(
      session,
      target,
      async () => {
        if (parts.attributes) {
          await writeAttributes(session, parts.attributes);
          await createViews(session, parts);
        }
        const created = await createUserViews(session, parts.userViews);
        if (others.length > 0) await listFiles(session, path === recovery ? others : [...others, facts]);
        return created;
      },
      source,
    );
    await session.run(`CHECKPOINT ${target}`);
    return { tables, userViews, facts };
  } finally {
    // Fails when an error has invalidated the whole database.
    await session.run(`DETACH ${target}`).catch(() => undefined);
  }
}

/** Fills a new file with what its policy leaves: never a copy of the live file, whose blocks would keep the rest. */
async function fillFile(
  session: Session,
  source: string,
  { policy, path }: Output,
  parts: CopyParts,
): Promise<Copied> {
  const { tables, ...left } = await writeMasked(session, source, target, policy, parts);
  const hasOps = !policy.excludesRelation('ops');
  return inDatabase(session, target, async () => {
    const userViews = await createUserViews(session, parts.userViews, hasOps);
    const failed = userViews.flatMap((one) =>
      one.error === null ? [] : [`views/${one.file}: ${one.error}`],
    );
    const facts = { ...left, file: basename(path), viewsLeftOut: [...left.viewsLeftOut, ...failed] };
    if (hasOps) await listFiles(session, [facts]);
    return { tables, userViews, facts };
  });
}
