import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from './test-folders.js';

/** A disk in memory that can be filled up to its last bytes, and emptied again. */
export class SmallDisk {
  readonly #root = testFolder();
  /** Where files can be put. */
  readonly path: string;

  constructor(megabytes: number) {
    this.path = join(this.#root, 'files');
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', this.#root], {
      stdio: 'pipe',
    });
    mkdirSync(this.path);
  }

  /** Leaves so many bytes free, and no more. */
  fill(free: number): void {
    const { bavail, bsize } = statfsSync(this.#root);
    writeFileSync(join(this.#root, 'ballast'), Buffer.alloc(bavail * bsize - free));
  }

  empty(): void {
    rmSync(join(this.#root, 'ballast'), { force: true });
  }

  remove(): void {
    execFileSync('umount', ['-l', this.#root], { stdio: 'pipe' });
  }
}

/**
 * Makes a file or folder read-only for everybody, root included, to whom modes mean nothing: a mount over itself. Returns
 * what undoes it.
 */
export function makeReadOnly(path: string): () => void {
  const mount = (...args: string[]) => execFileSync('mount', args, { stdio: 'pipe' });
  mount('--bind', path, path);
  mount('-o', 'remount,bind,ro', path);
  return () => execFileSync('umount', ['-l', path], { stdio: 'pipe' });
}

/** Whether this user may mount a disk of its own: root of a machine may, and of most containers may not. */
export const canMount = (() => {
  try {
    new SmallDisk(1).remove();
    return true;
  } catch {
    return false;
  }
})();
