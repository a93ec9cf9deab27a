import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeAtomicallySync } from '../base/atomic-file.js';
import { type Clock, iso } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import { parseHeader } from './import/header.js';
import { fromSheet, type ImportSource, importsFolder } from './import/source.js';

const upload = z.object({
  /** The id of its import as well. */
  id: z.uuid(),
  /** The file's name; of an undo, that of the sheet that it undoes. */
  name: z.string(),
  by: z.string(),
  at: z.string(),
  /** The import that it undoes; null for a sheet. */
  undoes: z.string().nullable(),
  followMerges: z.boolean(),
  /** `confirmed` is carried out, whatever happens to the process; the others say how it ended. */
  state: z.enum(['new', 'confirmed', 'done', 'cancelled', 'failed']),
  /** Rows, or changes of an undo, that were left out, and why. */
  leftOut: z.array(z.object({ what: z.string(), why: z.string() })),
  /** How many of them there are: only the first are kept. */
  leftOutCount: z.number(),
  /** Why it failed; null unless it did. */
  problem: z.string().nullable(),
});

/** A sheet that a person sent to the page for sheets, or an undo that was asked for there. */
export type Upload = Readonly<z.infer<typeof upload>>;

/** The most rows that are kept with their reasons; the result sheet has all of them. */
const mostLeftOut = 500;

/**
 * What people sent to the page for sheets, beside the copies of imports, so that it is forgotten and removed after
 * 90 days with them. What a call stores is on the disk when it returns.
 */
export class Uploads {
  readonly #folder: string;

  constructor(
    { dataDir }: { readonly dataDir: string },
    private readonly clock: Clock,
  ) {
    this.#folder = importsFolder(dataDir);
  }

  /** Stores a sheet. Raises UsageError for a file that is not one, or does not say what to change; then nothing is stored. */
  async addSheet(name: string, bytes: Uint8Array, by: string): Promise<Upload> {
    const { grid } = await fromSheet({ bytes, name });
    parseHeader(grid.columns, name, grid.sheets);
    const added = this.#new({ name, by, undoes: null });
    this.#write(`${added.id}.file`, bytes);
    return this.#save(added);
  }

  addUndo(of: Pick<Upload, 'id' | 'name'>, by: string): Upload {
    return this.#save(this.#new({ name: of.name, by, undoes: of.id }));
  }

  #new(given: Pick<Upload, 'name' | 'by' | 'undoes'>): Upload {
    makeFolder(this.#folder);
    const nothing = { leftOut: [], leftOutCount: 0, problem: null };
    const at = iso(this.clock.now());
    return { id: randomUUID(), at, ...given, followMerges: false, state: 'new', ...nothing };
  }

  /** Null when there is none with this id. */
  get(id: string): Upload | null {
    return z.uuid().safeParse(id).success ? this.#read(`${id}.upload`) : null;
  }

  /** Every one that is kept, newest first. */
  all(): Upload[] {
    const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
    return names
      .flatMap((name) => (name.endsWith('.upload') ? (this.#read(name) ?? []) : []))
      .sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  set(id: string, values: Partial<Omit<Upload, 'id'>>): void {
    const known = this.get(id);
    if (known === null) return;
    const { leftOut = known.leftOut } = values;
    this.#save({ ...known, ...values, leftOut: leftOut.slice(0, mostLeftOut) });
    if (values.state === 'cancelled') rmSync(join(this.#folder, `${id}.file`), { force: true });
  }

  /** The sheet as an import reads it. Raises UsageError when its file is not kept any more. */
  async source({ id, name }: Upload): Promise<ImportSource> {
    const path = join(this.#folder, `${id}.file`);
    if (!existsSync(path))
      throw new UsageError(`${name} is not kept any more.`, [], { hint: 'Send the file again.' });
    return fromSheet({ bytes: readFileSync(path), name });
  }

  #save(value: Upload): Upload {
    this.#write(`${value.id}.upload`, Buffer.from(JSON.stringify(value)));
    return value;
  }

  #write(name: string, bytes: Uint8Array): void {
    writeAtomicallySync(join(this.#folder, name), bytes);
  }

  #read(name: string): Upload | null {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return null;
    return upload.parse(JSON.parse(readFileSync(path, 'utf8')));
  }
}
