import { beforeAll, describe, expect, test } from 'vitest';
import { childText } from '../../../src/commands/explanation.js';
import type { ChildName } from '../../../src/contract/resources.js';
import { batchOf, type Coverage, type Document } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import type { DueSettings } from '../../../src/sync/ages.js';
import { type DueCode, type ExplainedChild, pathOf } from '../../../src/sync/why.js';
import { loadBatch } from '../../support/load-batch.js';
import { open, runId } from '../../support/open-warehouse.js';
import { children, daysAgo, dueIn, item, now, whyIn } from './due-support.js';

const due = async (...asked: Parameters<typeof dueIn>) => (await dueIn(...asked)).tasks;
const childOf = (name: ChildName) => children.filter((child) => child.name === name);

const settings: DueSettings = {
  sync: {
    recheck: 1,
    personGroups: 'without_company',
  },
};

/** What is stored about one entity, and what explain says about one child of it. */
interface Case {
  readonly child: ChildName;
  /** The list item, as it is now; none where no list has it. */
  readonly item?: object;
  /** The list item when the child was requested. */
  readonly before?: object;
  readonly more?: (id: string) => readonly Document[];
  readonly id?: string;
  /** How it was requested; never when absent. */
  readonly asked?: Partial<Coverage>;
  /** Whether the values of that time are not stored. */
  readonly isBare?: boolean;
  /** A later request failed. */
  readonly failedAgain?: boolean;
  readonly settings?: Partial<DueSettings['sync']>;
  readonly why: DueCode;
  readonly changes?: readonly (readonly [field: string, before: string | null, now: string | null])[];
  readonly oneOf?: boolean;
  /** What people read. */
  readonly text: RegExp;
}

const topic = {
  title: 'a',
  messageCount: 3,
  updatedAt: '2026-02-01T00:00:00Z',
  timeRangeEnd: '2026-01-31T00:00:00Z',
};
const presence = (body: object) => (id: string) => [item('topic_presence', id, body)];
const whole = Object.fromEntries(
  (childOf('channel')[0]?.skippedWhenListHas ?? []).map((field) => [field, null]),
);

