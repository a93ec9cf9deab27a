import { usualPageSize } from '../api/page.js';
import { groupBy } from '../base/group-by.js';
import { millisecondsOf } from '../contract/fields.js';
import type { Child, Resources } from '../contract/resources.js';
import { migratedReason } from '../contract/topics.js';
import { fieldsOf } from '../load/known.js';
import type { Covered, Entity, Known } from '../run/known.js';
import { ageOf, type DueSettings } from './ages.js';
import { type Context, maxAgeSeconds } from './context.js';
import type { Current, Measured } from './freshness.js';
import type { DueReason } from './report.js';
import { byUrgency, type Task, wholeChild } from './task.js';

/**
 * What is due: a function of what is known (src/run/known.ts), the settings and the time, and of nothing else. There is no queue
 * that a crash could lose.
 */

/** What decides what is due, apart from the time. */
export interface DueInput {
  readonly known: Known;
  readonly resources: Pick<Resources, 'children'>;
  /** The children that are asked about. */
  readonly children: readonly Child[];
  readonly settings: DueSettings;
  /**
   * Whether conversations of companies that are due are still to be fetched: those of their people come with them. Left out,
   * they are where they are among the children.
   */
  readonly companyGroupsCome?: boolean;
  /** The run that asks, which does not ask twice for what it was answered and could not store. */
  readonly runId?: string;
  /** How often each resource changes without a sign (src/sync/freshness.ts). */
  readonly measured?: ReadonlyMap<string, Measured>;
}

/** What decides what is due in a run. */
export function inputOf(
  { known, resources, config, runId }: Pick<Context, 'known' | 'resources' | 'config' | 'runId'>,
  children: readonly Child[],
): DueInput {
  return { known, resources, children, settings: config, runId };
}

/** What is due at one time, and what is not. */
export interface DueSnapshot {
  /** Everything that is due, in the order in which it is fetched (design: never, changed, sweep). */
  readonly tasks: readonly Task[];
  /** What is not due, and was answered well. */
  readonly current: readonly Current[];
}

/** What is due of all entities, and what is not. */
export function due(input: DueInput, now: Date): DueSnapshot {
  const lists = new Set(input.children.map(({ list }) => list.name));
  return dueOf(
    input,
    now,
    [...lists].flatMap((list) => [...input.known.entities(list)]),
  );
}

/** The same after something changed of these entities: what is due of the others stays. */
export function dueAgain(
  before: DueSnapshot,
  input: DueInput,
  now: Date,
  changed: readonly Entity[],
): DueSnapshot {
  if (changed.length === 0) return before;
  const names = new Set(changed.map(({ list, entityId }) => `${list}\n${entityId}`));
  const lists = new Map(input.children.map(({ name, list }) => [name, list.name]));
  const isSame = (child: string, id: string) => !names.has(`${lists.get(child)}\n${id}`);
  const again = dueOf(input, now, changed);
  const tasks = before.tasks.filter(({ child, entityId }) => isSame(child.name, entityId));
  const current = before.current.filter(({ resource, entityId }) => isSame(resource, entityId));
  return {
    tasks: [...tasks, ...again.tasks].sort(byUrgency),
    current: [...current, ...again.current],
  };
}

function dueOf(input: DueInput, now: Date, entities: readonly Entity[]): DueSnapshot {
  const tasks: Task[] = [];
  const current: Current[] = [];
  const children = groupBy(input.children, ({ list }) => list.name);
  const assess = assessor(input, now);
  for (const entity of entities) {
    const values = valuesOf(entity);
    for (const child of children.get(entity.list) ?? []) {
      const found = assess(child, entity, values);
      if (found.reason !== null) tasks.push(found.task(found.reason));
      else if (found.isCurrent) current.push(found.current());
    }
  }
  return { tasks: tasks.sort(byUrgency), current };
}

/** A child as a task, due or not; undefined where the item is not known. */
export function taskOf(
  input: DueInput,
  now: Date,
  child: Child,
  entityId: string,
  reason: Task['reason'],
): Task | undefined {
  const entity = input.known.entity(child.list.name, entityId);
  return entity && assessor(input, now)(child, entity).task(reason);
}

