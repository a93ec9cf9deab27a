import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

const made: string[] = [];

/** An empty folder, gone after the tests of the file. */
export function testFolder(): string {
  const path = mkdtempSync(join(inject('runFolder'), 'test-'));
  made.push(path);
  return path;
}

/** Called after each test file (after-file.ts): the files of a worker share this module. */
export function removeTestFolders(): void {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
}
