import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Row } from '../support/expected/row.js';
import { differences } from '../support/oracle.js';
import { placesOf } from '../support/personal-strings.js';
import { read } from '../support/published.js';
import { untrueText } from './life.js';
import type { Ended } from './program.js';
import type { ListedChange, Simulation, Wish } from './simulation.js';

/** What a judge found, and what had happened until then. */
export class Failed extends Error {
  constructor(
    readonly judge: string,
    readonly details: readonly string[],
    readonly story: readonly string[],
    /** How many nights there were until then. */
    readonly night: number,
  ) {
    super(`${judge}: ${details[0] ?? ''}`);
  }
}

/**
 * What nothing may show before the sweep: copies of topics and people in other rows, which are as old as the answer that
 * has them, and the records of what was done and taken back before anybody looked.
 */
const notShown = [
  'history',
  'merges.source_name',
  ...['topic_id', 'topic_title', 'topic_type', 'topic_is_v2'].map((column) => `groups.${column}`),
  ...['topic_keywords', 'topic_sources', 'topic_linked_issue_key'].map((column) => `groups.${column}`),
  // As the newest list says that still has it: a newer one may have let go of it.
  'groups.end_timestamp',
  // Weeks pass by themselves.
  'people.weekly_activity',
  'companies.weekly_activity',
  'topic_people.title',
  'topic_people.is_vip',
  'topics.successor_topic_title',
  // An answer may leave an employee out.
  'company_employees.name',
];

/**
 * What has to hold after each night; after a quiet one, what is published is what the organization says; where the last run
 * came to its end (`code`), what is published is what it knew.
 */
export async function everyNight(
  simulation: Simulation,
  { isQuiet, code }: { isQuiet: boolean; code: Ended['code'] | null },
): Promise<void> {
  judge(simulation, 'the budget is kept', budgetProblems(simulation));
  judge(simulation, 'each change is executed once', writeProblems(simulation));
  judge(simulation, 'files stay few and small', fileProblems(simulation));
  judge(simulation, 'what is queued was shown', await queuedUnseen(simulation));
  await nothingLost(simulation);
  judge(simulation, 'a copy that follows the marks is the file', await followed(simulation));
  judge(simulation, 'an account is of one person', await accountsOfTwo(simulation));
  // A run that was cut short, or says that it is not complete, has not looked at everybody who came back and went again meanwhile.
  if (isQuiet || code === 0)
    judge(simulation, 'who is gone is in no topic and no company', await namedAlthoughGone(simulation));
  if (isQuiet || code === 0 || code === 3) {
    judge(simulation, 'who left a company is none of its employees', await employedElsewhere(simulation));
    judge(simulation, 'no change is told otherwise than it went', await toldOtherwise(simulation));
  }
  if (isQuiet) {
    judge(simulation, 'what was sent is settled', await unsettled(simulation));
  }
  if (isQuiet && simulation.hasEverything) {
    judge(
      simulation,
      'what a list shows is right after the next night',
      await shown(simulation, await compared(simulation, notShown)),
    );
    judge(simulation, 'the past stays as it was', await pastTold(simulation));
    remember(simulation);
  }
}

/** What the organization had at a moment of which everything was shown: topics, companies and people, by id. */
export interface Moment {
  readonly at: string;
  readonly topics: ReadonlyMap<string, Row>;
  readonly companies: ReadonlyMap<string, Row>;
  readonly people: ReadonlyMap<string, Row>;
}

/** So many nights are looked back on. */
const mostMoments = 4;

function remember({ service, world, moments }: Simulation): void {
  // Of one that is in no list, nothing shows a change until the sweep.
  const topics = [...world.topics.values()].filter(
    (one) => one.graphStatus !== 'superseded' && !one.migrated,
  );
  moments.push({
    at: new Date(service.clock.now()).toISOString(),
    topics: new Map(
      topics.map(({ id, title, priority, lifecycleState }) => [
        id,
        { title, priority, lifecycle_state: lifecycleState },
      ]),
    ),
    companies: new Map(
      [...world.companies.values()].map(({ id, name, isVip }) => [id, { name, is_vip: isVip }]),
    ),
    people: new Map(
      [...world.people.values()].map(({ id, displayName, isVip }) => [
        id,
        { display_name: displayName, is_vip: isVip },
      ]),
    ),
  });
  if (moments.length > mostMoments) moments.shift();
}

