import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, writeAtomically, writeAtomicallySync } from '../../../src/base/atomic-file.js';
import { Journal } from '../../../src/base/journal.js';
import { storageFault } from '../../../src/store/faults.js';
import { testFolder } from '../../support/test-folders.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = testFolder();
  path = join(folder, 'file');
});

const ways = {
  writeAtomically: (text: string, mode?: number) =>
    writeAtomically(path, (file) => file.writeFile(text), { ...(mode !== undefined && { mode }) }),
  writeAtomicallySync: async (text: string, mode?: number) =>
    writeAtomicallySync(path, text, { ...(mode !== undefined && { mode }) }),
};

describe.each(Object.entries(ways))('%s', (_, write) => {
  it('replaces the whole file, with the mode asked for, and leaves nothing beside it', async () => {
    writeFileSync(path, 'a longer old content');
    await write('new', 0o600);
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['file']);
  });

  it('lets nobody else read the file, also where others could read the one before', async () => {
    writeFileSync(path, 'old', { mode: 0o644 });
    await write('new');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('replaces what a killed process with the same pid left, and follows no link', async () => {
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, 'theirs');
    symlinkSync(elsewhere, `${path}.${process.pid}.tmp`);
    await write('new');
    expect(readFileSync(elsewhere, 'utf8')).toBe('theirs');
    expect(readdirSync(folder).sort()).toEqual(['elsewhere', 'file']);
  });

  it('leaves no temporary file when the rename fails', async () => {
    path = join(folder, 'taken');
    mkdirSync(join(path, 'full'), { recursive: true });
    await expect(write('new')).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/);
    expect(readdirSync(folder)).toEqual(['taken']);
  });
});

it('keeps the old file when the writer fails half-way', async () => {
  writeFileSync(path, 'old');
  const failing = writeAtomically(path, async (file) => {
    await file.writeFile('half');
    throw new Error('no more');
  });
  await expect(failing).rejects.toThrow('no more');
  expect(readFileSync(path, 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['file']);
});

it('makes a folder and those above it, and fails at once where there can be none', () => {
  const deep = join(folder, 'a', 'b', 'c');
  makeFolder(deep);
  makeFolder(deep);
  expect([join(folder, 'a'), deep].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o700]);
  // Node's own way tries this for ever.
  for (const path of ['/proc/none', '/proc/none/deep']) expect(() => makeFolder(path)).toThrow('ENOENT');
  writeFileSync(join(deep, 'file'), '');
  expect(() => makeFolder(join(deep, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(join(deep, 'file', 'below'))).toThrow('ENOTDIR');
});

describe('a journal', () => {
  it('is a file for this user alone, whose values come after each other', () => {
    new Journal(path).append(['one']);
    new Journal(path).append([{ two: 2 }, 3]);
    expect(readFileSync(path, 'utf8')).toBe('"one"\n{"two":2}\n3\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(new Journal(path).values()).toEqual(['one', { two: 2 }, 3]);
  });

  it('leaves a line that a kill cut off on a line of its own, and tells of a damaged one', () => {
    const journal = new Journal(path);
    journal.append([{ one: 1 }, { two: 2 }]);
    const cut = readFileSync(path, 'utf8').slice(0, -4);
    writeFileSync(path, cut);
    expect(journal.lines()).toEqual([{ line: 1, value: { one: 1 } }]);
    journal.append([{ three: 3 }, { four: 4 }]);
    const text = readFileSync(path, 'utf8');
    expect(text.startsWith(cut)).toBe(true);
    const lines = text.split('\n');
    writeFileSync(path, lines.with(2, `${lines[2]?.slice(0, -2)}~`).join('\n'));
    expect(journal.lines()).toEqual([
      { line: 1, value: { one: 1 } },
      { line: 3, value: undefined },
      { line: 4, value: { four: 4 } },
    ]);
  });

  it('knows after a rewrite which lines a kill cut off', () => {
    const journal = new Journal(path);
    // The first lost only its line break.
    writeFileSync(path, '1');
    journal.append([2]);
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"thr`);
    expect(journal.rewrite((line) => line.replace('2', '4'))).toBe(1);
    expect(journal.lines()).toEqual([
      { line: 1, value: 1 },
      { line: 2, value: 4 },
    ]);
  });
});

it.skipIf(!existsSync('/dev/full'))('a full disk is named, with the file and what to do', async () => {
  const full = () => writeFileSync('/dev/full', 'x');
  await expect(writeAtomically(path, async () => full())).rejects.toMatchObject({
    name: 'StorageError',
    message: `the disk is full: ${path} was not written`,
    hint: expect.stringContaining('Free some space'),
  });
  expect(() => new Journal('/dev/full').append([1])).toThrow('the disk is full: /dev/full');
  expect(readdirSync(folder)).toEqual([]);
  // What the file system itself says names no path: the warehouse's own error does.
  const raw = await Promise.resolve()
    .then(full)
    .catch((error: unknown) => error);
  expect(String(raw)).not.toContain(folder);
  expect(storageFault(raw, folder)).toMatchObject({
    message: expect.stringContaining(`the disk that holds ${folder} is full`),
    hint: expect.stringContaining('Free some space'),
  });
});
