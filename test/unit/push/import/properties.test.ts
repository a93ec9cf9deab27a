import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ImportSource } from '../../../../src/push/import/source.js';
import type { Cell } from '../../../../src/sheet/grid.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { propertyRuns } from '../../../support/runs.js';
import { Importing, town } from './support.js';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await town();
});
afterAll(() => warehouse.close());

const columns = [
  'topic_id',
  'priority',
  'lifecycle_state',
  'archived',
  'archived_reason',
  'base_priority',
  'base_archived',
  'base_updated_at',
] as const;

const id = fc.constantFrom<Cell[]>(
  't1',
  't2',
  't3',
  't4',
  'filed',
  'superseded',
  'listed',
  'gone',
  'nope',
  null,
);
const priority = fc.constantFrom<Cell[]>('high', 'Very low', 'default', 'hihg', null, null, 4);
const state = fc.constantFrom<Cell[]>('open', 'In progress', 'unknown', null, null);
const archived = fc.constantFrom<Cell[]>(true, 'no', 'x', 'perhaps', null, null);
const reason = fc.constantFrom<Cell[]>('dup', 'old', null, null, null);
const at = fc.constantFrom<Cell[]>(new Date('2026-02-01'), '2026-02-02', null);
const row = fc.tuple(id, priority, state, archived, reason, priority, archived, at);
/** Mostly good rows, so that something is queued. */
const goodRow = fc.tuple(
  fc.constantFrom<Cell[]>('t1', 't2', 't3', 't4', 'filed'),
  fc.constantFrom<Cell[]>('high', 'low', 'default', null),
  fc.constantFrom<Cell[]>('open', 'completed', null),
  fc.constantFrom<Cell[]>(true, false, null),
  fc.constant<Cell>(null),
);

/** Rows of few topics that agree in what they want, and differ in what their sheets showed. */
const agreeing = fc.tuple(
  fc.constantFrom<Cell[]>('t1', 't2'),
  fc.constant<Cell>('high'),
  fc.constant<Cell>(null),
  fc.constant<Cell>(null),
  fc.constant<Cell>(null),
  fc.constantFrom<Cell[]>('low', 'default', 'very_low'),
  fc.constant<Cell>(null),
  at,
);

let serial = 0;
/** A file of these rows; each is another file unless it is given a hash. */
function file(
  names: readonly string[],
  rows: readonly (readonly Cell[])[],
  hash: string | null = `h${++serial}`,
): ImportSource {
  const numbered = rows.map((cells, index) => ({ number: index + 2, cells }));
  return { grid: { columns: names, headerRow: 1, rows: numbered, notes: [] }, name: 'list.csv', hash };
}

const bare = columns.slice(0, 5);
const runs = { numRuns: propertyRuns(8, 200) };

it('importing twice queues nothing twice: the same file, the same rows in another file, or the same SQL', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(goodRow, { maxLength: 8 }),
      fc.constantFrom('file', 'other', 'sql'),
      async (rows, how) => {
        const importing = await Importing.on(warehouse);
        const hash = () => (how === 'sql' ? null : how === 'file' ? 'same' : undefined);
        const first = await importing.run(file(bare, rows, hash()), true);
        const again = await importing.run(file(bare, rows, hash()), true);
        expect(again.queued).toEqual([]);
        expect(importing.queue.all()).toHaveLength(first.queued.length);
      },
    ),
    runs,
  );
});

it('the order of columns and rows makes no difference', async () => {
  const either = fc.oneof(fc.array(row, { maxLength: 8 }), fc.array(agreeing, { maxLength: 5 }));
  const shuffled = either.chain((rows) =>
    fc.record({
      rows: fc.constant(rows),
      order: fc.shuffledSubarray([...rows.keys()], { minLength: rows.length }),
      places: fc.shuffledSubarray([...columns.keys()], { minLength: columns.length }),
    }),
  );
  const wishes = async (source: ImportSource) => {
    const { newChanges, problems } = await (await Importing.on(warehouse)).prepare(source, true);
    const wanted = newChanges.map(({ change: { entityId, wanted, base, baseFrom, baseAt } }) => ({
      ...{ entityId, wanted, base, baseFrom, baseAt },
    }));
    return {
      wanted: wanted.sort((a, b) => (a.entityId < b.entityId ? -1 : 1)),
      problems: problems.length,
    };
  };
  await fc.assert(
    fc.asyncProperty(shuffled, async ({ rows, order, places }) => {
      const other = order.map((from) => places.map((place) => rows[from]?.[place] ?? null));
      const names = places.map((place) => columns[place] ?? '');
      expect(await wishes(file(names, other))).toEqual(await wishes(file(columns, rows)));
    }),
    runs,
  );
});