/** Topics, companies and people as they were on earlier nights, where that is told otherwise now. */
function pastTold({ dataDir, moments }: Simulation): Promise<string[]> {
  return read(dataDir, async ({ rows }) => {
    const found: string[] = [];
    for (const { at, ...then } of moments) {
      const versions = (table: string, key: string, columns: string) =>
        `SELECT ${key} AS id, ${columns} FROM ${table}
          WHERE valid_from <= '${at}' AND (valid_to > '${at}' OR valid_to IS NULL)`;
      const told = {
        topics: `SELECT topic_id AS id, title, priority, lifecycle_state FROM topic_as_of('${at}')`,
        companies: versions('company_versions', 'company_id', 'name, is_vip'),
        people: versions('people_versions', 'person_id', 'display_name, is_vip'),
      };
      for (const table of ['topics', 'companies', 'people'] as const) {
        const known = new Map((await rows(told[table])).map(({ id, ...row }) => [String(id), row]));
        for (const [id, row] of then[table])
          if (!isDeepStrictEqual(known.get(id), row))
            found.push(
              `${table} ${id} at ${at}: ${JSON.stringify(known.get(id))}, was ${JSON.stringify(row)}`,
            );
      }
    }
    return found;
  });
}

/**
 * Without what nothing shows before the sweep: what becomes of a superseded topic or of its successor, as it is in no list;
 * and that somebody without accounts was merged who came and went between two runs.
 */
async function shown({ world, dataDir }: Simulation, found: readonly string[]): Promise<string[]> {
  const known = await read(dataDir, ({ rows }) =>
    rows<{ id: string }>(
      'SELECT id FROM people UNION ALL SELECT id FROM companies UNION ALL SELECT id FROM topics',
    ),
  );
  const ids = new Set(known.map(({ id }) => id));
  return found.filter((line) => {
    const [, topic = ''] = /^topics (\S+): \S+ is /.exec(line) ?? [];
    const [, merged] = /^merges \S+ (\S+) \S+: is missing$/.exec(line) ?? [];
    return world.topics.get(topic)?.graphStatus !== 'superseded' && (merged === undefined || ids.has(merged));
  });
}

/** What differs, without what only the history of a survivor said that went before a night had read it, and what no counter showed. */
async function compared(simulation: Simulation, except: readonly string[] = []): Promise<string[]> {
  const { world, removed, dataDir } = simulation;
  const found = await differences(simulation, dataDir, { except });
  const uncounted = removed.mayStay(world);
  return found.filter((line) => {
    const [, id] = /^\w+ (\S+): (?:deleted_reason|merged_into_id) is /.exec(line) ?? [];
    const merge = world.merges.findLast(({ sources }) => sources.some((source) => source.id === id));
    const [, stale = ''] = /^(?:message|group_)\S* (\S+).*: should not be there$/.exec(line) ?? [];
    const [, owner = ''] = /^group_(?:companies|people) \S+ (\S+): /.exec(line) ?? [];
    return (
      (!merge || !removed.lostSurvivors.has(merge.targetId)) &&
      !uncounted.has(stale) &&
      !removed.exchanged.has(owner)
    );
  });
}

/** What has to hold once everything is old and was read again. */
export async function everything(simulation: Simulation): Promise<void> {
  await everyNight(simulation, { isQuiet: false, code: 0 });
  if (simulation.hasEverything)
    judge(simulation, 'the warehouse equals the organization', await compared(simulation));
  judge(simulation, 'what was sent is settled', await unsettled(simulation));
  judge(simulation, 'what became of a change is told truly', await changeProblems(simulation));
}

