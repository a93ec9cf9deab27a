import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { UsageError } from '../../../src/base/errors.js';
import { Uploads } from '../../../src/push/uploads.js';
import { testFolder } from '../../support/test-folders.js';

const sheet = Buffer.from('topic_id,priority\nt1,high\n');

it('are read as they were sent', async () => {
  const dataDir = testFolder();
  const added = await new Uploads({ dataDir }, systemClock).addSheet('l.csv', sheet, 'anna');
  const uploads = new Uploads({ dataDir }, systemClock);
  expect(uploads.all()).toEqual([added]);
  expect((await uploads.source(added)).grid.rows[0]?.cells).toEqual(['t1', 'high']);
});

it('that are cancelled lose their file; what is no sheet, or no id, is nothing', async () => {
  const dataDir = testFolder();
  const uploads = new Uploads({ dataDir }, systemClock);
  for (const text of ['', 'name\nx\n'])
    await expect(uploads.addSheet('l.csv', Buffer.from(text), 'anna')).rejects.toThrow(UsageError);
  expect(uploads.all()).toEqual([]);
  const added = await uploads.addSheet('l.csv', sheet, 'anna');
  uploads.set(added.id, { state: 'cancelled' });
  expect(uploads.get(added.id)?.state).toBe('cancelled');
  await expect(uploads.source(added)).rejects.toThrow('not kept any more');
  for (const id of ['../../signals', `${added.id}/..`, '']) expect(uploads.get(id)).toBeNull();
});
