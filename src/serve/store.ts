import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { writeAtomically } from '../base/atomic-file.js';
import { messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { oneAtATime } from '../base/one-at-a-time.js';

export interface Store<T> {
  /** The value saved last; null when there is none, or when it cannot be read. */
  load(): Promise<T | null>;
  save(value: T): Promise<void>;
}

/**
 * A value in a JSON file that only its owner can read, replaced atomically. A file that does not match `schema` counts as
 * none, with a warning. `save` rejects with the error of the file system.
 */
export function fileStore<T>(path: string, schema: z.ZodType<T>, log: Log): Store<T> {
  const inTurn = oneAtATime();
  return {
    async load() {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          log.warn({ path, err: error }, `cannot read ${path}: continuing without it`);
        return null;
      }
      try {
        return schema.parse(JSON.parse(text));
      } catch (error) {
        log.warn({ path, problem: messageOf(error) }, `${path} is not valid: starting without it`);
        return null;
      }
    },
    save(value) {
      // One write at a time, as writeAtomically requires.
      return inTurn(() => writeAtomically(path, (file) => file.writeFile(JSON.stringify(value))));
    },
  };
}