/** A service that was there at the time of a job has run it. */
export async function servedNightly(simulation: Simulation, from: number): Promise<void> {
  const path = join(simulation.dataDir, 'schedule.json');
  const { history } = JSON.parse(readFileSync(path, 'utf8')) as { history: { startedAt?: string }[] };
  const runs = history.filter(({ startedAt }) => Date.parse(startedAt ?? '') >= from);
  judge(simulation, 'a job runs when it is due', runs.length > 0 ? [] : ['no job ran in a day']);
}

/**
 * Texts of somebody that no other row has: people and companies that are gone in the API, or were named otherwise, may have shared a
 * title or an id; and a story names people of the past, whom nothing that the API still shows connects with those they became.
 */
export function ownTexts(dataDir: string, id: string, texts: readonly string[]): Promise<string[]> {
  return read(dataDir, async ({ rows }) => {
    const others = await rows<{ row: string }>(
      `WITH RECURSIVE same(id) AS (
         VALUES ('${id}')
         UNION
         SELECT source_id FROM merges JOIN same ON target_id = id WHERE entity_type = 'person'
       )
       SELECT to_json(people)::VARCHAR AS row FROM people WHERE id <> '${id}'
       UNION ALL SELECT to_json(people_versions)::VARCHAR FROM people_versions WHERE person_id <> '${id}'
       UNION ALL SELECT to_json(history)::VARCHAR FROM history WHERE entity_type = 'person' AND entity_id <> '${id}'
       UNION ALL SELECT to_json(companies)::VARCHAR FROM companies
       UNION ALL SELECT to_json(story_sources)::VARCHAR FROM story_sources
         WHERE type = 'person' AND source_id NOT IN (SELECT id FROM same)`,
    );
    const all = others.map(({ row }) => row).join('\n');
    return texts.filter((one) => !all.includes(JSON.stringify(one).slice(1, -1)));
  });
}

/** No file and no table has any of the strings of somebody who was forgotten. */
export async function forgotten(simulation: Simulation, strings: readonly string[]): Promise<void> {
  const places = await placesOf(simulation.dataDir, strings);
  // A killed process does not remove what it spilled; the next one does, but here both are one.
  const kept = places.filter((place) => !place.startsWith('.unfinished-spill-'));
  judge(simulation, 'who was forgotten is nowhere', kept);
}

/** A restore over a directory that went on keeps what became of each change since the backup. */
export function nothingUndone(
  simulation: Simulation,
  before: readonly ListedChange[],
  after: readonly ListedChange[],
): void {
  const now = new Map(after.map(({ id, status }) => [id, status]));
  const undone = before.flatMap(({ id, status }) =>
    now.get(id) === status ? [] : `${id} was ${status}, and is ${now.get(id)}`,
  );
  judge(simulation, 'a restore keeps what became of each change', undone);
}

function judge({ story, nights }: Simulation, name: string, found: readonly string[]): void {
  if (found.length > 0) throw new Failed(name, found, story, nights);
}

const windowMs = 60_000;

function budgetProblems({ platform, mostRequests: most }: Simulation): string[] {
  const { arrivals } = platform.network;
  const found: string[] = [];
  for (const [at, time] of arrivals.entries()) {
    const first = arrivals[at - most];
    if (first !== undefined && time - first < windowMs)
      found.push(`${most + 1} requests in ${time - first} ms`);
  }
  arrivals.splice(0, Math.max(0, arrivals.length - most));
  return found;
}

/** Every request was one of a change, with the key that was stored before; only a person sends a change again under another one. */
function writeProblems({ service, changesOfKeys, writesBeforeRetry }: Simulation): string[] {
  const keys = service.stats.writes.map(({ idempotencyKey }) => idempotencyKey);
  const unknown = keys.filter((key) => key !== null && !changesOfKeys.has(key));
  const twice = keys.filter((key, at) => key !== null && keys.indexOf(key) !== at);
  const changes = keys.slice(writesBeforeRetry).flatMap((key) => changesOfKeys.get(key ?? '') ?? []);
  const again = changes.filter((id, at) => changes.indexOf(id) !== at);
  return [
    ...again.map((id) => `change ${id} was executed more than once`),
    ...twice.map((key) => `${key} was executed more than once`),
    ...unknown.map((key) => `${key} was sent for no change`),
    ...(keys.includes(null) ? ['a request was sent without a key'] : []),
  ];
}

