import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fromSheet } from '../../../../src/push/import/source.js';
import { maxFileBytes } from '../../../../src/sheet/grid.js';
import { emptyDir } from '../../../support/open-warehouse.js';

describe('a file', () => {
  it('is known by its name and content, also from a stream', async () => {
    const path = join(emptyDir(), 'list.csv');
    writeFileSync(path, 'topic_id\nt1\n');
    const file = await fromSheet({ path });
    const pieces = async function* () {
      yield Buffer.from('topic_id\n');
      yield Buffer.from('t1\n');
    };
    const stream = await fromSheet({ stream: pieces(), name: 'standard input' });
    expect({ ...stream, name: 'list.csv' }).toEqual(file);
    expect(stream.name).toBe('standard input');
    writeFileSync(path, 'topic_id\nt2\n');
    expect((await fromSheet({ path })).hash).not.toBe(file.hash);
  });

  it('without an end is not read to its end', async () => {
    let read = 0;
    const endless = async function* () {
      for (;;) {
        read += 1 << 20;
        yield Buffer.alloc(1 << 20);
      }
    };
    await expect(fromSheet({ stream: endless(), name: 'standard input' })).rejects.toThrow(
      'standard input is larger than 50 MB',
    );
    expect(read).toBeLessThan(maxFileBytes + (4 << 20));
  });
});
