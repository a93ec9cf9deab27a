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
import fc from 'fast-check';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { makeFolder, writeAtomically, writeAtomicallySync } from '../../../src/base/atomic-file.js';
import {
  EncryptionKey,
  fromStored,
  fromStoredLine,
  toStored,
  toStoredLine,
  withEitherKey,
} from '../../../src/base/encryption.js';
import { StorageError, UsageError } from '../../../src/base/errors.js';
import { Journal } from '../../../src/base/journal.js';
import { storageFault } from '../../../src/warehouse/store/faults.js';
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

const key = new EncryptionKey('a'.repeat(32));
const other = new EncryptionKey('b'.repeat(32));

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

  it.each([
    ['without a key', undefined],
    ['with one', key],
  ])('leaves a line that a kill cut off on a line of its own, and tells of a damaged one: %s', (_, its) => {
    const journal = new Journal(path, its);
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
    const [plain, sealed] = [new Journal(path), new Journal(path, key)];
    // The first lost only its line break.
    writeFileSync(path, '1');
    plain.append([2]);
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"thr`);
    const left = [
      { line: 1, value: 1 },
      { line: 2, value: 4 },
    ];
    plain.rewrite((line) => line.replace('2', '4'));
    expect(plain.lines()).toEqual(left);
    sealed.rewrite((line) => line, { encrypt: { old: undefined } });
    expect(sealed.lines()).toEqual(left);
  });

  it('with a key has no text that can be read, and gets another key line by line', () => {
    new Journal(path, other).append(['one']);
    expect(readFileSync(path, 'utf8')).not.toContain('one');
    expect(new Journal(path, key).rewrite((line) => line, { encrypt: { old: other } })).toBe(0);
    expect(new Journal(path, key).values()).toEqual(['one']);
  });
});

const secret = fc.uint8Array({ minLength: 12, maxLength: 200 });

describe('stored bytes', () => {
  test('come back with the key, and are not in what is stored', () => {
    fc.assert(
      fc.property(secret, (bytes) => {
        const stored = toStored(bytes, key);
        expect(Buffer.from(stored).includes(Buffer.from(bytes))).toBe(false);
        expect([...fromStored(stored, key, 'file')]).toEqual([...bytes]);
      }),
    );
  });

  test('are not opened by another key or without one, which names the setting', () => {
    const stored = toStored(Buffer.from('x'), key);
    for (const wrong of [other, undefined]) {
      expect(() => fromStored(stored, wrong, 'file')).toThrow(UsageError);
    }
  });

  test('that were changed in any place do not come back', () => {
    const stored = toStored(Buffer.from('some text'), key);
    fc.assert(
      fc.property(fc.nat(stored.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const changed = Buffer.from(stored);
        changed[at] = (changed[at] ?? 0) ^ by;
        let opened: Uint8Array | undefined;
        try {
          opened = fromStored(changed, key, 'file');
        } catch (error) {
          expect(error instanceof UsageError || error instanceof StorageError).toBe(true);
        }
        // A file whose first bytes are not ours is one that was never encrypted.
        if (opened) expect(at).toBeLessThan(8);
      }),
    );
  });

  test('without a key are stored as they are, and are read with one as well', () => {
    const bytes = Buffer.from('PK\u0003\u0004');
    expect(toStored(bytes, undefined)).toEqual(bytes);
    expect(fromStored(bytes, key, 'file')).toEqual(bytes);
  });
});

describe('stored lines', () => {
  test('have no line break and come back; one that a kill cut off does not', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(60), (text, cut) => {
        const line = toStoredLine(text, key);
        expect(line).not.toContain('\n');
        expect(fromStoredLine(line, key, 'file')).toBe(text);
        const torn = line.slice(0, line.length - 1 - (cut % (line.length - 8)));
        // Base64 that lost only its padding is still whole.
        if (!line.slice(torn.length).match(/^=+$/)) expect(fromStoredLine(torn, key, 'file')).not.toBe(text);
      }),
    );
  });

  test('are opened by whichever of two keys sealed them', () => {
    for (const one of [key, other, undefined]) {
      const line = toStoredLine('text', one);
      const open = (it: EncryptionKey | undefined) => fromStoredLine(line, it, 'file');
      expect(withEitherKey([key, other], open)).toBe('text');
    }
    const line = toStoredLine('text', other);
    expect(() => withEitherKey([undefined, key], (it) => fromStoredLine(line, it, 'file'))).toThrow(
      UsageError,
    );
  });
});

test('a key is not in its JSON', () => {
  expect(JSON.stringify({ key })).toBe('{"key":{}}');
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
