import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/base/errors.js';
import { parseHeader } from '../../../../src/push/import/header.js';
import { type Cell, maxColumns, maxFileBytes, noResult } from '../../../../src/sheet/grid.js';
import { readSheet } from '../../../../src/sheet/read.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { textRow, workbook, zipped } from '../../sheet/support.js';
import { emptyDir } from '../../warehouse/support.js';
import { Importing, town } from './support.js';

/** The messages in the first column of the table under a heading of docs/spreadsheets.md; … stands for any text. */
function documented(heading: string): RegExp[] {
  const [, section = ''] = readFileSync('docs/spreadsheets.md', 'utf8').split(`## ${heading}\n`);
  const cells = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (`.*?`) \|/gm)].map(
    ([, cell = '']) => cell,
  );
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => {
      const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      return new RegExp(parts.join('.*'));
    }),
  );
}

/** Expects that every message is documented, and that every documented message exists. */
function expectSame(
  messages: readonly string[],
  patterns: readonly RegExp[],
  elsewhere: readonly string[] = [],
) {
  expect(messages.filter((text) => !patterns.some((one) => one.test(text)))).toEqual([]);
  const missing = patterns.filter((one) => ![...messages, ...elsewhere].some((text) => one.test(text)));
  expect(missing.map(({ source }) => source)).toEqual([]);
}

describe('docs/spreadsheets.md', () => {
  let warehouse: Warehouse;
  beforeAll(async () => {
    warehouse = await town();
  });
  afterAll(() => warehouse.close());

  function problemsOf(columns: readonly string[], ...rows: readonly (readonly Cell[])[]) {
    return problemsOfRows(columns, rows, false);
  }

  async function problemsOfRows(
    columns: readonly string[],
    rows: readonly (readonly Cell[])[],
    followMerges: boolean,
  ) {
    const grid = {
      columns,
      headerRow: 1,
      notes: [],
      rows: rows.map((cells, at) => ({ number: at + 2, cells })),
    };
    const importing = await Importing.on(warehouse);
    const { problems, rows: outcomes } = await importing.prepare(
      { grid, name: 'list.csv', hash: null },
      false,
      followMerges,
    );
    return [
      ...problems.map(({ problem }) => problem),
      ...outcomes.flatMap(({ text }) => (text?.startsWith('Another') ? [text] : [])),
    ];
  }

  it('lists every problem of a row', async () => {
    const messages = [
      ...(await problemsOf(
        ['topic_id', 'priority', 'lifecycle_state', 'archived', 'archived_reason'],
        ['t1', 'hihg', 'nonsense', 'perhaps'],
        ['t2', null, 'unknown', true, '#REF!'],
        ['t3', null, null, true, new Date('2026-03-04')],
        ['t3', 'low'],
        ['t4', null, null, true, true],
        ['t5', null, null, true, 1.5],
        ['t5', null, null, true, 'a\0b'],
        ['t5', noResult],
        ['t6', 'low'],
        ['t6', 'high'],
        ['t6', null, 'completed'],
        ['t7', null, null, null, 'why'],
        [null, 'low'],
        ...['nope', 'gone', 'merged', 'migrated'].map((id) => [id, 'low']),
      )),
      ...(await problemsOf(
        ['topic_id', 'priority', 'archived', 'base_priority', 'base_archived'],
        ['t1', null, null, 'high', true],
        ['t2', 'low', true, 'low', 'perhaps'],
      )),
      ...(await problemsOf(['company_id', 'logo_url'], ['1', 'acme.example'])),
      ...(await problemsOf(['company_id', 'is_vip', 'base_name'], ['1', true, 'Beta'])),
      ...(await problemsOf(['topic_id', 'priority', 'title'], ['t1', 'low', 'Topic 2'])),
      ...(await problemsOfRows(['topic_id', 'archived'], [['unread', false]], true)),
    ];
    expectSame(messages, documented('When rows are wrong'));
  });

  it('lists every error of a file', async () => {
    const headers = [
      ['title', 'priority'],
      ['topic_id', 'company_id', 'priority'],
      ['id', 'name'],
      ['topic_id', 'title'],
      ['topic_id', 'archived', 'Prio'],
      ['topic_id', 'archived', 'Urgency', 'base_priority'],
      ['topic_id', 'priority', 'Priority '],
      ['topic_id', 'Topic ID'],
    ];
    const merged = '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>';
    const files: (Uint8Array | string)[] = [
      ...[
        '',
        '\n',
        'a,A\n1,2\n',
        '<html><body></body></html>',
        '%PDF-1.7',
        'a\n"x',
        `a\n${'x'.repeat(40_000)}`,
      ],
      ...[`a\n${'1,'.repeat(maxColumns + 1)}\n`, Uint8Array.of(0xff, 0xd8, 0, 1, 2, 3)],
      new Uint8Array(maxFileBytes + 1),
      Buffer.from('d0cf11e0a1b11ae1'.padEnd(1024, '0'), 'hex'),
      Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')]),
      ...[
        'a.txt',
        'mimetype',
        'xl/workbook.bin',
        'Index.zip',
        'word/document.xml',
        'ppt/presentation.xml',
      ].map((file) => zipped({ [file]: 'x' })),
      zipped({ 'xl/workbook.xml': '<workbook></workbook>' }),
      workbook({ rows: textRow(1, 'a') }).subarray(0, 300),
      workbook({ rows: textRow(1, 'a', 'b'), after: merged }),
      workbook({ rows: '<!DOCTYPE a>' }),
    ];
    const errors = [
      ...headers.map((columns) => errorOf(async () => parseHeader(columns, 'list.csv'))),
      ...files.map((content) => errorOf(() => readSheet({ bytes: Buffer.from(content), name: 'list.csv' }))),
      errorOf(() => readSheet({ bytes: workbook({ rows: '' }), name: 'a' }, { sheet: 'nope' })),
      errorOf(() => readSheet({ bytes: Buffer.from('a'), name: 'a' }, { sheet: 'nope' })),
      ...['/no/such.csv', emptyDir()].map((path) => errorOf(() => readSheet({ path }))),
    ];
    expectSame((await Promise.all(errors)).flat(), documented('When the file is wrong'), [
      // These take seconds, another user, or a published file: see the tests of sheet and of source.
      ...['is larger than 250 MB when unpacked', 'has a row that is too long', 'has more than 200,000 rows'],
      'has more than 5,000,000 cells',
      ...['has files in its zip that overlap', 'has two files of the same name in its zip'],
      'has more than 5,000 files in its zip',
      'cannot be opened: permission denied',
      ...['has more than one statement', 'has no statement', 'returns more than 200,000 rows'],
    ]);
  });
});

/** The problems of the UsageError that `work` raises, or its message when it has none. */
async function errorOf(work: () => Promise<unknown>): Promise<string[]> {
  const error = await work().catch((reason: unknown) => reason);
  if (!(error instanceof UsageError)) throw new Error(`no UsageError: ${String(error)}`);
  return error.problems.length > 0 ? error.problems.map(({ problem }) => problem) : [error.message];
}
