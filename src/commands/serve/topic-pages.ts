import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, writeAtomicallySync } from '../../base/atomic-file.js';
import type { Iso } from '../../base/clock.js';
import { StorageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import { resources } from '../../contract/resources.js';
import type { Change } from '../../push/change.js';
import { presenceOf } from '../../read/entity.js';
import type { Snapshot } from '../../read/query.js';
import type { Asker, CompanyDetails, Said, Told, TopicDetails, TopicEvent } from '../../serve/page/topic.js';
import type { TopicLine } from '../../serve/page/topics.js';
import { writeGrid } from '../../sheet/write.js';
import { sqlFile } from '../../store/sql.js';
import { type TimelineEvent, timelineOf } from '../explain.js';
import type { Board } from './board.js';

/** The data of the pages of one topic and of one company, from a published file. */

type TopicParts = Omit<TopicDetails, 'drafts' | 'waiting' | 'sent'>;
type CompanyParts = Omit<CompanyDetails, 'drafts' | 'waiting' | 'sent'>;

/** Rows about an id; null where the file leaves out a table or column that they need. */
async function rowsAbout<T>(snapshot: Snapshot, query: string, id: string): Promise<T[] | null> {
  return orNull(() => snapshot.rows<T>(sqlFile(`topics/${query}`), { id }));
}

async function orNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StorageError) return null;
    throw error;
  }
}

/** Null when there is no topic with this id. */
export async function readTopic(
  snapshot: Snapshot,
  board: Board,
  changes: readonly Change[],
  id: string,
): Promise<TopicParts | null> {
  type Related = NonNullable<TopicDetails['related']>[number];
  type About = TopicDetails['about'] & Pick<TopicLine, 'title' | 'priority' | 'lifecycleState'>;
  const [about] = await snapshot.rows<About>(sqlFile('topics/topic'), { id });
  if (!about) return null;
  const { title, priority, lifecycleState } = about;
  const gone = { id, title, priority, lifecycleState, ...noActivity };
  const topic = board.byId.get(id) ?? gone;
  const own = changes.filter(({ entityType, entityId }) => entityType === 'topic' && entityId === id);
  const related = await rowsAbout<Omit<Related, 'line'>>(snapshot, 'related', id);
  return {
    topic,
    about,
    money: board.attributes.flatMap((name, at) => {
      const value = topic.attributes[at] ?? null;
      return value === null ? [] : [[name, value] as const];
    }),
    decisions: await rowsAbout(snapshot, 'decisions', id),
    people: await peopleOf(snapshot, id),
    messages: await rowsAbout(snapshot, 'messages', id),
    related: related?.map((one) => ({ ...one, line: board.byId.get(one.id) ?? null })) ?? null,
    timeline: await orNull(async () => {
      const presence = await presenceOf(snapshot, resources, 'topic', id);
      return (await timelineOf(snapshot, 'topic', id, own, presence)).flatMap(eventOf);
    }),
  };
}

/** Of a topic that the list does not have. */
const noActivity = {
  isOpen: false,
  isArchived: false,
  companies: [],
  vipPeople: 0,
  conversations: 0,
  weeks: [],
  momentum: 0,
  sources: [],
  waitingSince: null,
  isDecided: false,
  attributes: [],
} as const;

type PersonRow = Omit<Asker, 'company' | 'last'> &
  Omit<Said, 'at'> & {
    readonly companyId: string | null;
    readonly companyName: string | null;
    readonly isCompanyVip: boolean;
    readonly lastAt: Iso | null;
  };

async function peopleOf(snapshot: Snapshot, id: string): Promise<Asker[] | null> {
  const rows = await rowsAbout<PersonRow>(snapshot, 'people', id);
  return (
    rows?.map(({ companyId, companyName, isCompanyVip, lastAt, text, url, source, ...person }): Asker => {
      const company = companyId === null ? null : { id: companyId, name: companyName, isVip: isCompanyVip };
      return { ...person, company, last: { name: person.name, at: lastAt, text, source, url } };
    }) ?? null
  );
}

const knownFrom: Readonly<Record<TimelineEvent['kind'], string>> = {
  change: 'our changes',
  history: 'history of the API',
  merge: 'history of the API',
  seen: 'a sync',
  deleted: 'a sync',
  unlisted: 'a sync',
  messages: 'messages',
};

