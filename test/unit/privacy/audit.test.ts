import fs, { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportOne } from '../../../src/commands/export.js';
import { moveRecords, recordExport, recordRead } from '../../../src/privacy/audit.js';
import { testFolder } from '../../support/test-folders.js';
import { setupOf } from '../commands/support.js';

test('an export whose file of records is taken away while it writes is recorded in the next one', () => {
  const dataDir = testFolder();
  const path = join(dataDir, 'audit.journal');
  writeFileSync(path, '{"id":"earlier"}\n');
  const taken = `${path}.taken`;
  const { openSync } = fs;
  let times = 0;
  // Another command moves the records into the warehouse between opening and writing: twice.
  fs.openSync = (...args) => {
    const file = openSync(...args);
    if (args[0] === path && times < 2) {
      times += 1;
      renameSync(path, taken);
      readFileSync(taken);
      rmSync(taken);
    }
    return file;
  };
  syncBuiltinESMExports();
  try {
    recordExport(setupOf(dataDir), { tables: ['topics'], format: 'csv', rows: 1, file: '/tmp/a.csv' });
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
  expect([times, existsSync(taken)]).toEqual([2, false]);
  expect(readFileSync(path, 'utf8').split('\n')).toEqual([expect.stringContaining('/tmp/a.csv'), '']);
});

test('an export that cannot be recorded is refused; what is only read is not', async () => {
  const dataDir = testFolder();
  mkdirSync(join(dataDir, 'audit.journal'));
  const out = join(dataDir, 'topics.csv');
  const exporting = exportOne(setupOf(dataDir), { table: 'topics' }, { out, format: 'csv', force: false });
  await expect(exporting).rejects.toThrow(/the export cannot be recorded/);
  expect(existsSync(out)).toBe(false);
  expect(() => recordRead(setupOf(dataDir), { by: 'sql', rows: 1 })).not.toThrow();
});

test('a record that another user left unreadable stops nothing, and is moved once it can be read', async () => {
  const dataDir = testFolder();
  const path = join(dataDir, 'audit.journal');
  const taken = `${path}.taken`;
  writeFileSync(path, '{"id":"by root"}\n');
  const records: unknown[] = [];
  const move = () =>
    moveRecords({ record: async (one) => void records.push(one.id) }, dataDir, setupOf(dataDir).log);
  const { readFileSync: read } = fs;
  // The tests may run as root, who may read everything.
  fs.readFileSync = ((...args: Parameters<typeof read>) => {
    if (args[0] === taken) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    return read(...args);
  }) as typeof read;
  syncBuiltinESMExports();
  try {
    await move();
    writeFileSync(path, '{"id":"by us"}\n');
    await move();
  } finally {
    fs.readFileSync = read;
    syncBuiltinESMExports();
  }
  expect(records).toEqual([]);
  await move();
  expect(records).toEqual(['by root', 'by us']);
  expect([existsSync(path), existsSync(taken)]).toEqual([false, false]);
});