const mostFiles = 60;
const mostBytes = 200e6;

function fileProblems({ dataDir }: Simulation): string[] {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const outside = files.filter(({ parentPath }) => !/inbox|imports/.test(parentPath));
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  const names = outside.map(({ name }) => name).join(' ');
  return [
    ...(outside.length > mostFiles ? [`${outside.length} files: ${names}`] : []),
    ...(bytes > mostBytes ? [`${bytes} bytes: ${names}`] : []),
  ];
}

function listed(table: string): string {
  return `SELECT '${table} ' || id AS name, id AS place FROM ${table} WHERE deleted_at IS NULL`;
}

/** What a copy that follows run_id and ops.removed_rows has otherwise than the file. */
async function followed({ dataDir, follower }: Simulation): Promise<string[]> {
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return [];
  return read(dataDir, async ({ rows }) => {
    await follower.follow(rows);
    return follower.differences(rows);
  });
}

/** An account that moved from one person to another would count its messages twice. */
async function accountsOfTwo({ dataDir }: Simulation): Promise<string[]> {
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return [];
  return read(dataDir, async ({ rows }) => {
    const found = await rows<{ name: string }>(
      `SELECT concat_ws(' ', platform, platform_id, 'is of', string_agg(person_id, ' and ')) AS name
         FROM person_identities GROUP BY platform, platform_id HAVING count(DISTINCT person_id) > 1`,
    );
    return found.map(({ name }) => name);
  });
}

/**
 * An answer that contradicts what else is known is not shown, not even until the next run. Of a topic that nobody knew, nothing
 * contradicts what only its own answer says.
 */
export async function nothingUntrue(simulation: Simulation): Promise<void> {
  const { dataDir, shownBefore } = simulation;
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return;
  const found = await read(dataDir, ({ rows }) =>
    rows<{ name: string; of: string }>(
      `SELECT 'topics ' || id AS name, 'list' AS of FROM topics WHERE title = '${untrueText}'
       UNION ALL SELECT 'topics ' || id, 'detail' FROM topics WHERE priority_reasoning = '${untrueText}'
       UNION ALL SELECT 'people ' || id, 'list' FROM people WHERE display_name = '${untrueText}'`,
    ),
  );
  const known = new Set(shownBefore.map(({ name }) => name));
  const untrue = found.flatMap(({ name, of }) => (of === 'list' || known.has(name) ? name : []));
  judge(simulation, 'what cannot be true is not shown', [...untrue, ...(await accountsOfTwo(simulation))]);
}

