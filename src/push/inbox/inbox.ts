import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { moveFile } from '../../base/atomic-file.js';
import type { Clock } from '../../base/clock.js';
import { messageOf, StorageError, UsageError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import { writeGrid } from '../../sheet/write.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import { enqueue } from '../import/enqueue.js';
import { keepImport } from '../import/kept.js';
import { prepareImport } from '../import/prepare.js';
import type { CostSettings } from '../import/preview.js';
import type { ImportReport } from '../import/report.js';
import { fromSheet, type ImportSource } from '../import/source.js';
import type { Queue } from '../queue/queue.js';
import { resultColumns, rowResults } from '../result.js';
import { besideOf, inboxOf, makeInbox, placeIn, settledFiles, sheetsIn } from './files.js';

export interface InboxParts {
  readonly dataDir: string;
  readonly queue: Queue;
  readonly warehouse: Warehouse;
  readonly settings: CostSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Who wants what lies in the folder. */
  readonly requestedBy: string;
}

/** What became of a file of the drop folder. */
export interface InboxFile {
  readonly name: string;
  /** `waiting`: imported, and some of its changes are still in the queue; it stays where it is until they are settled. */
  readonly outcome: 'done' | 'rejected' | 'waiting' | 'being_written';
  readonly queued: number;
  readonly problems: number;
  /** Where it is now. */
  readonly path: string;
}

interface Taken {
  readonly path: string;
  readonly source: ImportSource;
  readonly report: ImportReport;
}

/**
 * The drop folder: `take` imports what lies there, before a push; `giveBack` hands each file back with its results,
 * after it. A kill in between loses nothing: a file that is still there is recognized as imported.
 */
export class Inbox {
  readonly #parts: InboxParts;
  readonly #taken: Taken[] = [];
  readonly #files: InboxFile[] = [];

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Imports every sheet that is written to its end; one with a wrong row goes to `rejected/` with every reason. */
  async take(): Promise<void> {
    const { dataDir, clock } = this.#parts;
    makeInbox(dataDir);
    const all = sheetsIn(dataDir);
    const settled = await settledFiles(all, clock);
    for (const path of all.filter((one) => !settled.includes(one))) {
      this.#files.push({ name: basename(path), outcome: 'being_written', queued: 0, problems: 0, path });
    }
    for (const path of settled) {
      try {
        await this.#import(path);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        this.#refuse(path, error);
      }
    }
  }

  async #import(path: string): Promise<void> {
    const { queue, warehouse, settings, requestedBy, dataDir, log } = this.#parts;
    const source = await fromSheet({ path });
    const prepared = await prepareImport({ store: warehouse, queue, settings }, source, { requestedBy });
    const report = enqueue(queue, prepared);
    if (report.outcome === 'refused') return this.#reject(path, source, report);
    keepImport(dataDir, source, report);
    this.#taken.push({ path, source, report });
    log.info({ file: basename(path), queued: report.queued.length }, 'imported from the drop folder');
  }

  /** Hands back the files whose changes are all settled, each beside its result. */
  async giveBack(): Promise<readonly InboxFile[]> {
    const { queue, dataDir, clock } = this.#parts;
    for (const { path, source, report } of this.#taken) {
      const name = basename(path);
      const queued = report.queued.length;
      const open = report.rows.some(({ changeId }) => {
        const status = changeId === null ? undefined : queue.get(changeId)?.status;
        return status === 'queued' || status === 'sending';
      });
      if (open) {
        this.#files.push({ name, outcome: 'waiting', queued, problems: 0, path });
        continue;
      }
      const to = placeIn(inboxOf(dataDir).done, path, new Date(clock.now()));
      await this.#writeResult(besideOf(to, 'result'), source, report);
      moveFile(path, to);
      this.#files.push({ name, outcome: 'done', queued, problems: 0, path: to });
    }
    return this.#files;
  }

  /** Rows are wrong: the file with the reasons in its rows, so that they can be mended where they stand. */
  async #reject(path: string, source: ImportSource, report: ImportReport): Promise<void> {
    const { dataDir, clock, log } = this.#parts;
    const to = placeIn(inboxOf(dataDir).rejected, path, new Date(clock.now()));
    await this.#writeResult(besideOf(to, 'result'), source, report);
    moveFile(path, to);
    const problems = report.problems.length;
    this.#files.push({ name: basename(path), outcome: 'rejected', queued: 0, problems, path: to });
    log.warn({ file: basename(path), problems }, 'rejected from the drop folder: rows are wrong');
  }

  /** It is no sheet, or does not say what it shall change: the reason lies beside it, in words. */
  #refuse(path: string, error: UsageError): void {
    const { dataDir, clock, log } = this.#parts;
    const to = placeIn(inboxOf(dataDir).rejected, path, new Date(clock.now()));
    const problems = error.problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    const lines = [error.message, ...problems, ...(error.hint ? [error.hint] : [])];
    try {
      writeFileSync(`${to}.reason.txt`, `${lines.join('\n')}\n`);
      moveFile(path, to);
    } catch (fault) {
      throw new StorageError(`the drop folder cannot be written to: ${messageOf(fault)}`, { cause: fault });
    }
    this.#files.push({ name: basename(path), outcome: 'rejected', queued: 0, problems: 1, path: to });
    log.warn({ file: basename(path), reason: error.message }, 'rejected from the drop folder');
  }

  #writeResult(out: string, { grid }: ImportSource, report: ImportReport): Promise<void> {
    const { queue } = this.#parts;
    const results = rowResults(report.rows, (id) => queue.get(id));
    return writeGrid(out, grid, resultColumns(results), { overwrite: true });
  }
}
