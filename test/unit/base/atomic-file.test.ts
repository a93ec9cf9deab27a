import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { appendLines, writeAtomically, writeAtomicallySync } from '../../../src/base/atomic-file.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalhouse-atomic-'));
  path = join(folder, 'file');
});
afterEach(() => rmSync(folder, { recursive: true }));

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

describe('lines that are appended', () => {
  it('make a file for this user alone, and come after each other', () => {
    appendLines(path, ['one']);
    appendLines(path, ['two']);
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('come after one that a kill cut off, and leave it on a line of its own', () => {
    writeFileSync(path, 'one\ntw');
    appendLines(path, ['three']);
    expect(readFileSync(path, 'utf8')).toBe('one\ntw\nthree\n');
  });
});