/** Why the child of an item is not requested, whatever changes. */
export type NotRequested =
  | 'deleted'
  /** The item exists and is not listed any more, and its detail is asked for at growing intervals (tombstones.ts). */
  | 'unlisted'
  /** The path takes ids of digits only. */
  | 'id_not_digits'
  /** The list item has every field of the detail. */
  | 'in_list'
  /** The topic was archived in the v1 to v2 migration. */
  | 'migrated'
  /** `sync.personGroups` is `never`. */
  | 'setting'
  /** The conversations of a person come with the company, which is listed and whose conversations are fetched. */
  | 'with_company'
  /** Nothing says yet whether the person has a company. */
  | 'company_unknown';

/** What decides about one child of one item, and what follows. */
export interface Assessed {
  readonly reason: DueReason | null;
  readonly notRequested: NotRequested | null;
  readonly fingerprint: string;
  readonly covered: Covered | undefined;
  readonly movedAt: string | null;
  /** The time that any change of the item moves is all that differs. */
  readonly hasOnlyMoved: boolean;
  readonly isTouched: boolean;
  /** When it is too old, as milliseconds; null where it was never answered. */
  readonly sweepAtMs: number | null;
  readonly requests: number;
  /** Whether its last answer is what the tables say. */
  readonly isCurrent: boolean;
  readonly counters: () => string;
  readonly task: (reason: Task['reason']) => Task;
  readonly current: () => Current;
}

/** The values of an item's fields as text, in the order of `fieldsOf`; '' where it does not have the field. */
function valuesOf({ fields }: Entity): readonly string[] {
  return fields?.split('\t') ?? [];
}

/** What is the same for all items of a list, by child. */
interface ChildRules {
  readonly places: readonly number[];
  readonly memberPlaces: readonly number[];
  readonly movedAt: number;
  readonly lastMessageAt: number;
  readonly maxAgeMs: number;
  readonly fullAgeMs: number;
}

const dayMs = 86_400_000;
/** What could not be stored of an answer is not asked for again by the run that could not. */
const notAgainInRun = [
  'again: rejected',
  'again: short',
  'again: unsettled',
  'again: older',
  'again: held back',
];
/** The waits for an answer in doubt are a little shorter than a night, two, four and so on. */
const firstWaitMs = 20 * 3_600_000;

