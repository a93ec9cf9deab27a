import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeAtomicallySync } from '../base/atomic-file.js';
import { type Clock, iso } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import type { Grid } from '../sheet/grid.js';
import { readSheet } from '../sheet/read.js';
import type { ImportSource } from './import/source.js';
import { confirmPlan, type ImportRow, type Plan, type PlanReport } from './plan.js';
import type { Queue } from './queue.js';

const leftOut = z.object({ what: z.string(), why: z.string() });

const previewSchema = z.object({
  /** The id of its import as well. */
  id: z.uuid(),
  kind: z.enum(['import', 'undo', 'decision']),
  /** The file's name; of an undo, what it undoes; of a decision, what is decided. */
  name: z.string(),
  by: z.string().nullable(),
  at: z.string(),
  /** The changes that are decided. */
  about: z.array(z.string()),
  /** Whether it shows anything to confirm, or a conflict. */
  hasChanges: z.boolean(),
  /** Of a file: the sheet that was read, and the hash of its bytes. */
  sheet: z.string().optional(),
  hash: z.string().nullable(),
  /** `confirmed` is carried out, whatever happens to the process; the others say how it ended. */
  state: z.enum(['new', 'confirmed', 'done', 'cancelled', 'failed']),
  /** What was left out, and why; only the first are kept. */
  leftOut: z.array(leftOut),
  leftOutCount: z.number(),
  /** Why it failed; null unless it did. */
  problem: z.string().nullable(),
});

/** What a person wants to do and was shown: an import, an undo, or a decision about changes. */
export type Preview = Readonly<z.infer<typeof previewSchema>>;

/** What was shown; the rows of an import with their grid where its bytes are not kept. */
interface Stored {
  readonly plan: Plan;
  readonly grid?: Grid;
}

/** An imported file as it was, and the outcome of each row: enough to write it back with results. */
export interface ImportCopy {
  readonly name: string;
  readonly grid: Grid;
  readonly rows: readonly ImportRow[];
}

/** The most rows that are kept with their reasons; the result sheet has all of them. */
const maxLeftOut = 500;

/** How long a preview and its file are kept. */
const maxAgeMs = 90 * 24 * 3_600_000;

/**
 * The previews of a data directory, in files of its folder `imports`: `ID.json` is the preview, `ID.plan` what it shows, and
 * `ID.file` the bytes of a sheet. They are made without the warehouse, which a run may hold; confirming one queues exactly what
 * it shows. What a call stores is on the disk when it returns.
 */
export class Previews {
  readonly #folder: string;

  constructor(
    dataDir: string,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.#folder = join(dataDir, 'imports');
  }

  /** Stores what a plan shows; `source` is its file. */
  add(plan: Plan, source?: ImportSource): Preview {
    const { importId: id, kind, requestedBy: by, sourceHash: hash } = plan;
    this.#makeFolder();
    if (source?.bytes) this.#write(`${id}.file`, source.bytes);
    this.#savePlan({ plan, ...(source && !source.bytes && { grid: source.grid }) });
    const hasChanges = plan.changes.length > 0 || plan.rows.some(({ outcome }) => outcome === 'conflict');
    return this.#new({ id, kind, name: plan.source, by, hash, hasChanges, about: [], sheet: source?.sheet });
  }

