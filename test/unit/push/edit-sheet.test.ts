import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { type EditSheetOptions, writeEditSheet } from '../../../src/push/edit-sheet.js';
import { prepareImport } from '../../../src/push/import/import.js';
import { fromSheet } from '../../../src/push/import/source.js';
import { openPublished, type Snapshot } from '../../../src/read/query.js';
import { readSheet } from '../../../src/sheet/read.js';
import { emptyDir, limits, ready } from '../../support/open-warehouse.js';
import { settings, syncedAt, town } from './import/support.js';

let dir: string;
let warehouse: Warehouse;
let snapshot: Snapshot;
beforeAll(async () => {
  dir = await ready();
  warehouse = await town(dir);
  await warehouse.run(
    `UPDATE topics SET title = '=1+1', summary = '-5 °C
      "quoted"', issue_type = 'bug_report', message_count = 7 WHERE id = 't3'`,
  );
  await warehouse.run(`UPDATE topics SET priority = 'very_high' WHERE id IN ('t5', 't7')`);
  await warehouse.run(`UPDATE companies SET is_org_company = (id = '2')`);
  await warehouse.publish();
  snapshot = await openPublished(dir, limits);
});
afterAll(async () => {
  snapshot.close();
  await warehouse.close();
});

let serial = 0;
async function made(options: Partial<EditSheetOptions> = {}, ending = '.csv') {
  const out = join(emptyDir(), `sheet${++serial}${ending}`);
  const list = await writeEditSheet(snapshot, {
    out,
    entityType: 'topic',
    ...options,
  });
  return { ...list, grid: await readSheet({ path: out }) };
}

async function refusal(options: Partial<EditSheetOptions>): Promise<string> {
  const error = await made(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UsageError)) throw new Error(`not refused: ${String(error)}`);
  return [error.message, ...error.problems.map(({ setting, problem }) => `${setting} ${problem}`)].join('; ');
}

const ids = ({ grid }: Awaited<ReturnType<typeof made>>) => grid.rows.map(({ cells }) => cells[0]);

describe('a sheet to edit', () => {
  it('has the backlog, most urgent first, with what can be edited and its base', async () => {
    const sheet = await made();
    expect(ids(sheet)).toEqual(['t5', 't7', 't3', 't1', 't2', 't4', 't6', 't8', 't9', 'listed']);
    expect(sheet.grid.columns).toEqual([
      'topic_id',
      'title',
      'priority',
      'lifecycle_state',
      'archived',
      'archived_reason',
      'companies',
      'vip_companies',
      'summary',
      'issue_type',
      'people',
      'conversations',
      'messages',
      'base_priority',
      'base_lifecycle_state',
      'base_archived',
      'base_archived_reason',
      'base_updated_at',
    ]);
    expect(sheet).toMatchObject({ rows: 10, oldest: syncedAt });
  });

  it.each(['.csv', '.xlsx'])('read back as %s without an edit changes nothing', async (ending) => {
    for (const entityType of ['topic', 'company'] as const) {
      const out = join(emptyDir(), `sheet${ending}`);
      const { rows } = await writeEditSheet(snapshot, { out, entityType, where: 'true' });
      const queue = { all: () => [] };
      const parts = { store: warehouse, queue, settings };
      const prepared = await prepareImport(parts, await fromSheet({ path: out }), { requestedBy: 'kim' });
      expect(prepared).toMatchObject({ changes: [], problems: [], notes: [] });
      expect(prepared.preview.rows.unchanged).toBe(rows);
    }
  });

  it('neutralises formulas in CSV, and shows companies as well', async () => {
    const { path } = await made({ where: "id = 't3'" });
    expect(readFileSync(path, 'utf8')).toMatch(/\nt3,'=1\+1,default,.*,"'-5 °C\n/);
    const companies = await made({ entityType: 'company' });
    expect(companies.grid.columns.slice(0, 8)).toEqual([
      'company_id',
      'name',
      'is_vip',
      'our_company',
      'people',
      'messages',
      'last_seen_at',
      'primary_domain',
    ]);
    expect(companies.rows).toBe(3);
    expect(companies.grid.rows.flatMap(({ cells }) => (cells[3] === 'TRUE' ? [cells[0]] : []))).toEqual([
      '2',
    ]);
  });
});

it.each<[Partial<EditSheetOptions>, string]>([
  [{ where: 'priorty = 1' }, '--where'],
  [{ where: 'true); DROP TABLE topics; --' }, '--where'],
  [{ where: 'false' }, 'none that can be changed was selected'],
  [{ where: "id = 'gone'" }, 'none that can be changed was selected'],
])('a sheet to edit is refused: %j', async (options, text) => {
  expect(await refusal(options)).toContain(text);
});
