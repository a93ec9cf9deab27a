import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeAtomicallySync } from '../base/atomic-file.js';
import { type Clock, iso } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import type { Grid } from '../sheet/grid.js';
import { readSheet } from '../sheet/read.js';
import { enqueue, type ImportOptions, type PreparedImport, prepareImport } from './import/import.js';
import type { ImportParts, ImportReport, ImportRow } from './import/preview.js';
import type { ImportSource } from './import/source.js';
import type { Queue } from './queue.js';
import { enqueueUndo, type PreparedUndo, prepareUndo, type UndoOptions, type UndoReport } from './undo.js';

const leftOut = z.object({ what: z.string(), why: z.string() });

const previewSchema = z.object({
  /** The id of its import as well. */
  id: z.uuid(),
  kind: z.enum(['import', 'undo', 'decision']),
  /** The file's name; of an undo, that of what it undoes; of a decision, what is decided. */
  name: z.string(),
  by: z.string().nullable(),
  at: z.string(),
  /** The import that it undoes, or the changes that are decided. */
  about: z.array(z.string()),
  /** Of a file: the sheet that was read, and whether its bytes are kept. */
  sheet: z.string().optional(),
  hash: z.string().nullable(),
  /** `confirmed` is carried out, whatever happens to the process; the others say how it ended. */
  state: z.enum(['new', 'confirmed', 'done', 'cancelled', 'failed']),
  /** Rows, or changes of an undo, that were left out, and why. */
  leftOut: z.array(leftOut),
  /** How many of them there are: only the first are kept. */
  leftOutCount: z.number(),
  /** Why it failed; null unless it did. */
  problem: z.string().nullable(),
});

/** What somebody wants to do and was shown: an import, an undo, or a decision about changes. */
export type Preview = Readonly<z.infer<typeof previewSchema>>;

/** What was shown, and is queued when it is confirmed: the rows of an import with their grid where its bytes are not kept. */
type Plan =
  | {
      readonly kind: 'import';
      readonly prepared: PreparedImport;
      readonly rows: readonly ImportRow[];
      readonly grid?: Grid;
    }
  | { readonly kind: 'undo'; readonly prepared: PreparedUndo };

/** An imported file as it was, and the outcome of each row: enough to write it back with results. */
export interface ImportCopy {
  readonly name: string;
  readonly grid: Grid;
  readonly rows: readonly ImportRow[];
}

/** The most rows that are kept with their reasons; the result sheet has all of them. */
const mostLeftOut = 500;

/** How long a preview and its file are kept. */
const maxAgeMs = 90 * 24 * 3_600_000;