/** A function that says what is due of one child of one item. */
export function assessor(
  input: DueInput,
  now: Date,
): (child: Child, entity: Entity, values?: readonly string[]) => Assessed {
  const { known, resources, children, settings, runId = '', measured } = input;
  const { companyGroupsCome = children.some(({ name }) => name === 'company_groups') } = input;
  const nowMs = now.getTime();
  const lists = new Set(resources.children.map(({ list }) => list.name));
  const places = new Map(
    [...lists].map((list) => [list, new Map(fieldsOf(resources, list).map((path, at) => [path, at]))]),
  );
  const placeIn = (list: string, path: string) => places.get(list)?.get(path) ?? -1;
  const rulesOf = new Map<Child, ChildRules>();
  const rules = (child: Child): ChildRules => {
    const found = rulesOf.get(child);
    if (found) return found;
    const { list, changeFields, members, moved } = child;
    const made = {
      places: changeFields.map((path) => placeIn(list.name, path)),
      memberPlaces: members?.fields.map((path) => placeIn(members.list, path)) ?? [],
      movedAt: moved ? placeIn(list.name, moved.at) : -1,
      lastMessageAt: moved ? placeIn(list.name, moved.unlessIs) : -1,
      maxAgeMs: ageOf(child, settings, measured).days * dayMs,
      fullAgeMs: maxAgeSeconds(child, settings) * 1_000,
    };
    rulesOf.set(child, made);
    return made;
  };

  return (child, entity, values = valuesOf(entity)) => {
    const { name, list, paged } = child;
    const { entityId } = entity;
    const rule = rules(child);
    const field = (path: string) => values[placeIn(list.name, path)] || null;
    const covered = known.covered(name, entityId);
    const changeValues = rule.places.map((place) => values[place] ?? '');
    if (child.members) changeValues.push(digestOf(known.peopleOf(entityId), rule.memberPlaces));
    // What left the list is read once more, whatever else changed.
    const valuesFingerprint = hash(`${changeValues.join('\t')}\n${entity.unlistedSince ?? ''}`).toString(36);
    const movedAt = values[rule.movedAt] || null;
    const fingerprint = movedAt === null ? valuesFingerprint : `${valuesFingerprint} ${movedAt}`;
    // The last message moved it: any other change that this child shows came before that.
    const isMovedByMessage = movedAt !== null && movedAt === values[rule.lastMessageAt];
    const stored = covered?.fingerprint ?? null;
    const differs = stored !== null && stored !== fingerprint;
    const hasOnlyMoved = differs && stored.split(' ')[0] === valuesFingerprint;
    const isTouched = (covered?.touched ?? -1) > (covered?.askedNo ?? -1);

    // Between half and all of the age allowed, by a hash that is new each time: what was fetched in one night does not come
    // due in one night, and nothing is ever older than the age allowed. A time in the future comes from a clock that was
    // ahead; it counts as now.
    const fetchedAt = covered?.fetchedAt == null ? null : Math.min(covered.fetchedAt, nowMs);
    const shareOfAge = 0.5 + 0.5 * (hash(`${entityId} ${name} ${covered?.fetchedAt}`) / 2 ** 53);
    const sweepAtMs = fetchedAt === null ? null : fetchedAt + rule.maxAgeMs * shareOfAge;
    const isOld = sweepAtMs !== null && nowMs > sweepAtMs;
    const isYoung = fetchedAt !== null && nowMs <= fetchedAt + rule.fullAgeMs * shareOfAge;

    const notRequested = notRequestedOf();
    const reason = reasonOf();
    const lastReason = covered?.reason ?? null;
    const isReadInParts = reason === 'changed' && !isOld && !isTouched;
    const requests = requestsOf();
    const lastActivity = field('$.lastSeenAt') ?? field('$.timeRangeEnd') ?? field('$.updatedAt');
    const ageDays = fetchedAt === null ? 0 : (nowMs - fetchedAt) / dayMs;
    return {
      reason,
      notRequested,
      fingerprint,
      covered,
      movedAt,
      hasOnlyMoved,
      isTouched,
      sweepAtMs,
      requests,
      isCurrent: reason === null && notRequested === null && covered?.error == null && lastReason === null,
      counters,
      task: (of) => ({
        ...wholeChild,
        child,
        entityId,
        reason: of,
        fingerprint,
        counters: counters(),
        hasFailed: covered?.error != null,
        attempts: covered?.attempts ?? 0,
        updatedAt: field('$.updatedAt'),
        isUnanswered: entity.unavailableReason !== null,
        // Old by what was measured alone: it comes after all that is old by the settings.
        isEarly: of === 'sweep' && isYoung,
        vip: field('$.isVip') === 'true',
        lastActivity: lastActivity ?? '',
        // What changed and is also too old, or what something else changed, is read from beginning to end, and so is what was
        // in doubt.
        wholeAt: isReadInParts && lastReason === null && fetchedAt !== null ? new Date(fetchedAt) : null,
        lastReason,
        requests,
      }),
      current: () => ({
        resource: name,
        entityId,
        stratum: stratumOf(ageDays, nowMs - millisecondsOf(lastActivity) < 14 * dayMs),
        ageDays,
      }),
    };

    function notRequestedOf(): NotRequested | null {
      const { personGroups } = settings.sync;
      if (entity.deletedAt !== null) return 'deleted';
      if (entity.unlistedSince !== null && name === list.detail) return 'unlisted';
      if (child.digitsOnly && !/^[0-9]+$/.test(entityId)) return 'id_not_digits';
      if (child.skippedWhenListHas && entity.isWhole && !isTouched) return 'in_list';
      if (child.goneInMigration && entity.unavailableReason === migratedReason) return 'migrated';
      if (name !== 'person_groups' || personGroups === 'all') return null;
      if (personGroups === 'never') return 'setting';
      if (!entity.isCompanyKnown) return 'company_unknown';
      return comesWithCompany(known, entity, companyGroupsCome) ? 'with_company' : null;
    }

    function reasonOf(): DueReason | null {
      if (notRequested !== null) return null;
      if (stored === null) return 'never';
      if (differs && !(isMovedByMessage && hasOnlyMoved)) return 'changed';
      if (isTouched || isAskedAgain(covered, nowMs, runId)) return 'changed';
      return isOld ? 'sweep' : null;
    }

    function requestsOf(): number {
      if (!paged) return 1;
      const messages = Number(field('$.messageCount') ?? Number.NaN) / 4;
      const conversations = covered?.named ?? (Number.isNaN(messages) ? 1 : messages);
      const pages = Math.max(1, Math.ceil(conversations / usualPageSize));
      // What changed is read newest first, until what was read accounts for the change: usually one page or two.
      return isReadInParts && covered?.isCounted ? Math.min(pages, 2) : pages;
    }

    function counters(): string {
      const paths = child.members ? [...child.changeFields, `$.${child.members.list}`] : child.changeFields;
      return JSON.stringify(Object.fromEntries(paths.map((path, at) => [path, changeValues[at] || null])));
    }
  };
}