/** Nothing that is still there, and was shown there the night before, is taken for gone. */
export async function nothingLost(simulation: Simulation): Promise<void> {
  const { dataDir, world, removed, shownBefore, leftMeanwhile } = simulation;
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return;
  /** Where there is what a name names: a message is in the topic that lists it, or else of the person who wrote it. */
  const now = (name: string): string | undefined => {
    const [table, id = ''] = name.split(' ');
    if (removed.ever.has(id)) return undefined;
    // Of what is archived in the migration, a list that misses it and its own 404 say the same.
    if (world.topics.get(id)?.migrated) return undefined;
    if (table !== 'messages')
      return world[table as 'topics' | 'people' | 'companies'].has(id) ? id : undefined;
    const { groupId = '', authorId = '', deletedAt = 0 } = world.messages.get(id) ?? {};
    if (deletedAt !== null) return undefined;
    const topic = world.topics.get(world.groups.get(groupId)?.topicId ?? '');
    const isListed = topic?.graphStatus === 'active' && !topic.migrated && !removed.ever.has(topic.id);
    if (isListed) return topic.id;
    const writer = world.authors.get(authorId ?? '')?.personId ?? '';
    if (leftMeanwhile.has(writer)) return undefined;
    return world.people.has(writer) && !removed.ever.has(writer) ? writer : undefined;
  };
  const shown = await read(dataDir, ({ rows }) =>
    rows<{ name: string; place: string | null }>(
      `${['topics', 'people', 'companies'].map(listed).join(' UNION ALL ')}
       UNION ALL SELECT 'messages ' || messages.id, coalesce(topic_id, person_id)
         FROM messages LEFT JOIN topic_groups USING (group_id) LEFT JOIN authors ON authors.id = author_id
         LEFT JOIN person_identities ON platform = authors.source_name AND platform_id = source_author_id
        WHERE deleted_at IS NULL`,
    ),
  );
  const names = new Set(shown.map(({ name }) => name));
  const lost = shownBefore.flatMap(({ name, place }) =>
    now(name) === place && !names.has(name) ? [`${name} is there, and was shown the night before`] : [],
  );
  simulation.shownBefore = shown;
  if (!simulation.hasEverything) return;
  judge(simulation, 'what is there is not taken for gone', lost);
}

/** Employees of a company of whom a later answer says that they are in another one, or in none. */
async function employedElsewhere({ dataDir }: Simulation): Promise<string[]> {
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return [];
  const employed = await read(dataDir, ({ rows }) =>
    rows<{ person_id: string; listed: string; own: string | null }>(
      `SELECT person_id, employees.company_id AS listed, people.company_id AS own
         FROM company_employees AS employees JOIN people ON people.id = person_id
        WHERE people.company_id IS DISTINCT FROM employees.company_id AND people.synced_at > employees.synced_at`,
    ),
  );
  return employed.map(
    ({ person_id: id, listed, own }) => `${id} is an employee of ${listed}, and is in ${own}`,
  );
}

/** Those that were merged are named until what names them is read again, and those that came back may be. */
async function namedAlthoughGone({ dataDir, world }: Simulation): Promise<string[]> {
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return [];
  const named = await read(dataDir, ({ rows }) =>
    rows<{ at: string; person_id: string }>(
      `SELECT named.* FROM (SELECT 'topic ' || topic_id AS at, person_id FROM topic_people
                            UNION ALL SELECT 'company ' || company_id, person_id FROM company_employees) AS named
         JOIN people ON people.id = person_id
        WHERE people.deleted_at IS NOT NULL AND people.merged_into_id IS NULL`,
    ),
  );
  return named.flatMap(({ at, person_id: id }) =>
    world.people.has(id) ? [] : [`${id}, who is gone, is in ${at}`],
  );
}

interface StoredChange {
  readonly id: string;
  readonly status: string;
  readonly idempotency_key: string;
  readonly entity_id: string;
  readonly wanted: Readonly<Record<string, unknown>>;
  readonly base: Readonly<Record<string, unknown>>;
  readonly requested_by: string | null;
  readonly superseded_by: string | null;
  readonly first_sent_at: string | null;
  readonly import_id: string;
  readonly undoes: string | null;
  readonly error_code: string | null;
  readonly error: string | null;
}

/** None before the first publication. */
async function changesOf(dataDir: string): Promise<StoredChange[]> {
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return [];
  return read(dataDir, ({ rows }) =>
    rows<StoredChange>(
      `SELECT id, status, idempotency_key, coalesce(topic_id, company_id) AS entity_id, wanted, base,
              requested_by, superseded_by, undoes, error_code, error, import_id,
              strftime(first_sent_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS first_sent_at
         FROM ops.changes`,
    ),
  );
}

