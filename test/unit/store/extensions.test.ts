import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, version } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import {
  extensionVersion,
  inspectExtensions,
  isolatedOptions,
  loadExtension,
} from '../../../src/store/extensions.js';
import { testFolder } from '../../support/test-folders.js';

const json = (name: string) => JSON.parse(readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8'));

it('@duckdb/node-api is pinned to the DuckDB that the extension packages are for', () => {
  const pinned: string = json('package.json').dependencies['@duckdb/node-api'];
  const locked: string = json('package-lock.json').packages['node_modules/@duckdb/node-api'].version;
  const answer = `package.json pins @duckdb/node-api ${pinned}, package-lock.json has ${locked}, DuckDB says ${version()}, and extensions.ts wants ${extensionVersion}: raise them together, once PyPI has duckdb-extension-*`;
  const isSame =
    pinned === locked && locked.split('-')[0] === extensionVersion && version() === `v${extensionVersion}`;
  expect(isSame, answer).toBe(true);
});

/** A file that ends like an extension for a version of DuckDB, without a signature. */
function forged(path: string, built: string): void {
  const fields = ['', '', '', 'CPP', '827222f', built, 'linux_amd64', '4'];
  const footer = Buffer.concat([
    ...fields.map((text) => Buffer.alloc(32, text.padEnd(32, '\0'))),
    Buffer.alloc(256),
  ]);
  writeFileSync(path, Buffer.concat([Buffer.alloc(1_000, 'x'), footer]));
}

/** A database that finds no extensions but ours, and a repository that does not answer. */
async function connection(folder: string) {
  const instance = await DuckDBInstance.create(':memory:', {
    ...isolatedOptions,
    extension_directory: join(folder, 'installed'),
    custom_extension_repository: 'http://127.0.0.1:9',
  });
  return instance.connect();
}

async function refusal(folder: string, extensionDirectory: string | undefined): Promise<UsageError> {
  const loading = loadExtension(await connection(folder), 'iceberg', {
    extensionDirectory,
    purpose: 'a lake',
  });
  const error = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UsageError);
  return error as UsageError;
}

it('an extension that is nowhere is refused with the package to get it from', async () => {
  const folder = testFolder();
  for (const directory of [undefined, folder, join(folder, 'missing')]) {
    const { message, hint } = await refusal(folder, directory);
    expect(message).toMatch(
      `a lake needs the extension iceberg of DuckDB ${extensionVersion}, which cannot be loaded: it is not installed`,
    );
    expect(message).not.toContain('\n');
    expect(hint).toContain(`pip download --no-deps duckdb-extension-iceberg==${extensionVersion}`);
    expect(hint).toContain('duckdb.extensionDirectory');
  }
});

it.each(['flat', 'like DuckDB'])(
  'an extension for another DuckDB is refused by its version (%s)',
  async (layout) => {
    const folder = testFolder();
    const system = { linux: 'linux', darwin: 'osx', win32: 'windows' }[process.platform as string];
    const platform = `${system}_${process.arch === 'x64' ? 'amd64' : process.arch}`;
    const inside = layout === 'flat' ? folder : join(folder, `v${extensionVersion}`, platform);
    mkdirSync(inside, { recursive: true });
    const path = join(inside, 'iceberg.duckdb_extension');
    forged(path, 'v1.5.6');
    const { message } = await refusal(folder, folder);
    expect(message).toContain(`${path} is for DuckDB v1.5.6, and this is DuckDB v${extensionVersion}`);
  },
);

it('a file without a signature, and one that is no extension, are refused', async () => {
  const folder = testFolder();
  const path = join(folder, 'iceberg.duckdb_extension');
  forged(path, `v${extensionVersion}`);
  expect((await refusal(folder, folder)).message).toMatch(/signature|unsigned/i);
  for (const text of ['', 'x'.repeat(2_000)]) {
    writeFileSync(path, text);
    expect((await refusal(folder, folder)).message).toContain(`${path} is not a DuckDB extension`);
  }
});

it('what is on this machine is reported without a download', async () => {
  const folder = testFolder();
  forged(join(folder, 'iceberg.duckdb_extension'), 'v1.4.0');
  const states = await inspectExtensions(folder);
  expect(Object.keys(states).sort()).toEqual(['avro', 'httpfs', 'iceberg']);
  expect(states.iceberg).toMatchObject({
    state: 'unusable',
    problem: expect.stringContaining('is for DuckDB v1.4.0'),
  });
});
