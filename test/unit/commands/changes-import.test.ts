import { beforeAll, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import { intakeOf } from '../../../src/commands/changes-import.js';
import { readQueue } from '../../../src/push/queue.js';
import type { Intake } from '../../../src/serve/http/writes.js';
import { ready } from '../../support/open-warehouse.js';
import { town } from '../push/import/support.js';
import { setupOf } from './support.js';

let dataDir: string;
let intake: Intake;
let locked: string[];
beforeAll(async () => {
  dataDir = await ready();
  const warehouse = await town(dataDir);
  await warehouse.publish();
  await warehouse.close();
  intake = intakeOf(setupOf(dataDir), (name, work) => {
    locked.push(name);
    return work();
  });
});

const rows = (...list: Record<string, unknown>[]) => ({ kind: 'rows', rows: list }) as const;

it('rows of JSON have the problems of an import, numbered from 1; a row without problems is held back', async () => {
  locked = [];
  const answer = await intake(
    rows(
      { topic_id: 't1', priority: 'High' },
      { topic_id: 't2', priority: 'urgent', note: 'mine' },
      { topic_id: 't3', priority: 'low', archived: 'perhaps' },
      {},
      { topic_id: 't4', priority: 'low' },
      { topic_id: 't4', priority: 'high' },
    ),
    'kim',
  );
  expect(answer.queued).toBe(0);
  expect(answer.problems).toMatchObject([
    { row: 2, column: 'priority', value: 'urgent', problem: 'is not a priority; did you mean very_high?' },
    { row: 3, column: 'archived', value: 'perhaps' },
    { row: 5, problem: expect.stringContaining('is not the same in all rows of this id (rows 5, 6)') },
    { row: 6, problem: expect.stringContaining('is not the same in all rows of this id (rows 5, 6)') },
  ]);
  expect(locked).toEqual(['an import']);
});

it('values of JSON are read as the text that they are; the same rows again queue nothing', async () => {
  const list = rows(
    { topic_id: 't5', archived: true, archived_reason: 4.5 },
    { topic_id: 't6', priority: 'HIGH', archived_reason: null },
  );
  expect(await intake(list, 'kim')).toEqual({ queued: 2, problems: [] });
  expect(await intake(list, 'kim')).toEqual({ queued: 0, problems: [] });
  const changes = (await readQueue(null, { dataDir })).sort((a, b) => (a.entityId < b.entityId ? -1 : 1));
  expect(changes).toMatchObject([
    {
      entityId: 't5',
      wanted: { archived: true, archived_reason: '4.5' },
      requestedBy: 'kim',
      source: 'HTTP',
    },
    { entityId: 't6', wanted: { priority: 'high' }, sourceRow: 2 },
  ]);
});

it.each([
  [{ topic_id: 't1', priority: ['high'] }, 'row 1, priority must be a string, a number, true, false or null'],
  [
    { company_id: 2 ** 53, is_vip: true },
    'row 1, company_id must be a string: a number with that many digits is rounded',
  ],
  [{ topic_id: 't1', priority: 'high\0' }, 'row 1, priority must not contain a NUL character'],
])('%j is refused before anything is locked', async (row, problem) => {
  locked = [];
  const error = await intake(rows(row), 'kim').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UsageError);
  const [first] = (error as UsageError).problems;
  expect(`${first?.setting} ${first?.problem}`).toBe(problem);
  expect(locked).toEqual([]);
});