/** Every change was shown in the preview of its import: the same values, of the same topic or company. */
async function queuedUnseen({ dataDir }: Simulation): Promise<string[]> {
  const folder = join(dataDir, 'imports');
  const plans = new Map(
    (existsSync(folder) ? readdirSync(folder) : [])
      .filter((name) => name.endsWith('.plan'))
      .map((name) => [name.slice(0, -'.plan'.length), readFileSync(join(folder, name), 'utf8')] as const),
  );
  type Shown = { readonly entityId: string; readonly wanted: Readonly<Record<string, unknown>> };
  return (await changesOf(dataDir)).flatMap(({ id, import_id: importId, entity_id: entity, wanted }) => {
    const plan = plans.get(importId);
    if (plan === undefined) return [];
    const { changes } = (JSON.parse(plan) as { plan: { changes: Shown[] } }).plan;
    const shown = changes.find(({ entityId }) => entityId === entity);
    const isShown = Object.keys(wanted).every((name) => shown?.wanted[name] === wanted[name]);
    return isShown ? [] : [`${id} of ${importId} was queued, and not shown`];
  });
}

/** A change that counts as not sent was not executed, and none was sent over what a colleague had set. */
async function toldOtherwise(simulation: Simulation): Promise<string[]> {
  const { service, dataDir, world, before, writesBeforeRestore, outpaced, meddler } = simulation;
  const keys = service.stats.writes.map(({ idempotencyKey }) => idempotencyKey);
  const executed = new Set(keys);
  const unknown = new Set(keys.slice(0, writesBeforeRestore));
  const found: string[] = [];
  for (const { idempotency_key: key, wanted, base, ...change } of await changesOf(dataDir)) {
    const { id, status, undoes, error, error_code: reason } = change;
    if (!executed.has(key)) continue;
    // It was in doubt when somebody else's value was read: a conflict, which was told before it was replaced or given up.
    if (reason !== null && ['cancelled', 'superseded'].includes(status)) continue;
    // Its topic or company was gone when anybody could look.
    if (status === 'failed' && error?.includes('may have been applied')) continue;
    const had = before.get(key);
    // The service stores other spaces as they were: nothing shows that it was executed.
    const isAsBefore = (name: string) => spaced((had ?? base)[name]) === spaced(wanted[name]);
    if (status === 'failed' && Object.keys(wanted).every(isAsBefore)) continue;
    if (!unknown.has(key) && ['failed', 'cancelled', 'superseded', 'queued', 'unchanged'].includes(status))
      found.push(`${id} is ${status}, and was executed`);
    // Nobody can see what a colleague sets between reading and writing, or before a write that was accepted is made.
    if (had === undefined || outpaced.has(key) || meddler.lateKeys.has(key)) continue;
    // Where no list has a topic, nothing shows that a server lags behind.
    if (meddler.laggedKeys.has(key) && world.topics.get(change.entity_id)?.graphStatus === 'superseded')
      continue;
    for (const name of Object.keys(wanted)) {
      if (!(name in had) || had[name] === wanted[name]) continue;
      // Nobody has seen whether something is archived whose own page was not read yet.
      if (!(name in base) && undoes === null && name === 'archived') continue;
      if (!(name in base)) found.push(`${id} has set ${name}, and nothing says what was seen before`);
      else if (had[name] !== base[name])
        found.push(
          `${id} has set ${name} to ${wanted[name]} over ${had[name]}, where ${base[name]} was seen`,
        );
    }
  }
  return found;
}

const spaced = (value: unknown) => (typeof value === 'string' ? value.replaceAll(/\s+/g, ' ') : value);

/** So long the API remembers a key, and a little longer: until then, a request may still be applied. */
const doubtMs = 25 * 3_600_000;

/** A push that nothing disturbs leaves no change in doubt whose key the API has forgotten. */
async function unsettled({ dataDir, service }: Simulation): Promise<string[]> {
  const changes = await changesOf(dataDir);
  const isOld = (at: string | null) => service.clock.now() - Date.parse(at ?? '') > doubtMs;
  return changes.flatMap(({ id, status, first_sent_at: at }) =>
    status === 'sending' && isOld(at) ? `${id} is still being sent` : [],
  );
}

