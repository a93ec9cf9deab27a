import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomicallySync } from '../base/atomic-file.js';
import { isObject } from '../base/json.js';
import { publishedFileName } from '../base/published-file.js';
import { filesOf, logsOf } from './engine.js';

/** published.json: which files a publication left beside signals.duckdb. */

function listPath(dataDir: string): string {
  return join(dataDir, 'published.json');
}

/** Logs beside published files: only a program that opened one for writing leaves them. */
export function foreignLogs(dataDir: string): string[] {
  const { published, recovery } = filesOf(dataDir);
  const others = publishedBefore(dataDir).map((name) => join(dataDir, name));
  return [published, recovery, ...others].flatMap(logsOf);
}

/** Writes the list, or removes it when it names no file. */
export function listPublished(dataDir: string, files: readonly string[]): void {
  if (files.length === 0) rmSync(listPath(dataDir), { force: true });
  else writeAtomicallySync(listPath(dataDir), `${JSON.stringify({ files })}\n`, { mode: 0o600 });
}

/** The files beside signals.duckdb that the last publication left; only names that can be files of the data directory. */
export function publishedBefore(dataDir: string): string[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(listPath(dataDir), 'utf8'));
  } catch {
    // There is none, or this user may not read it.
    return [];
  }
  const files = isObject(content) ? content.files : [];
  if (!Array.isArray(files)) return [];
  return files.filter((name) => typeof name === 'string' && publishedFileName.test(name));
}
