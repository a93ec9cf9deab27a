import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { EncryptionKey } from '../../../src/base/encryption.js';
import { UsageError } from '../../../src/base/errors.js';
import { importsFolder, reencryptImportCopies } from '../../../src/push/import/source.js';
import { Uploads } from '../../../src/push/uploads.js';
import { testFolder } from '../../support/test-folders.js';

const sheet = Buffer.from('topic_id,priority\nt1,high\n');

it('are encrypted where the data directory is, and follow a change of its key', async () => {
  const dataDir = testFolder();
  const [old, encryptionKey] = ['a', 'b'].map((letter) => new EncryptionKey(letter.repeat(40))) as [
    EncryptionKey,
    EncryptionKey,
  ];
  const added = await new Uploads({ dataDir, encryptionKey: old }, systemClock).addSheet(
    'l.csv',
    sheet,
    'anna',
  );
  const folder = importsFolder(dataDir);
  for (const name of readdirSync(folder))
    expect(readFileSync(join(folder, name)).toString('latin1')).not.toMatch(/priority|anna/);
  reencryptImportCopies({ dataDir, encryptionKey }, old);
  const uploads = new Uploads({ dataDir, encryptionKey }, systemClock);
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
