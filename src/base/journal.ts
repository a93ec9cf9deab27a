import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { privateMode, syncDirectory, whenFull, writeAll, writeAtomicallySync } from './atomic-file.js';
import { portions } from './group-by.js';
import { jsonOf } from './json.js';

/** How many lines are made and written at once. */
const linesAtOnce = 1_000;

/** Ends a line that a kill cut off, to distinguish it from one that was damaged later. */
const cutOff = ' (cut off)';

/**
 * A file that only grows: a line of JSON for each value. A value is on the disk before anything is
 * reported or sent because of it. A kill can cut off the last line, which was never acknowledged and is skipped.
 */
export class Journal {
  constructor(readonly path: string) {}

  /** Appends values; they are on the disk when this returns. */
  append(values: readonly unknown[]): void {
    for (const some of portions(values, linesAtOnce))
      this.#appendLines(some.map((one) => JSON.stringify(one)));
  }

  /** The values in their order; none where there is no file. */
  values<T>(): T[] {
    return this.lines().flatMap(({ value }) => (value === undefined ? [] : [value as T]));
  }

  /** The lines with their numbers, but for those that were cut off; the value of one that cannot be read is undefined. */
  lines(): { readonly line: number; readonly value: unknown }[] {
    return this.#stored().flatMap(({ line, text, isCutOff }) => {
      const value = jsonOf(text);
      return value === undefined && isCutOff ? [] : [{ line, value }];
    });
  }

  /** Replaces the file with these values. */
  replace(values: readonly unknown[]): void {
    this.#replaceLines(values.map((one) => JSON.stringify(one)));
  }

  /**
   * Rewrites the lines that `change` changes; returns how many. `dryRun` only counts. Call it while nothing else uses the
   * journal.
   */
  rewrite(change: (line: string) => string, { dryRun = false }: { readonly dryRun?: boolean } = {}): number {
    let changed = 0;
    const lines = this.#stored().map(({ text, isCutOff }) => {
      const rewritten = change(text);
      if (rewritten !== text) changed += 1;
      return `${rewritten}${isCutOff ? cutOff : ''}`;
    });
    if (!dryRun && changed > 0) this.#replaceLines(lines);
    return changed;
  }

  /** The lines with their numbers, without what marks one that was cut off. */
  #stored(): { readonly line: number; readonly text: string; readonly isCutOff: boolean }[] {
    const all = existsSync(this.path) ? readFileSync(this.path, 'utf8').split('\n') : [];
    return all.flatMap((stored, index) => {
      if (stored.trim() === '') return [];
      const isMarked = stored.endsWith(cutOff);
      const text = isMarked ? stored.slice(0, -cutOff.length) : stored;
      return [{ line: index + 1, text, isCutOff: isMarked || index === all.length - 1 }];
    });
  }

  #replaceLines(lines: readonly string[]): void {
    writeAtomicallySync(this.path, lines.map((line) => `${line}\n`).join(''));
  }

  /**
   * A line that a kill cut off is ended first: otherwise the first new one would be unreadable too. Where another process took
   * the file away meanwhile, it may not have read them: they are appended to the new file as well.
   */
  #appendLines(lines: readonly string[]): void {
    for (let isThere = false; !isThere; ) {
      const isNew = !existsSync(this.path);
      const file = openSync(this.path, 'a+', privateMode);
      try {
        if (isNew) syncDirectory(dirname(this.path));
        writeAll(file, `${isTorn(file) ? `${cutOff}\n` : ''}${lines.join('\n')}\n`);
        fsyncSync(file);
        isThere = statSync(this.path, { throwIfNoEntry: false })?.ino === fstatSync(file).ino;
      } catch (error) {
        throw whenFull(error, this.path);
      } finally {
        closeSync(file);
      }
    }
  }
}

function isTorn(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
}
