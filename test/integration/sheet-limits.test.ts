import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Cell, SheetColumn } from '../../src/sheet/grid.js';
import { writeSheetFile } from '../../src/sheet/write.js';
import { type TableSheet, writeWorkbook } from '../../src/sheet/write-workbook.js';
import { testFolder } from '../support/test-folders.js';
import { refused } from '../unit/sheet/support.js';

const column: SheetColumn = { key: 'key', type: 'text' };
const written = (sheet: Pick<TableSheet, 'columns' | 'rows'>) =>
  writeSheetFile(join(testFolder(), 'tables.xlsx'), {}, async (file) => {
    await writeWorkbook(file, [{ name: 'one', exactText: true, ...sheet }]);
  });

test('a workbook for programs refuses more rows and columns than a sheet can have', async () => {
  const rows = (function* (): Generator<Cell[]> {
    for (let row = 0; row < 1_048_576; row++) yield [];
  })();
  expect(await refused(written({ columns: [column], rows }))).toMatch(
    /one has more than 1,048,575 rows.*\.parquet/,
  );
  const columns = Array.from({ length: 16_385 }, (_, at): SheetColumn => ({ ...column, key: `c${at}` }));
  expect(await refused(written({ columns, rows: [] }))).toContain('more than 16,384 columns');
});
