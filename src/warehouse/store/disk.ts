import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes sure that what was written to a file is on the disk. Never for the live file (see lock.ts). */
export function syncFile(path: string): void {
  synced(path, 'r+');
}

/** A rename, and a new name, is only on the disk when its directory is. */
export function syncDirectory(path: string): void {
  synced(path, 'r');
}

function synced(path: string, flags: string): void {
  const handle = openSync(path, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
