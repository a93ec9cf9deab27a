import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import type { Clock } from '../../base/clock.js';

/** Endings that are read as sheets; what else lies in the folder is not ours. */
const sheets: ReadonlySet<string> = new Set(['.xlsx', '.csv', '.tsv']);

/** A file that nobody has touched for so long, and that does not grow while we look, is written to its end. */
const quietMs = 2_000;

/** The drop folder of a data directory. */
export function inboxOf(dataDir: string): { inbox: string; done: string; rejected: string } {
  const inbox = join(dataDir, 'inbox');
  return { inbox, done: join(inbox, 'done'), rejected: join(inbox, 'rejected') };
}

/** Makes the folders, so that people find them. */
export function makeInbox(dataDir: string): void {
  const { done, rejected } = inboxOf(dataDir);
  for (const folder of [done, rejected]) mkdirSync(folder, { recursive: true });
}

/** The sheets in the folder, by name; hidden files and the lock files of office programs (`~$…`) are none. */
export function sheetsIn(dataDir: string): string[] {
  const { inbox } = inboxOf(dataDir);
  if (!existsSync(inbox)) return [];
  return readdirSync(inbox, { withFileTypes: true })
    .filter((one) => one.isFile() && !/^[.~]/.test(one.name) && sheets.has(extname(one.name).toLowerCase()))
    .map(({ name }) => join(inbox, name))
    .sort();
}

/** The files that are written to their end: quiet for a while, and of the same size a moment later. */
export async function settledFiles(paths: readonly string[], clock: Clock): Promise<string[]> {
  const before = new Map(paths.map((path) => [path, stateOf(path)]));
  const candidates = paths.filter((path) => before.get(path) !== null);
  if (candidates.length === 0) return [];
  const youngest = Math.max(...candidates.map((path) => before.get(path)?.at ?? 0));
  // By the file system's own clock, which need not be ours: only the difference of two looks counts.
  await clock.sleep(Math.min(quietMs, Math.max(250, quietMs - (Date.now() - youngest))));
  return candidates.filter((path) => {
    const now = stateOf(path);
    const then = before.get(path);
    return now !== null && then !== null && now.size > 0 && now.size === then?.size && now.at === then.at;
  });
}

function stateOf(path: string): { size: number; at: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { size: found.size, at: found.mtimeMs } : null;
}

/** Where a file goes in `folder`: under its name, or with the time in it when there is one of that name already. */
export function placeIn(folder: string, path: string, now: Date): string {
  const wanted = join(folder, basename(path));
  if (!existsSync(wanted)) return wanted;
  const ending = extname(path);
  const stamp = now.toISOString().replaceAll(/[-:.]/g, '');
  return join(folder, `${basename(path, ending)}.${stamp}${ending}`);
}

/** The name of what lies beside a file: `list.csv` has `list.result.csv`. */
export function besideOf(path: string, what: string): string {
  const ending = extname(path);
  return `${path.slice(0, path.length - ending.length)}.${what}${ending}`;
}