function importsFolder(dataDir: string): string {
  return join(dataDir, 'imports');
}

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
    this.#folder = importsFolder(dataDir);
  }

  /** Compares a sheet with what the warehouse and the queue have, and stores that. Raises what `prepareImport` raises. */
  async addImport(
    parts: ImportParts,
    source: ImportSource,
    options: ImportOptions,
  ): Promise<{ readonly preview: Preview; readonly prepared: PreparedImport }> {
    const id = options.importId ?? randomUUID();
    const prepared = await prepareImport(parts, source, { ...options, importId: id });
    const { bytes, name, grid, sheet, hash } = source;
    this.#makeFolder();
    if (bytes) this.#write(`${id}.file`, bytes);
    this.#savePlan(id, { kind: 'import', prepared, rows: prepared.rows, ...(!bytes && { grid }) });
    const preview = this.#new({ id, kind: 'import', name, by: prepared.requestedBy, hash, about: [] });
    return {
      preview: this.#save({ ...preview, sheet }),
      prepared,
    };
  }

  /** The same for the undo of changes, imports or files. Raises what `prepareUndo` raises. */
  async addUndo(
    parts: ImportParts,
    names: readonly string[],
    options: UndoOptions,
    name = names.join(', '),
  ): Promise<{ readonly preview: Preview; readonly prepared: PreparedUndo }> {
    const id = options.importId ?? randomUUID();
    const prepared = await prepareUndo(parts, names, { ...options, importId: id });
    this.#makeFolder();
    this.#savePlan(id, { kind: 'undo', prepared });
    const preview = this.#new({
      id,
      kind: 'undo',
      name,
      by: options.requestedBy,
      hash: null,
      about: [...names],
    });
    return { preview: this.#save(preview), prepared };
  }

  /** A decision about changes, which is carried out like what is confirmed. */
  addDecision(name: string, about: readonly string[], by: string): Preview {
    this.#makeFolder();
    const id = randomUUID();
    const preview = this.#new({ id, kind: 'decision', name, by, hash: null, about: [...about] });
    return this.#save({ ...preview, state: 'confirmed' });
  }

  /** What a preview shows. Raises UsageError when it is not kept any more. */
  plan({ id, name }: Preview): Plan {
    const path = join(this.#folder, `${id}.plan`);
    if (!existsSync(path))
      throw new UsageError(`The preview of ${name} is not kept any more.`, [], { hint: 'Make it again.' });
    return JSON.parse(readFileSync(path, 'utf8')) as Plan;
  }

  /**
   * Queues exactly what a preview of an import shows. After a kill in the middle, doing it again queues nothing twice. Raises
   * UsageError when it is not kept any more.
   */
  queueImport(queue: Queue, preview: Preview): ImportReport {
    const plan = this.plan(preview);
    if (plan.kind !== 'import') throw new Error(`${preview.id} is not the preview of an import`);
    const report = enqueue(queue, plan.prepared);
    this.#savePlan(preview.id, { ...plan, rows: report.rows });
    this.set(preview.id, { state: 'done', problem: null });
    return report;
  }

  /** The same for an undo. */
  queueUndo(queue: Queue, preview: Preview): UndoReport {
    const plan = this.plan(preview);
    if (plan.kind !== 'undo') throw new Error(`${preview.id} is not the preview of an undo`);
    const report = enqueueUndo(queue, plan.prepared);
    this.set(preview.id, { state: 'done', problem: null });
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
    const { leftOut: left = known.leftOut } = values;
    this.#save({ ...known, ...values, leftOut: left.slice(0, mostLeftOut) });
    if (values.state === 'cancelled')
      for (const ending of ['file', 'plan']) rmSync(join(this.#folder, `${id}.${ending}`), { force: true });
  }

  /** The file of an import with what became of its rows; null when it was not a file, or is too old. */
  async copy(importId: string): Promise<ImportCopy | null> {
    const preview = this.get(importId);
    if (preview?.kind !== 'import' || preview.hash === null || !this.#has(`${importId}.plan`)) return null;
    const plan = this.plan(preview);
    if (plan.kind !== 'import') return null;
    const { name, sheet } = preview;
    const grid = plan.grid ?? (await readSheet({ bytes: this.#bytes(preview), name }, { sheet }));
    return { name, grid, rows: plan.rows };
  }

  hasCopy(importId: string): boolean {
    return this.#has(`${importId}.plan`) && this.get(importId)?.hash != null;
  }

  #bytes({ id, name }: Preview): Uint8Array {
    const path = join(this.#folder, `${id}.file`);
    if (!existsSync(path))
      throw new UsageError(`${name} is not kept any more.`, [], { hint: 'Send the file again.' });
    return readFileSync(path);
  }

  #has(name: string): boolean {
    return existsSync(join(this.#folder, name));
  }

  #makeFolder(): void {
    makeFolder(this.#folder);
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
      if (Date.now() - mtimeMs > maxAgeMs) rmSync(path, { force: true });
    }
  }

  #new(given: Pick<Preview, 'id' | 'kind' | 'name' | 'by' | 'hash' | 'about'>): Preview {
    const nothing = { leftOut: [], leftOutCount: 0, problem: null };
    return { ...given, ...nothing, at: iso(this.clock.now()), state: 'new' };
  }

  #save(value: Preview): Preview {
    this.#write(`${value.id}.json`, Buffer.from(JSON.stringify(value)));
    return value;
  }

  #savePlan(id: string, plan: Plan): void {
    this.#write(`${id}.plan`, Buffer.from(JSON.stringify(plan)));
  }

  #write(name: string, bytes: Uint8Array): void {
    writeAtomicallySync(join(this.#folder, name), bytes);
  }

  #read(name: string): Preview | null {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return null;
    return previewSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  }
}