const cases: Readonly<Record<string, Case>> = {
  'never requested': {
    child: 'topic',
    item: topic,
    why: 'never_requested',
    text: /^DUE: it was never requested$/,
  },
  'no answer came': {
    child: 'topic',
    item: topic,
    why: 'no_answer',
    asked: { fingerprint: null, status: null, error: 'timed out' },
    text: /^DUE: the last request failed, at an unknown time: timed out$/,
  },
  'no answer came to the second request': {
    child: 'topic',
    item: { ...topic, title: 'b' },
    before: topic,
    why: 'changed',
    asked: {},
    failedAgain: true,
    changes: [['title', null, null]],
    text: /^DUE: title changed since it was fetched, 24 h 00 min ago; the request after that failed: reset$/,
  },
  'gone and back': {
    child: 'topic',
    item: topic,
    why: 'removed',
    asked: { fingerprint: null, status: 404, error: null, reason: 'gone' },
    text: /^DUE: nothing of it is stored \(gone\)/,
  },
  'a counter changed': {
    child: 'topic_groups',
    item: { ...topic, messageCount: 5 },
    before: topic,
    asked: {},
    why: 'changed',
    changes: [['messageCount', '3', '5']],
    text: /^DUE: messageCount 3 -> 5 since it was fetched, 24 h 00 min ago \(200\)$/,
  },
  'a text changed: its old value is not stored': {
    child: 'topic',
    item: { ...topic, title: 'b' },
    before: topic,
    asked: {},
    why: 'changed',
    changes: [['title', null, null]],
    text: /^DUE: title changed since/,
  },
  'the last message explains why the time moved': {
    child: 'topic_history',
    before: topic,
    asked: {},
    why: 'only_a_message',
    item: { ...topic, updatedAt: '2026-02-03T00:00:00Z', timeRangeEnd: '2026-02-03T00:00:00Z' },
    changes: [['updatedAt', topic.updatedAt, '2026-02-03T00:00:00Z']],
    text: /^not due: updatedAt .* but the last message explains that/,
  },
  'a time moved that no message explains': {
    child: 'topic_history',
    before: topic,
    asked: {},
    why: 'changed',
    text: /^DUE: updatedAt/,
    item: { ...topic, updatedAt: '2026-02-04T00:00:00Z', timeRangeEnd: '2026-02-03T00:00:00Z' },
    changes: [['updatedAt', topic.updatedAt, '2026-02-04T00:00:00Z']],
  },
  'what is larger than it may be': {
    child: 'topic',
    item: topic,
    why: 'unchanged',
    asked: { status: 200, reason: 'answer larger than 1000000 bytes' },
    text: /^not due/,
  },
  'a company that somebody joined since': {
    child: 'company_groups',
    item: { messageCount: 2 },
    asked: {},
    why: 'touched',
    more: (id) => [{ ...item('person_companies', id), parentId: 'p', answerNo: 2 }],
    text: /^DUE: a merge, a move or a deletion concerns it since it was fetched/,
  },
  'an answer that was in doubt': {
    child: 'topic_groups',
    item: topic,
    why: 'asked_again',
    asked: { reason: 'again: incomplete' },
    text: /^DUE: the last answer was in doubt, .* \(incomplete\)/,
  },
  'what it was fetched with is not stored': {
    child: 'topic',
    item: { ...topic, title: 'b' },
    before: topic,
    asked: {},
    isBare: true,
    why: 'changed',
    oneOf: true,
    text: /one of title, summary, .* changed \(what they were is not stored\)/,
  },
  'too old': {
    child: 'topic',
    item: topic,
    asked: { fetchedAt: daysAgo(11) },
    why: 'old',
    text: /^DUE: older than its 10 days allow, 11 d 0 h ago \(200\); it was due 2026-02-\d\d/,
  },
  unchanged: {
    child: 'topic',
    item: topic,
    asked: {},
    why: 'unchanged',
    text: /^not due: its list shows no change since it was fetched, .* \(200\); again at the latest 2026-03-\d\d/,
  },
  'refused with 404': {
    child: 'topic_people',
    item: topic,
    why: 'refused',
    asked: { status: 404, error: 'there is no such topic', reason: 'NOT_FOUND' },
    text: /^not due: refused 24 h 00 min ago \(404, NOT_FOUND\); requested again when it changes; again at the latest/,
  },
  'an id that cannot be sent': {
    child: 'topic',
    item: topic,
    why: 'id_not_valid',
    asked: { status: null, error: null, reason: 'not fetchable: the id is not valid in a path' },
    text: /^not due: its id is not valid in a path/,
  },
  'in no list': { child: 'topic', why: 'not_listed', text: /^not requested: no list has it/ },
  deleted: {
    child: 'topic',
    item: topic,
    why: 'deleted',
    more: presence({ deletedAt: '2026-02-01T00:00:00Z' }),
    text: /^not requested: it is deleted/,
  },
  'not listed any more': {
    child: 'topic',
    item: topic,
    why: 'unlisted',
    more: presence({ unlistedSince: '2026-02-01T00:00:00Z' }),
    asked: {},
    text: /^not requested: it is not in its list any more/,
  },
  'archived in the migration': {
    child: 'topic_groups',
    item: topic,
    why: 'migrated',
    more: presence({ detailUnavailableReason: 'archived_in_v1_to_v2_migration' }),
    text: /^not requested: archived in the v1 to v2 migration/,
  },
  'the people of one that was archived in the migration': {
    child: 'topic_people',
    item: topic,
    why: 'never_requested',
    text: /^DUE: it was never requested/,
    more: presence({ detailUnavailableReason: 'archived_in_v1_to_v2_migration' }),
  },
  'an id with other characters than digits': {
    child: 'person_history',
    item: {},
    id: 'p-1',
    why: 'id_not_digits',
    text: /^not requested: the API takes ids of digits only/,
  },
  'every field is in the list': {
    child: 'channel',
    item: whole,
    why: 'in_list',
    text: /^not requested: the list item/,
  },
  'a person with a company': {
    child: 'person_groups',
    item: { company: { id: 'c' } },
    why: 'with_company',
    more: () => [item('companies', 'c', {})],
    text: /^not requested: the conversations of the company/,
  },
  'a person whose company is not listed': {
    child: 'person_groups',
    item: { company: { id: 'not listed' } },
    why: 'never_requested',
    text: /^DUE: it was never requested/,
  },
  'a person of whom no company is known yet': {
    child: 'person_groups',
    item: {},
    why: 'company_unknown',
    text: /^not requested: the detail has to say/,
  },
  'conversations of people are switched off': {
    child: 'person_groups',
    item: { company: null },
    settings: { personGroups: 'never' },
    why: 'setting',
    text: /^not requested: sync.personGroups is never/,
  },
};

