import { constants } from 'node:fs';
import { access, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { writeAtomically } from '../base/atomic-file.js';
import { messageOf, SignalhouseError, StorageError, UsageError } from '../base/errors.js';
import type { WriteOptions } from './spec.js';

/**
 * Writes a file that appears whole or not at all: `write` fills a temporary file beside it, which is brought to the
 * disk and renamed. Raises UsageError when `out` is there already (without `overwrite`) or its folder is not, and
 * StorageError when the disk is full, or the folder cannot be written to.
 */
export async function place(
  out: string,
  options: WriteOptions,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const path = resolve(out);
  if (!(await exists(dirname(path)))) throw new UsageError(`there is no folder ${dirname(path)}`);
  await refuseExisting(path, options);
  try {
    await writeAtomically(path, async (file) => {
      await write(file);
      // Gathering the rows may have taken a while.
      await refuseExisting(path, options);
    });
  } catch (error) {
    throw fault(path, error);
  }
}

async function refuseExisting(path: string, { overwrite }: WriteOptions): Promise<void> {
  if (overwrite || !(await exists(path))) return;
  throw new UsageError(`${path} is there already`, [], { hint: 'Name another file, or pass --force.' });
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}

function fault(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (error instanceof SignalhouseError || typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return error;
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new StorageError(
    full ? `the disk is full: ${path} was not written` : `${path} cannot be written: ${messageOf(error)}`,
    {
      hint: full
        ? 'Free some space and run the command again.'
        : 'Look at the permissions of its folder, and whether a program holds the file open.',
      cause: error,
    },
  );
}
