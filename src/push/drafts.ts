import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeAtomicallySync } from '../base/atomic-file.js';
import { type Clock, iso } from '../base/clock.js';
import { StorageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { plainWord, valueText } from '../base/units.js';
import { entityKey, onThePage } from './change.js';
import { isSame } from './compare.js';
import { archivedReason, entityTypes, type Value, type Values } from './fields.js';
import { type LeftOut, type Plan, type PlanParts, planOf, type Wish } from './plan.js';
import type { Previews } from './previews.js';
import { type StoredEntity, storedEntitiesOf } from './stored.js';

const value = z.union([z.string(), z.boolean(), z.null()]);

const editSchema = z.object({
  entityType: z.enum(entityTypes),
  entityId: z.string(),
  field: z.string(),
  /** What the page showed when it was edited. */
  seen: value,
  wanted: value,
  at: z.string(),
  /** Grows with each edit of the draft. */
  no: z.number(),
});

const draftSchema = z.object({
  by: z.string(),
  reason: z.string(),
  edits: z.array(editSchema),
  /** The number of the last edit. */
  last: z.number(),
  /** The last preview that was made of it, and the last edit that it shows. */
  reviewed: z.object({ id: z.string(), upTo: z.number() }).nullable(),
});

/** One field of a topic or company that a person wants to be otherwise, and has not sent yet. */
export type DraftEdit = Readonly<z.infer<typeof editSchema>>;

/** What one person has edited on the pages about topics and not sent yet: at most one edit of each field. */
export type Draft = Readonly<Omit<z.infer<typeof draftSchema>, 'edits'>> & {
  readonly edits: readonly DraftEdit[];
};

const ending = '.draft';

/**
 * The drafts of a data directory: one file a person, in the folder of the previews, which removes them as it removes those. What
 * a call stores is on the disk when it returns.
 */
export class Drafts {
  readonly #folder: string;

  constructor(
    dataDir: string,
    private readonly previews: Pick<Previews, 'get' | 'set'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.#folder = join(dataDir, 'imports');
  }

  of(by: string): Draft {
    return this.#read(fileOf(by)) ?? { by, reason: '', edits: [], last: 0, reviewed: null };
  }

  /** Those that are not empty; one whose file cannot be read is its owner's to hear of. */
  all(): Draft[] {
    const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
    return names
      .flatMap((name) => {
        try {
          return name.endsWith(ending) ? (this.#read(name) ?? []) : [];
        } catch (error) {
          if (error instanceof StorageError) return [];
          throw error;
        }
      })
      .filter(({ edits }) => edits.length > 0);
  }

  /** Adds edits. A field that was edited before keeps what was seen then; one that is as it was seen is edited no more. */
  edit(by: string, edits: readonly Omit<DraftEdit, 'at' | 'no'>[]): void {
    const draft = this.of(by);
    const all = new Map(draft.edits.map((one) => [keyOf(one), one]));
    const [at, no] = [iso(this.clock.now()), draft.last + 1];
    for (const one of edits) {
      const before = all.get(keyOf(one));
      const seen = before ? before.seen : one.seen;
      if (before && isSame(one.wanted, before.wanted)) continue;
      if (isSame(one.wanted, seen)) all.delete(keyOf(one));
      else all.set(keyOf(one), { ...one, seen, at, no });
    }
    this.#save({ ...draft, edits: [...all.values()], last: no });
  }

  /** Discards edits, or has them replace what is there now: `now` returns what the page shows of a field. */
  settle(
    by: string,
    keys: readonly string[],
    now: ((edit: DraftEdit) => Value | undefined) | 'discard',
  ): void {
    const chosen = new Set(keys);
    const draft = this.of(by);
    const edits = draft.edits.flatMap((one) => {
      if (!chosen.has(keyOf(one))) return [one];
      if (now === 'discard') return [];
      return [{ ...one, seen: now(one) ?? one.seen, at: iso(this.clock.now()), no: draft.last + 1 }];
    });
    this.#save({ ...draft, edits, last: draft.last + 1 });
  }

  explain(by: string, reason: string): void {
    this.#save({ ...this.of(by), reason });
  }

  /** Notes that a preview shows what a draft has: these edits go with its confirmation. An earlier preview is cancelled. */
  reviewed({ by, last: upTo }: Draft, id: string): void {
    const draft = this.of(by);
    const before = draft.reviewed && this.previews.get(draft.reviewed.id);
    if (before?.state === 'new') this.previews.set(before.id, { state: 'cancelled' });
    this.#save({ ...draft, reviewed: { id, upTo } });
  }

  /** Null when there is none; throws StorageError for a file that is not a draft. What was confirmed is in the queue, and no draft any more: a kill between the two changes nothing. */
  #read(name: string): Draft | null {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return null;
    const draft = draftIn(path);
    const { reviewed } = draft;
    const state = reviewed && this.previews.get(reviewed.id)?.state;
    if (!reviewed || !state || state === 'new' || state === 'cancelled') return draft;
    const edits = draft.edits.filter(({ no }) => no > reviewed.upTo);
    const left = { ...draft, edits, reviewed: null, reason: edits.length > 0 ? draft.reason : '' };
    this.#save(left);
    return left;
  }

  #save(draft: Draft): void {
    const path = join(this.#folder, fileOf(draft.by));
    const edits = withoutLoneReasons(draft.edits);
    if (edits.length === 0) rmSync(path, { force: true });
    else {
      makeFolder(this.#folder);
      writeAtomicallySync(path, JSON.stringify({ ...draft, edits }));
    }
  }
}

/** A reason goes with its archiving: alone, it would archive the topic, and no preview says so. */
function withoutLoneReasons(edits: readonly DraftEdit[]): readonly DraftEdit[] {
  const archived = new Set(
    edits.flatMap((one) => (one.field === 'archived' && one.wanted === true ? one.entityId : [])),
  );
  return edits.filter((one) => one.field !== archivedReason || archived.has(one.entityId));
}

function draftIn(path: string): Draft {
  try {
    return draftSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new StorageError('Your draft cannot be read, so these pages cannot show it', {
      hint: `Ask the people who run Signalhouse to move imports/${basename(path)} out of the data directory; its edits are lost`,
      cause: error,
    });
  }
}

/** One edit of a draft, as a form names it. */
export function keyOf({ entityType, entityId, field }: Pick<DraftEdit, 'entityType' | 'entityId' | 'field'>) {
  return `${entityType}/${field}/${entityId}`;
}

/** Names are compared as a login compares them. */
function fileOf(by: string): string {
  const name = by.normalize('NFKC').trim().toLowerCase();
  return `${createHash('sha256').update(name).digest('hex').slice(0, 32)}${ending}`;
}

/** Plans the changes of a draft. Each rests on the values that its person saw. Writes nothing. */
export async function prepareDraft({ store, queue, settings }: PlanParts, draft: Draft): Promise<Plan> {
  const { by: requestedBy, reason, edits } = draft;
  const storedOf = await storedEntitiesOf(store, edits);
  const leftOut: LeftOut[] = [];
  const notes: string[] = [];
  const origin = {
    importId: randomUUID(),
    source: onThePage,
    sourceHash: null,
    requestedBy,
    requestedReason: reason || null,
  };
  const wishes = [...groupBy(edits, entityKey).values()].flatMap((own): Wish[] => {
    const [{ entityType, entityId }] = own;
    const stored = storedOf({ entityType, entityId });
    const title = stored?.title ?? null;
    const why = stored ? stored.blockedReason : 'is not in the warehouse';
    if (why !== null) leftOut.push({ what: title ?? entityId, why: `the ${entityType} ${why}` });
    if (why !== null) return [];
    const wanted: Values = Object.fromEntries(own.map((one) => [one.field, one.wanted]));
    const seen: Values = Object.fromEntries(own.map((one) => [one.field, one.seen]));
    const base = baseOf(seen, stored);
    for (const name of Object.keys(seen)) {
      const now = stored?.values[name];
      if (now === undefined || isSame(now, base[name]) || isSame(now, wanted[name])) continue;
      const what = `${title ?? entityId}: ${plainWord(name)} is now ${valueText(now)}, was ${valueText(base[name])} when you edited it`;
      notes.push(`${what}. Unless you overwrite it in the draft, it will be a conflict.`);
    }
    const baseAt =
      own
        .map(({ at }) => at)
        .sort()
        .at(-1) ?? null;
    const given = { entityType, entityId, wanted, base, baseFrom: 'file', baseAt, sourceRow: null } as const;
    return [{ ...origin, ...given, title, rows: [] }];
  });
  const nothing = { rows: [], problems: [], isRefused: false } as const;
  return planOf({ kind: 'import', ...origin, ...nothing, notes, wishes, leftOut }, queue.all(), settings);
}

/**
 * What a change rests on: what the page showed. The reason of an archiving is not on it, so that of a topic that was not archived is the
 * stored one, or none where the topic is archived by now: a colleague's reason is not overwritten.
 */
function baseOf(seen: Values, stored: StoredEntity | undefined): Values {
  if (!(archivedReason in seen)) return seen;
  const { archived, [archivedReason]: reason = null } = stored?.values ?? {};
  return { ...seen, [archivedReason]: archived === false ? reason : null };
}