/** One warehouse with all cases, by their place: what takes time is to load a batch. */
const ids = new Map(Object.entries(cases).map(([name, one], index) => [name, one.id ?? String(100 + index)]));
let warehouse: Warehouse;

beforeAll(async () => {
  warehouse = await open();
  const load = (documents: readonly Document[], coverage: readonly Coverage[] = []) =>
    loadBatch(warehouse, batchOf(runId, { documents, coverage }));
  const all = Object.entries(cases).map(([name, one]) => {
    const [child] = childOf(one.child);
    if (!child) throw new Error(`${one.child} is no child`);
    return { ...one, child, id: ids.get(name) ?? '' };
  });
  const asked = all.filter((one) => one.asked);
  await load(asked.map(({ child, id, before, item: later }) => item(child.list.name, id, before ?? later)));
  const tasks = await due(warehouse, children, settings, now);
  const coverage = asked.map(({ child, id, isBare, asked: how }): Coverage => {
    const task = tasks.find((one) => one.child.name === child.name && one.entityId === id);
    const { fingerprint = '', counters = null } = task ?? {};
    const good = { fetchedAt: daysAgo(1), answerNo: 1, status: 200, error: null, reason: null };
    return {
      endpoint: child.name,
      entityId: id,
      ...good,
      fingerprint,
      counters: isBare ? null : counters,
      ...how,
    };
  });
  await load([], coverage);
  const failure = {
    fetchedAt: daysAgo(0),
    fingerprint: null,
    counters: null,
    status: null,
    error: 'reset',
  };
  const failed = new Set(all.flatMap(({ failedAgain, id }) => (failedAgain ? id : [])));
  await load(
    all.flatMap(({ child, id, item: later, more }) => [
      ...(later ? [item(child.list.name, id, later)] : []),
      ...(more?.(id) ?? []),
    ]),
    coverage.flatMap((one) => (failed.has(one.entityId) ? [{ ...one, ...failure }] : [])),
  );
  return () => warehouse.close();
});

/** What explain says of a case; of what is due, `due` has to say the same. */
async function explained(name: string): Promise<ExplainedChild> {
  const one = cases[name];
  const id = ids.get(name) ?? '';
  if (!one) throw new Error(`there is no case ${name}`);
  const used = { ...settings, sync: { ...settings.sync, ...one.settings } };
  const [found] = await whyIn(warehouse, childOf(one.child), id, used, now);
  const tasks = await due(warehouse, childOf(one.child), used, now, { companyGroupsCome: true });
  const task = tasks.find(({ entityId }) => entityId === id);
  expect([found?.isDue, found?.reason]).toEqual([task !== undefined, task?.reason ?? null]);
  return found as ExplainedChild;
}

describe('explain', () => {
  test.each(Object.entries(cases))('%s', async (name, one) => {
    const found = await explained(name);
    expect(found.why).toBe(one.why);
    expect(found.changes.map(({ field, before, now: here }) => [field, before, here])).toEqual(
      one.changes ?? [],
    );
    expect(found.oneOf.length > 0).toBe(one.oneOf ?? false);
    expect(childText(found, now.getTime())).toMatch(one.text);
  });

  test('says when the sweep comes: from then on it is due, and not before', async () => {
    const at = new Date((await explained('unchanged')).sweepAt ?? '').getTime();
    const dueAt = async (ms: number) =>
      (await due(warehouse, childOf('topic'), settings, new Date(ms))).some(
        ({ entityId }) => entityId === ids.get('unchanged'),
      );
    expect([await dueAt(at - 1_000), await dueAt(at + 1_000)]).toEqual([false, true]);
  });

  test('texts and personal data are not stored with the coverage', async () => {
    const person = { displayName: 'Kim Lee', primaryEmail: 'kim@example.com', messageCount: 4 };
    await loadBatch(warehouse, batchOf(runId, { documents: [item('people', '7', person)] }));
    const tasks = await due(warehouse, childOf('person'), settings, now);
    const stored = tasks.find(({ entityId }) => entityId === '7')?.counters ?? '{}';
    expect(JSON.parse(stored)).toMatchObject({
      '$.messageCount': '4',
      '$.displayName': expect.stringMatching(/^#[0-9a-f]{12}$/),
    });
    expect(stored).not.toMatch(/Kim|example/);
  });

  test('names the request as it is sent', () => {
    const paths = children.map((child) => pathOf(child, 'a/b'));
    expect(paths).toContain('/topics/a%2Fb/groups');
    expect(paths).toContain('/groups?companyId=a%2Fb');
  });
});