/** The fields that people decide, and the state of the topic. Counters change with every message. */
const shownFields = [
  'title',
  'summary',
  'priority',
  'lifecycle_state',
  'archived',
  'archived_at',
  'archived_reason',
  'graph_status',
  'merged_into_id',
  'deleted_at',
];

/** An event as the page shows it; none where it says nothing that people decide by. */
function eventOf({ at, by, kind, text, fields }: TimelineEvent): TopicEvent[] {
  const shown = fields
    .map((one) => ({ ...one, name: one.field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) }))
    .filter(({ name }) => shownFields.includes(name))
    .map(({ name, before, now }) => ({ name, from: textOf(before), to: textOf(now) }));
  return shown.length === 0 && text === null ? [] : [{ at, by, from: knownFrom[kind], text, fields: shown }];
}

function textOf(value: Json): string {
  return value === null ? '(none)' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** Null when there is no company with this id. */
export async function readCompany(
  snapshot: Snapshot,
  board: Board,
  id: string,
): Promise<CompanyParts | null> {
  type Row = CompanyDetails['company'] & { readonly attributes: Readonly<Record<string, Json>> | null };
  const [row] = await snapshot.rows<Row>(sqlFile('topics/company'), { id });
  if (!row) return null;
  const { attributes, ...company } = row;
  const { name = company.name, isVip = company.isVip } = board.companies.get(id) ?? {};
  const asked = await rowsAbout<{ id: string; people: number; messages: number; lastAt: Iso | null }>(
    snapshot,
    'asked',
    id,
  );
  return {
    company: { ...company, name, isVip },
    money: Object.entries(attributes ?? {}).flatMap(([key, value]) =>
      typeof value === 'number' ? [[key, value] as const] : [],
    ),
    asked:
      asked?.flatMap((one) => {
        const topic = board.byId.get(one.id);
        return topic ? [{ ...topic, ...one }] : [];
      }) ?? null,
    waits: await rowsAbout(snapshot, 'company_waiting', id),
    answers: await rowsAbout(snapshot, 'answers', id),
  };
}

/** Who asked for a topic, and who of them was told; null when the list does not have it. */
export async function readTold(
  snapshot: Snapshot,
  board: Board,
  ticks: Ticks,
  id: string,
): Promise<Told | null> {
  const topic = board.byId.get(id);
  if (!topic) return null;
  const people = (await peopleOf(snapshot, id)) ?? [];
  return { topic, people: people.map((one) => ({ ...one, told: ticks.of(id, one.id) })) };
}

/** Writes the people who asked for a topic as a CSV file without formulas. */
export function writeTold(out: string, { people }: Told): Promise<void> {
  const columns = ['person', 'company', 'vip', 'said_last_at', 'said_last', 'link', 'told_by', 'told_at'];
  const rows = people.map(({ name, id, company, isVip, last, told }, at) => {
    const who = [name ?? id, company && (company.name ?? company.id), isVip || company?.isVip === true];
    const cells = [...who, last.at, last.text, last.url, told?.by ?? null, told?.at ?? null];
    return { number: at + 2, cells };
  });
  return writeGrid(out, { columns, headerRow: 1, notes: [], rows }, { overwrite: true });
}

interface Tick {
  readonly topicId: string;
  readonly personId: string;
  readonly by: string;
  readonly at: Iso;
}

/**
 * Who was told that a topic is completed: a small file for each, in the folder of the previews, which removes it as it removes
 * those. To forget a person removes those about the person.
 */
export class Ticks {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'imports');
  }

  of(topicId: string, personId: string): Tick | null {
    const path = this.#path(topicId, personId);
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Tick) : null;
  }

  /** Says of each whether it was told. One that is ticked already keeps who did it, and when. */
  set(tick: Tick, isTold: boolean): void {
    const path = this.#path(tick.topicId, tick.personId);
    if (!isTold) rmSync(path, { force: true });
    else if (!existsSync(path)) {
      makeFolder(this.#folder);
      writeAtomicallySync(path, JSON.stringify(tick));
    }
  }

  #path(topicId: string, personId: string): string {
    const name = createHash('sha256')
      .update(JSON.stringify([topicId, personId]))
      .digest('hex')
      .slice(0, 32);
    return join(this.#folder, `${name}.told`);
  }
}
