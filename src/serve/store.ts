import { type FileHandle, readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { writeAtomically } from '../base/atomic-file.js';
import { messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';

/** One value that outlives the process. */
export interface Store<T> {
  /** What was saved last; null when nothing was, or when it cannot be read any more. */
  load(): Promise<T | null>;
  save(value: T): Promise<void>;
}

/**
 * A value in a JSON file, readable by its owner alone. It is replaced in whole, so that a kill leaves the old one or
 * the new one; one that does not have the form of `schema` counts as none, with a warning. `save` rejects with what
 * the file system said.
 */
export function fileStore<T>(path: string, schema: z.ZodType<T>, log: Log): Store<T> {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async load() {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          log.warn({ path, err: error }, `cannot read ${path}: going on without it`);
        return null;
      }
      try {
        return schema.parse(JSON.parse(text));
      } catch (error) {
        log.warn(
          { path, problem: messageOf(error) },
          `${path} does not hold what it should: starting afresh`,
        );
        return null;
      }
    },
    save(value) {
      // One after the other: two writers of one temporary file would mix.
      const write = (file: FileHandle) => file.writeFile(JSON.stringify(value));
      const saved = last.then(() => writeAtomically(path, write, { mode: 0o600 }));
      last = saved.catch(() => undefined);
      return saved;
    },
  };
}
