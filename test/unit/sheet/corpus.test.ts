import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import type { Cell, Grid } from '../../../src/sheet/grid.js';
import { readSheet } from '../../../src/sheet/read.js';
import { propertyRuns } from '../../support/runs.js';
import { refused, zipped } from './support.js';

const root = join(import.meta.dirname, '..', '..', 'corpus', 'sheets');

const files = readdirSync(root, { withFileTypes: true })
  .filter((folder) => folder.isDirectory() && !['make', 'refused'].includes(folder.name))
  .flatMap(({ name }) => readdirSync(join(root, name)).map((file) => `${name}/${file}`))
  .filter((file) => /\.(xlsx|ods)$/.test(file));

/** A grid as the corpus writes it: a row starts with its number, and a date is an object. */
function written({ columns, headerRow, rows, notes }: Grid) {
  return { columns, headerRow, rows: rows.map(({ number, cells }) => [number, ...cells.map(cell)]), notes };
}

function cell(value: Cell): unknown {
  return value instanceof Date ? { date: value.toISOString().replace(/(T00:00:00)?(\.000)?Z$/, '') } : value;
}

describe('the corpus of workbooks', () => {
  test.each(files)('%s', async (file) => {
    const own = join(root, file.replace(/\.\w+$/, '.json'));
    const shared = join(root, file, '..', 'expected.json');
    const expected: unknown = JSON.parse(readFileSync(existsSync(own) ? own : shared, 'utf8'));
    expect(written(await readSheet({ path: join(root, file) }))).toEqual(expected);
  });

  test.each([
    ['poi-encrypted.xlsx', 'is encrypted: it needs a password'],
    ['poi-old-format.xls', 'is in the old Excel format (.xls)'],
  ])('%s is refused', async (file, message) => {
    expect(await refused(readSheet({ path: join(root, 'refused', file) }))).toContain(`${file} ${message}`);
  });
});

describe('a damaged workbook is read or refused, and nothing else happens', () => {
  const contents = files.map((file) => ({ file, bytes: readFileSync(join(root, file)) }));
  const outcome = async (bytes: Uint8Array) => {
    try {
      return Array.isArray((await readSheet({ bytes, name: 'x' })).rows);
    } catch (error) {
      if (error instanceof UsageError) return true;
      throw error;
    }
  };
  const damage = fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    kind: fc.constantFrom('flip', 'cut', 'zeros', 'twice', 'tags'),
    byte: fc.integer({ min: 1, max: 255 }),
  });
  const damaged = (bytes: Uint8Array, { at, kind, byte }: { at: number; kind: string; byte: number }) => {
    const start = Math.floor(at * bytes.length);
    const parts = [bytes.subarray(0, start), bytes.subarray(start)] as const;
    if (kind === 'cut') return parts[0];
    if (kind === 'zeros') return Buffer.concat([parts[0], Buffer.alloc(byte), parts[1].subarray(byte)]);
    if (kind === 'twice') return Buffer.concat([parts[0], bytes.subarray(Math.max(0, start - byte))]);
    if (kind === 'tags') return Buffer.concat([parts[0], Buffer.from('<a b="'.repeat(byte)), parts[1]]);
    return bytes.map((one, index) => (index === start ? one ^ byte : one));
  };

  test('in its zip', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...contents),
        fc.array(damage, { minLength: 1, maxLength: 3 }),
        async (one, all) => {
          expect(await outcome(all.reduce<Uint8Array>(damaged, one.bytes))).toBe(true);
        },
      ),
      { numRuns: propertyRuns(10, 3000) },
    );
  });

  test('in the XML of its parts', async () => {
    const parts = contents.flatMap(({ bytes }) => {
      const unpacked = unzipSync(bytes);
      return Object.keys(unpacked)
        .filter((path) => /content\.xml|sheet\d*\.xml|sharedStrings|workbook\.xml|styles\.xml/.test(path))
        .map((path) => ({ unpacked, path }));
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...parts),
        fc.array(damage, { minLength: 1, maxLength: 3 }),
        async ({ unpacked, path }, all) => {
          const part = all.reduce<Uint8Array>(damaged, unpacked[path] ?? new Uint8Array());
          expect(await outcome(zipped({ ...unpacked, [path]: part }))).toBe(true);
        },
      ),
      { numRuns: propertyRuns(10, 3000) },
    );
  });
});
