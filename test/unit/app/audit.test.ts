import fs, { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordExport } from '../../../src/app/audit.js';
import { testFolder } from '../../support/test-folders.js';
import { setupOf } from './support.js';

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