/** What the last answer did not prove, or could not be stored of it, is asked for again in the next run, then at growing intervals. */
function isAskedAgain(covered: Covered | undefined, nowMs: number, runId: string): boolean {
  if (!covered?.reason?.startsWith('again: ')) return false;
  if (covered.runId === runId && notAgainInRun.includes(covered.reason)) return false;
  const attempts = covered.attempts ?? 0;
  // What is held back waits for a run that reads everything, whatever runs were there before.
  if (attempts <= 1 || covered.reason === 'again: held back') return true;
  const waited = nowMs - Math.min(covered.fetchedAt ?? Number.POSITIVE_INFINITY, nowMs);
  return waited >= firstWaitMs * 2 ** (Math.min(attempts, 20) - 2);
}

/**
 * Whether the conversations of a person come with the company, so that the person's own need not be requested: the company is
 * listed, and its conversations were read to their end after it was known that the person belongs to it, or `come` in this run.
 *
 * One failure does not count, since the next run tries again, nor does a record that was rejected; a refusal, an answer that is
 * too large, or a list that kept changing while it was read (all of which have no counters) does.
 */
function comesWithCompany(known: Known, person: Entity, come: boolean): boolean {
  if (!isOfListedCompany(known, person)) return false;
  const groups = known.covered('company_groups', person.companyId ?? '');
  if (wasReadWithCompany(known, person) && (groups?.error == null || (groups.attempts ?? 0) < 2)) return true;
  return come && (groups?.fingerprint == null || groups.isCounted);
}

/** Whether the conversations of a person's company, which is listed, were read to their end after it was known to be the person's. */
export function wasReadWithCompany(known: Known, person: Entity): boolean {
  const groups = known.covered('company_groups', person.companyId ?? '');
  const { companyNo } = person;
  const isLater = companyNo !== null && (groups?.askedNo ?? -1) > companyNo;
  return isLater && groups?.isCounted === true && isOfListedCompany(known, person);
}

function isOfListedCompany(known: Known, { companyId }: Entity): boolean {
  const company = known.entity('companies', companyId ?? '');
  return company !== undefined && company.deletedAt === null && company.unlistedSince === null;
}

function stratumOf(ageDays: number, isActive: boolean): string {
  if (ageDays < 0.5) return 'fresh';
  const age = [2, 7, 21].find((days) => ageDays < days);
  return `${age === undefined ? '21 days or more' : `under ${age} days`}, ${isActive ? 'active' : 'quiet'}`;
}

/** What the fields of a company's people are; '' without people. */
function digestOf(people: readonly Entity[], places: readonly number[]): string {
  if (people.length === 0) return '';
  const texts = people.map((person) => {
    const values = valuesOf(person);
    return [person.entityId, ...places.map((place) => values[place] ?? '')].join('\t');
  });
  return `#${hash(texts.join('\n')).toString(36)}`;
}

/** 53 bits of a text (cyrb53): quick, and no two values of a field have the same by chance. */
function hash(text: string): number {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2_654_435_761);
    two = Math.imul(two ^ code, 1_597_334_677);
  }
  one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(two ^ (two >>> 13), 3_266_489_909);
  two = Math.imul(two ^ (two >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & two) + (one >>> 0);
}
