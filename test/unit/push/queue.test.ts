import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import type { Change } from '../../../src/push/change.js';
import { journalPath, Queue, readQueue } from '../../../src/push/queue.js';
import { emptyDir, open as openTemplate } from '../../support/open-warehouse.js';
import { newChange } from '../../support/pushing.js';

let dataDir: string;
let warehouse: Warehouse;
const open = () => Queue.open(warehouse, { dataDir }, systemClock);
const wish = (topic: string, row = 2) =>
  newChange({ topic, wanted: { priority: 'high' }, base: { priority: 'low' }, row });

beforeAll(async () => {
  warehouse = await openTemplate();
});
beforeEach(async () => {
  dataDir = emptyDir();
  await warehouse.run('DELETE FROM ops.changes');
});
afterAll(() => warehouse.close());

describe('Queue', () => {
  test.each(['\ud800', '\0', '\ud83d\ude00'])(
    'text of the API with %j is stored like any other',
    async (part) => {
      const queue = await open();
      const [one] = queue.add([wish('t1'), wish('t2')]) as [Change, Change];
      queue.update([one], { error: `about ${part}`, remoteBefore: { archived_reason: `it is ${part}` } });
      await queue.flush();
      const shown = part === '\ud83d\ude00' ? part : '\ufffd';
      expect((await open()).all()).toMatchObject([
        { revision: 2, error: `about ${shown}`, remoteBefore: { archived_reason: `it is ${shown}` } },
        { revision: 1 },
      ]);
    },
  );

  test('a cut line at the end, which was never acknowledged, is skipped, and the next line is readable', async () => {
    const queue = await open();
    const [added] = queue.add([wish('t1')]) as [Change];
    appendFileSync(journalPath(dataDir), JSON.stringify({ ...added, revision: 9 }).slice(0, 60));
    const again = await open();
    expect(again.all()).toEqual([added]);
    const [next] = again.add([wish('t2')]) as [Change];
    expect((await readQueue(null, { dataDir })).map(({ id }) => id)).toEqual([added.id, next.id]);
  });

  test('a line that is JSON but not a change is skipped with a warning, and no other line is lost', async () => {
    const queue = await open();
    const [added] = queue.add([wish('t1')]) as [Change];
    const { queuedAt: _, ...incomplete } = added;
    const lines = [{ ...incomplete, revision: 9 }, { id: 'c', revision: 1 }, 7, { ...added, status: 'lost' }];
    for (const line of lines) appendFileSync(journalPath(dataDir), `${JSON.stringify(line)}\n`);
    appendFileSync(journalPath(dataDir), `not JSON\n{"id": "cut o`);
    const warnings: string[] = [];
    const log = pino({ level: 'warn' }, { write: (text) => void warnings.push(text) });
    const again = await Queue.open(warehouse, { dataDir }, systemClock, log);
    const [next] = again.add([wish('t2')]) as [Change];
    expect(await readQueue(null, { dataDir }, log)).toEqual([added, next]);
    expect(warnings.map((text) => JSON.parse(text))).toMatchObject(
      [/^queuedAt: /, /^entityType: /, /^is not an object$/, /^status: /, /^cannot be read$/].map(
        (problem, index) => ({
          path: journalPath(dataDir),
          line: index + 2,
          problem: expect.stringMatching(problem),
        }),
      ),
    );
  });

  test('a transition that the table does not have is refused', async () => {
    const queue = await open();
    const [added] = queue.add([wish('t1')]) as [Change];
    const [sent] = queue.move([added], 'sending') as [Change];
    const [applied] = queue.move([sent], 'applied') as [Change];
    expect(applied.settledAt).not.toBeNull();
    expect(() => queue.move([applied], 'queued')).toThrow(/applied and cannot become queued/);
    // The stored status decides, not the status of the copy that is passed in.
    expect(() => queue.move([added], 'sending')).toThrow(/applied/);
  });

  test('a large journal is reduced to the open changes once the snapshot has the others', async () => {
    const queue = await open();
    const [open1, done] = queue.add([wish('t1'), wish('t2')]) as [Change, Change];
    queue.move([done], 'cancelled');
    await queue.flush();
    writeFileSync(
      journalPath(dataDir),
      `${readFileSync(journalPath(dataDir), 'utf8')}${' '.repeat(9 << 20)}\n`,
    );
    queue.compact();
    expect((await readQueue(null, { dataDir })).map(({ id }) => id)).toEqual([open1.id]);
    const [later] = queue.add([wish('t3')]) as [Change];
    expect((await readQueue(null, { dataDir })).map(({ id }) => id)).toEqual([open1.id, later.id]);
  });
});
