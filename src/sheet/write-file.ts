import { constants } from 'node:fs';
import { access, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { writeAtomically } from '../base/atomic-file.js';
import { messageOf, SignalhouseError, StorageError, UsageError } from '../base/errors.js';
import type { WriteOptions } from './spec.js';

/**
 * Writes a sheet's file, which appears whole or not at all. Raises UsageError when `out` already exists (without
 * `overwrite`) or its folder does not, and StorageError when the disk is full or the folder cannot be written to.
 */
export async function writeSheetFile(
  out: string,
  options: WriteOptions,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const path = resolve(out);
  if (!(await exists(dirname(path)))) throw new UsageError(`the folder ${dirname(path)} does not exist`);
  await refuseExisting(path, options);
  try {
    await writeAtomically(path, async (file) => {
      await write(file);
      // Collecting the rows may have taken a while.
      await refuseExisting(path, options);
    });
  } catch (error) {
    throw writeError(path, error);
  }
}

async function refuseExisting(path: string, { overwrite }: WriteOptions): Promise<void> {
  if (overwrite || !(await exists(path))) return;
  throw new UsageError(`${path} already exists`, [], { hint: 'Name another file, or pass --force.' });
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}

function writeError(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (error instanceof SignalhouseError || typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new StorageError(
    isFull ? `the disk is full: ${path} was not written` : `${path} cannot be written: ${messageOf(error)}`,
    {
      hint: isFull
        ? 'Free some space and run the command again.'
        : 'Check the permissions of its folder, and whether another program has the file open.',
      cause: error,
    },
  );
}