/** A change that counts as done was executed. */
async function changeProblems({ service, dataDir, colleagueSet }: Simulation): Promise<string[]> {
  const executed = new Set(service.stats.writes.map(({ idempotencyKey }) => idempotencyKey));
  const changes = await changesOf(dataDir);
  return changes.flatMap(({ id, status, idempotency_key: key, entity_id: entity, wanted }) => {
    const isColleagues = Object.keys(wanted).some((name) => colleagueSet.has(`${entity} ${name}`));
    return status === 'applied' && !executed.has(key) && !isColleagues
      ? [`${id} is applied, and was not executed`]
      : [];
  });
}

/** The changes that wait to be sent. */
export async function waitingChanges({ dataDir }: Simulation): Promise<Set<string>> {
  const changes = await changesOf(dataDir);
  return new Set(changes.flatMap(({ id, status }) => (status === 'queued' ? id : [])));
}

/** What a user sees of the entities in a sheet, by entity and column; those that are not shown are left out. */
export async function shownValues(dataDir: string, wishes: readonly Wish[]): Promise<Map<string, unknown>> {
  if (!existsSync(join(dataDir, 'signals.duckdb'))) return new Map();
  return read(dataDir, async ({ rows }) => {
    const topics = await rows<Record<string, unknown>>(
      `SELECT id, priority, lifecycle_state, archived_at IS NOT NULL AS archived FROM topics WHERE deleted_at IS NULL`,
    );
    const companies = await rows<Record<string, unknown>>(
      'SELECT id, name, is_vip FROM companies WHERE deleted_at IS NULL',
    );
    const shown = new Map([...topics, ...companies].map((row) => [String(row.id), row]));
    return new Map(
      wishes.flatMap(({ id, column }) => {
        const row = shown.get(id);
        return row ? [[`${id} ${column}`, row[column]]] : [];
      }),
    );
  });
}

const waiting = ['queued', 'sending', 'conflict'];

/** Each value of an imported sheet that is neither shown nor set is a change that waits, or the import says what is wrong with it. */
export async function noLostWishes(
  simulation: Simulation,
  { wishes, isNew, waited }: { wishes: readonly Wish[]; isNew: boolean; waited: ReadonlySet<string> },
  shown: ReadonlyMap<string, unknown>,
  printed: string,
  by: string,
): Promise<void> {
  const report = JSON.parse(printed) as {
    problems?: { row: number }[];
    rows?: { row: number; outcome: string }[];
  };
  const changes = await changesOf(simulation.dataDir);
  const lost = wishes.flatMap(({ type, id, column, value }, index) => {
    const key = `${id} ${column}`;
    const wanted = value === 'TRUE' ? true : value === 'FALSE' ? false : value;
    if (!shown.has(key) || shown.get(key) === wanted) return [];
    // Row 1 has the names of the columns.
    if (report.problems?.some(({ row }) => row === index + 2)) return [];
    // Names that look as if they were moved against their ids: nothing of the file is queued, and each row says so.
    if (report.rows?.some(({ row, outcome }) => row === index + 2 && outcome === 'not_queued')) return [];
    if (simulation.valueOf({ type, id, column }) === wanted) return [];
    // A file that was imported before is not imported again.
    const isThere = changes.some(
      ({ status, ...one }) =>
        (isNew ? waiting.includes(status) : status !== 'cancelled') &&
        one.entity_id === id &&
        one.wanted[column] === wanted,
    );
    return isThere
      ? []
      : [`${column} of ${id} is ${shown.get(key)}, ${value} is wanted, and nothing is queued`];
  });
  judge(simulation, 'no wish is lost', lost);
  // What had ended with a conflict was told so.
  const replaced = changes.filter(({ id: earlier, superseded_by: later, requested_by: whose }) => {
    if (!waited.has(earlier)) return false;
    const who = changes.find(({ id }) => id === later)?.requested_by;
    return who === by && whose !== by;
  });
  const told = replaced.map(({ id, requested_by: whose }) => `${id} of ${whose} is replaced by ${by}`);
  judge(simulation, 'nobody replaces what somebody else asked for', told);
}