  /** A decision about changes, which is carried out like what is confirmed. */
  addDecision(id: string, name: string, about: readonly string[], by: string): Preview {
    this.#makeFolder();
    const preview = this.#new({
      id,
      kind: 'decision',
      name,
      by,
      hash: null,
      hasChanges: true,
      about: [...about],
    });
    return this.#save({ ...preview, state: 'confirmed' });
  }

  /** What a preview shows. Raises UsageError when it is not kept any more. */
  plan(preview: Preview): Plan {
    return this.#stored(preview).plan;
  }

  /**
   * Queues exactly what a preview shows. After a kill in the middle, doing it again queues nothing twice. Raises UsageError when
   * it is not kept any more.
   */
  confirm(queue: Queue, preview: Preview): PlanReport {
    const { plan, ...rest } = this.#stored(preview);
    const report = confirmPlan(queue, plan);
    this.#savePlan({ plan: { ...plan, rows: report.rows }, ...rest });
    const own = new Set([...report.queued, ...report.conflicts]);
    const titles = new Map(plan.changes.flatMap(({ rows, title }) => rows.map((row) => [row, title])));
    const nameOf = (row: number) => {
      const title = titles.get(row) ?? null;
      return title === null ? `Row ${row}` : `Row ${row}, ${title}`;
    };
    const others = report.rows.flatMap(({ row, outcome, text, changeId }) =>
      text !== null && outcome !== 'invalid' && !own.has(changeId ?? '')
        ? [{ what: nameOf(row), why: text }]
        : [],
    );
    const left = [...report.leftOut, ...others];
    this.set(preview.id, {
      state: 'done',
      problem: null,
      leftOut: left.slice(0, maxLeftOut),
      leftOutCount: left.length,
    });
    return report;
  }

  /** Null when there is none with this id. */
  get(id: string): Preview | null {
    return z.uuid().safeParse(id).success ? this.#read(`${id}.json`) : null;
  }

  /** Every one that is kept, newest first. */
  all(): Preview[] {
    const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
    return names
      .flatMap((name) => (name.endsWith('.json') ? (this.#read(name) ?? []) : []))
      .sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  set(id: string, values: Partial<Omit<Preview, 'id'>>): void {
    const known = this.get(id);
    if (known === null) return;
    this.#save({ ...known, ...values });
    if (values.state === 'cancelled')
      for (const ending of ['file', 'plan']) rmSync(join(this.#folder, `${id}.${ending}`), { force: true });
  }

  /** The file of an import with the outcome of its rows; null when it was not a file, or is too old. */
  async copy(importId: string): Promise<ImportCopy | null> {
    const preview = this.get(importId);
    if (preview === null || !this.hasCopy(importId)) return null;
    const { plan, grid } = this.#stored(preview);
    const { name, sheet } = preview;
    const bytes = grid ? null : readFileSync(this.#path(`${importId}.file`));
    return {
      name,
      grid: grid ?? (await readSheet({ bytes: bytes ?? new Uint8Array(), name }, { sheet })),
      rows: plan.rows,
    };
  }

  hasCopy(importId: string): boolean {
    return existsSync(this.#path(`${importId}.plan`)) && this.get(importId)?.hash != null;
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #stored({ id, name }: Preview): Stored {
    const path = this.#path(`${id}.plan`);
    if (!existsSync(path))
      throw new UsageError(`The preview of ${name} is not kept any more.`, [], { hint: 'Make it again.' });
    return JSON.parse(readFileSync(path, 'utf8')) as Stored;
  }

  #makeFolder(): void {
    makeFolder(this.#folder);
    for (const name of readdirSync(this.#folder)) {
      const { mtimeMs } = statSync(this.#path(name), { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
      if (Date.now() - mtimeMs > maxAgeMs) rmSync(this.#path(name), { force: true });
    }
  }

  #new(
    given: Pick<Preview, 'id' | 'kind' | 'name' | 'by' | 'hash' | 'hasChanges' | 'about' | 'sheet'>,
  ): Preview {
    const nothing = { leftOut: [], leftOutCount: 0, problem: null };
    return this.#save({ ...given, ...nothing, at: iso(this.clock.now()), state: 'new' });
  }

  #save(value: Preview): Preview {
    this.#write(`${value.id}.json`, Buffer.from(JSON.stringify(value)));
    return value;
  }

  #savePlan(stored: Stored): void {
    this.#write(`${stored.plan.importId}.plan`, Buffer.from(JSON.stringify(stored)));
  }

  #write(name: string, bytes: Uint8Array): void {
    writeAtomicallySync(this.#path(name), bytes);
  }

  #read(name: string): Preview | null {
    const path = this.#path(name);
    if (!existsSync(path)) return null;
    return previewSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  }
}
