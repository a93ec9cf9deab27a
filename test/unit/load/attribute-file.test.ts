import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { attributesFile, readAttributes } from '../../../src/load/attribute-file.js';
import { type AttributeFile, matchAttributes } from '../../../src/load/attributes.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { Forgotten } from '../../../src/privacy/forgotten.js';
import { emptyDir, oneWarehouse } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((opened) => {
  warehouse = opened;
});

async function read(text: string | Buffer): Promise<AttributeFile> {
  const dataDir = emptyDir();
  mkdirSync(join(dataDir, 'attributes'));
  writeFileSync(join(dataDir, attributesFile), text);
  const file = await readAttributes(warehouse, dataDir);
  if (!file) throw new Error('there is a file');
  return file;
}

test('most values decide what a column is; what does not fit it is left out and told, row by row', async () => {
  const { columns, rows, problems } = await read(
    `Company ID;Domain;Annual revenue (EUR);plan;VIP since;signed;plan!
4001;;1,200,000;pro;2024-01-31;TRUE;x
;https://WWW.Acme.example/about;-12.5;007;31.01.2024;false;y
;;9;;;;
4002;acme.example;n/a;free;2024-02-01;maybe;z
`,
  );
  expect(columns).toEqual([
    { name: 'annual_revenue_eur', type: 'DOUBLE' },
    { name: 'plan', type: 'VARCHAR' },
    { name: 'vip_since', type: 'DATE' },
    { name: 'signed', type: 'BOOLEAN' },
  ]);
  expect(rows).toEqual([
    { row: 2, company_id: '4001', domain: null, cells: ['1200000', 'pro', '2024-01-31', 'true'] },
    { row: 3, company_id: null, domain: 'acme.example', cells: ['-12.5', '007', null, 'false'] },
    { row: 5, company_id: '4002', domain: 'acme.example', cells: [null, 'free', '2024-02-01', null] },
  ]);
  expect(problems.map(({ row, problem }) => `${row ?? '-'} ${problem}`)).toEqual([
    '- the column "plan!" needs a name of its own, of letters and digits',
    '4 names no company',
    '5 annual_revenue_eur is n/a, not a number such as 1234567.89',
    '3 vip_since is 31.01.2024, not a date such as 2026-03-31',
    '5 signed is maybe, not TRUE or FALSE',
  ]);
});

test.each<[values: readonly string[], read: readonly (string | null)[], problem: string | null]>([
  [['1.234.567,50', '2,5'], ['1234567.50', '2.5'], null],
  [['0,125'], ['0.125'], null],
  [['1,500', '2,5'], ['1.500', '2.5'], null],
  [['1,500', '2,000,000'], ['1500', '2000000'], null],
  [['1.200', '0.5'], ['1.200', '0.5'], null],
  [['1,500', '800'], ['1,500', '800'], '1,500'],
  [['1.200', '35.000'], ['1.200', '35.000'], '1.200'],
  [['1.5', '2,5'], ['1.5', '2,5'], '1.5'],
  [['5', '€ 7', '€ 8'], ['5', '€ 7', '€ 8'], '5'],
  [['00123', '00124', '125'], ['00123', '00124', '125'], null],
])(
  'numbers are read by one rule that fits all of them, or are told: %j',
  async (values, expected, ambiguous) => {
    const lines = values.map((value, at) => `${at};"${value}"`);
    const { rows, problems } = await read(`company_id;revenue\n${lines.join('\n')}\n`);
    expect(rows.map(({ cells }) => cells[0])).toEqual(expected);
    expect(problems.map(({ problem }) => problem)).toEqual(
      ambiguous === null
        ? []
        : [expect.stringMatching(new RegExp(`ambiguous: .*\\(row \\d has ${ambiguous}\\)`))],
    );
  },
);

test('a file that names no companies says which columns it has', async () => {
  expect((await read('name,revenue\nAcme,5\n')).problems).toEqual([
    { row: null, problem: 'has no column company_id or domain; its columns are name, revenue' },
  ]);
});

test('a domain of two companies names neither; an id does', async () => {
  await warehouse.run(
    "INSERT INTO companies (id, primary_domain) VALUES ('7', 'A.example'), ('12', 'a.example')",
  );
  const file = await read('company_id;domain;revenue\n;a.example;1\n12;a.example;2\n');
  const { companies, problems } = await matchAttributes(warehouse as never, file, new Forgotten(''));
  expect(companies).toBe(1);
  expect(problems).toEqual([
    { row: 2, problem: 'a.example is the domain of the companies 12, 7: name one of them by company_id' },
  ]);
});

test('a day or a number that DuckDB would make NULL is told', async () => {
  const { columns, rows, problems } = await read(
    'company_id;since;revenue\n1;2024-02-30;1e400\n2;2024-02-29;1e3\n3;2023-12-31;5\n',
  );
  expect(columns.map(({ type }) => type)).toEqual(['DATE', 'DOUBLE']);
  expect(rows.map(({ cells }) => cells)).toEqual([
    [null, null],
    ['2024-02-29', '1e3'],
    ['2023-12-31', '5'],
  ]);
  expect(problems.map(({ row, problem }) => `${row} ${problem}`)).toEqual([
    '2 since is 2024-02-30, not a date such as 2026-03-31',
    '2 revenue is 1e400, not a number such as 1234567.89',
  ]);
});

test('a cell has the separator and line breaks where it is quoted; rows count as a spreadsheet program counts them', async () => {
  const { columns, rows, problems } = await read(
    '\ufeffdomain,note,revenue\r\na.example,"one, ""two""\nthree","1,200,000"\r\n,,\r\n,x,5,6\r\nb.example\r\n',
  );
  expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual(['note VARCHAR', 'revenue DOUBLE']);
  expect(rows.map(({ row, domain, cells }) => [row, domain, ...cells])).toEqual([
    [2, 'a.example', 'one, "two"\nthree', '1200000'],
    [5, 'b.example', null, null],
  ]);
  expect(problems).toEqual([{ row: 4, problem: 'names no company' }]);
});

test('what is not text in UTF-8, is empty or is a pipe is told, and not waited for', async () => {
  const told = async (text: string | Buffer) => (await read(text)).problems.map(({ problem }) => problem);
  expect(await told(Buffer.from('domain,größe\na.example,5\n', 'latin1'))).toEqual([
    'cannot be read as CSV: save it as CSV UTF-8',
  ]);
  expect(await told('')).toEqual(['has no column company_id or domain; its columns are ']);
  const dataDir = emptyDir();
  mkdirSync(join(dataDir, 'attributes'));
  execFileSync('mkfifo', [join(dataDir, attributesFile)]);
  const { rows, problems } = (await readAttributes(warehouse, dataDir)) ?? {};
  expect({ rows, problems }).toEqual({ rows: [], problems: [{ row: null, problem: 'is not a file' }] });
  expect(await readAttributes(warehouse, emptyDir())).toBeNull();
});
