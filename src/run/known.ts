import type { CoverageRow, EntityRow, KnownRows } from '../load/batch.js';

/** An item of a list, as far as it decides what is due. */
export type Entity = EntityRow;
/** What the last request for a child came to. */
export type Covered = Omit<CoverageRow, 'endpoint' | 'entityId'>;

/** Which list each child belongs to (contract/resources.ts). */
interface ListsOfChildren {
  readonly children: readonly { readonly name: string; readonly list: { readonly name: string } }[];
}

/**
 * What is known of each item of the lists and of each of its children, as a value in memory: the rows of ops.entities and
 * ops.coverage. It changes in `apply` alone, by what a merge has committed, so it is never ahead of the disk, and what was not
 * committed was never known. An entity takes some 300 bytes, each of its children 150.
 */
export class Known {
  readonly #entities = new Map<string, Map<string, Entity>>();
  readonly #coverage = new Map<string, Map<string, Covered>>();
  readonly #people = new Map<string, Set<string>>();
  /** Ids of runs, reasons and errors repeat: each is kept once. */
  readonly #texts = new Map<string, string>();
  #changed = new Map<string, Entity>();
  /** By child; another list may have the same id. */
  readonly #lists: ReadonlyMap<string, string>;

  constructor({ children }: ListsOfChildren, rows?: KnownRows) {
    this.#lists = new Map(children.map(({ name, list }) => [name, list.name]));
    if (rows) this.apply(rows);
    this.#changed.clear();
  }

  /** Takes what a merge has changed. The entities whose children may have come due are `takeChanged`. */
  apply({ entities, coverage }: KnownRows): void {
    for (const row of entities) this.#setEntity(row);
    for (const row of coverage) this.#setCovered(row);
  }

  /** The entities of which something changed since the last call: only they can have become due otherwise than by age. */
  takeChanged(): readonly Entity[] {
    const changed = [...this.#changed.values()];
    this.#changed = new Map();
    return changed;
  }

  /** The items of a list, those that are deleted or not listed any more included. */
  entities(list: string): Iterable<Entity> {
    return this.#entities.get(list)?.values() ?? [];
  }

  entity(list: string, id: string): Entity | undefined {
    return this.#entities.get(list)?.get(id);
  }

  /** What the last request for a child came to; undefined where it was never asked for, nor marked. */
  covered(child: string, id: string): Covered | undefined {
    return this.#coverage.get(child)?.get(id);
  }

  /** The people of a company, by their ids. */
  peopleOf(companyId: string): readonly Entity[] {
    const ids = [...(this.#people.get(companyId) ?? [])].sort();
    return ids.flatMap((id) => this.entity('people', id) ?? []);
  }

  #setEntity(row: EntityRow): void {
    const { list, entityId } = row;
    const own = ofName(this.#entities, list);
    const before = own.get(entityId);
    own.set(entityId, row);
    this.#note(row);
    if (list === 'companies') this.#noteOf(this.peopleOf(entityId));
    if (list !== 'people') return;
    for (const companyId of new Set([before?.companyId, row.companyId])) {
      if (companyId == null) continue;
      this.#noteOf([this.entity('companies', companyId)]);
      const people = this.#people.get(companyId) ?? new Set();
      if (companyId === row.companyId) people.add(entityId);
      else people.delete(entityId);
      this.#people.set(companyId, people);
    }
  }

  #setCovered(row: CoverageRow): void {
    const { endpoint } = row;
    const of = this.entity(this.#lists.get(endpoint) ?? '', row.entityId);
    // The text of the entity, not another one that says the same.
    const entityId = of?.entityId ?? row.entityId;
    // Named one by one, since a copy by spread takes twice the memory.
    ofName(this.#coverage, endpoint).set(entityId, {
      fetchedAt: row.fetchedAt,
      answerNo: row.answerNo,
      askedNo: row.askedNo,
      touched: row.touched,
      fingerprint: row.fingerprint,
      status: row.status,
      reason: this.#once(row.reason),
      error: this.#once(row.error),
      attempts: row.attempts,
      runId: this.#once(row.runId),
      isCounted: row.isCounted,
      named: row.named,
    });
    this.#noteOf([of]);
    // Conversations of people come with those of their company.
    if (endpoint === 'company_groups') this.#noteOf(this.peopleOf(entityId));
  }

  #note(entity: Entity): void {
    this.#changed.set(`${entity.list}\n${entity.entityId}`, entity);
  }

  #noteOf(entities: readonly (Entity | undefined)[]): void {
    for (const entity of entities) if (entity) this.#note(entity);
  }

  #once<T extends string | null>(text: T): T {
    if (text === null) return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known as T;
    this.#texts.set(text, text);
    return text;
  }
}

function ofName<T>(maps: Map<string, Map<string, T>>, name: string): Map<string, T> {
  const own = maps.get(name) ?? new Map<string, T>();
  maps.set(name, own);
  return own;
}
