import { describe, expect, test } from 'vitest';
import { childText } from '../../../src/cli/text/explanation.js';
import { type ChildName, resources } from '../../../src/contract/resources.js';
import { type DueSettings, due } from '../../../src/sync/due.js';
import { type DueCode, type ExplainedChild, explainDue, pathOf } from '../../../src/sync/explain-due.js';
import { batchOf, type Coverage, type Document } from '../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { runId } from '../warehouse/support.js';
import { ages, daysAgo, item, now, warehouseForEachTest } from './due-support.js';

const { children } = resources;
const childOf = (name: ChildName) => children.filter((child) => child.name === name);

const settings: DueSettings = {
  api: { maxAnswerBytes: 1_000_000, paging: { pageSize: 100 } },
  sync: {
    maxAgeDays: ages,
    personGroups: 'without_company',
  },
};

let warehouse: Warehouse;
warehouseForEachTest((made) => {
  warehouse = made;
});

/** What is stored about one entity, and what explain says about one child of it. */
interface Case {
  readonly child: ChildName;
  /** The list item, as it is now; none where no list has it. */
  readonly item?: object;
  /** The list item when the child was requested. */
  readonly before?: object;
  readonly more?: readonly Document[];
  /** How it was requested; never when absent. */
  readonly asked?: Partial<Coverage>;
  /** Whether the values of that time are stored, as this version does. */
  readonly isOld?: boolean;
  /** A later request failed. */
  readonly failedAgain?: boolean;
  readonly settings?: Partial<DueSettings['sync']>;
  readonly why: DueCode;
  readonly changes?: readonly (readonly [field: string, before: string | null, now: string | null])[];
  readonly oneOf?: boolean;
  /** What people read. */
  readonly text: RegExp;
}

const id = '12';
const topic = {
  title: 'a',
  messageCount: 3,
  updatedAt: '2026-02-01T00:00:00Z',
  timeRangeEnd: '2026-01-31T00:00:00Z',
};
const presence = (body: object) => [item('topic_presence', id, body)];
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
    ...{ child: 'topic', item: topic, why: 'no_answer' },
    asked: { fingerprint: null, status: null, error: 'timed out' },
    text: /^DUE: the last request failed, at an unknown time: timed out$/,
  },
  'no answer came to the second request': {
    ...{ child: 'topic', item: { ...topic, title: 'b' }, before: topic, why: 'changed' },
    ...{ asked: {}, failedAgain: true, changes: [['title', null, null]] },
    text: /^DUE: title changed since it was fetched, 24 h 00 min ago; the request after that failed: reset$/,
  },
  'gone and back': {
    ...{ child: 'topic', item: topic, why: 'removed' },
    asked: { fingerprint: null, status: 404, error: null, reason: 'gone' },
    text: /^DUE: nothing of it is stored \(gone\)/,
  },
  'a counter changed': {
    ...{
      child: 'topic_groups',
      item: { ...topic, messageCount: 5 },
      before: topic,
      asked: {},
      why: 'changed',
    },
    changes: [['messageCount', '3', '5']],
    text: /^DUE: messageCount 3 -> 5 since it was fetched, 24 h 00 min ago \(200\)$/,
  },
  'a text changed: its old value is not stored': {
    ...{ child: 'topic', item: { ...topic, title: 'b' }, before: topic, asked: {}, why: 'changed' },
    changes: [['title', null, null]],
    text: /^DUE: title changed since/,
  },
  'a field appeared': {
    ...{ child: 'topic', item: { ...topic, eventCount: 4 }, before: topic, asked: {}, why: 'changed' },
    changes: [['eventCount', null, '4']],
    text: /eventCount \(none\) -> 4/,
  },
  'only the time moved': {
    ...{
      child: 'topic_history',
      item: { ...topic, updatedAt: '2026-02-02T00:00:00Z' },
      before: topic,
      asked: {},
    },
    ...{ why: 'changed', changes: [['updatedAt', topic.updatedAt, '2026-02-02T00:00:00Z']] },
    text: /^DUE: updatedAt .* -> .* since/,
  },
  'the last message explains why the time moved': {
    ...{ child: 'topic_history', before: topic, asked: {}, why: 'only_a_message' },
    item: { ...topic, updatedAt: '2026-02-03T00:00:00Z', timeRangeEnd: '2026-02-03T00:00:00Z' },
    changes: [['updatedAt', topic.updatedAt, '2026-02-03T00:00:00Z']],
    text: /^not due: updatedAt .* but the last message explains that/,
  },
  'fetched by an older version': {
    ...{
      child: 'topic',
      item: { ...topic, title: 'b' },
      before: topic,
      asked: {},
      isOld: true,
      why: 'changed',
    },
    ...{ oneOf: true, text: /one of title, summary, .* changed/ },
  },
  'too old': {
    ...{ child: 'topic', item: topic, asked: { fetchedAt: daysAgo(11) }, why: 'old' },
    text: /^DUE: older than its 10 days allow, 11 d 0 h ago \(200\); it was due 2026-02-\d\d/,
  },
  'changed and too old': {
    ...{ child: 'topic', item: { ...topic, title: 'b' }, before: topic, asked: { fetchedAt: daysAgo(11) } },
    ...{ why: 'changed', changes: [['title', null, null]], text: /^DUE: title changed/ },
  },
  unchanged: {
    ...{ child: 'topic', item: topic, asked: {}, why: 'unchanged' },
    text: /^not due: nothing changed since it was fetched, .* \(200\); again at the latest 2026-03-\d\d/,
  },
  'refused with 404': {
    ...{ child: 'topic_people', item: topic, why: 'refused' },
    asked: { status: 404, error: 'there is no such topic', reason: 'NOT_FOUND' },
    text: /^not due: refused 24 h 00 min ago \(404, NOT_FOUND\); requested again when it changes; again at the latest/,
  },
  'refused with 400, then changed': {
    ...{ child: 'topic_people', item: { ...topic, messageCount: 4 }, before: topic, why: 'changed' },
    ...{
      asked: { status: 400, error: 'no' },
      changes: [['messageCount', '3', '4']],
      text: /^DUE: messageCount 3 -> 4/,
    },
  },
  'an id that cannot be sent': {
    ...{ child: 'topic', item: topic, why: 'id_not_valid' },
    asked: { status: null, error: null, reason: 'not fetchable: the id is not valid in a path' },
    text: /^not due: its id is not valid in a path/,
  },
  'in no list': { child: 'topic', why: 'not_listed', text: /^not requested: no list has it/ },
  deleted: {
    ...{
      child: 'topic',
      item: topic,
      why: 'unlisted',
      more: presence({ deletedAt: '2026-02-01T00:00:00Z' }),
    },
    text: /^not requested: it is deleted/,
  },
  'not listed any more': {
    ...{
      child: 'topic',
      item: topic,
      why: 'unlisted',
      more: presence({ unlistedSince: '2026-02-01T00:00:00Z' }),
    },
    ...{ asked: {}, text: /^not requested: it is deleted, or not in its list/ },
  },
  'archived in the migration': {
    ...{ child: 'topic_groups', item: topic, why: 'migrated' },
    more: presence({ detailUnavailableReason: 'archived_in_v1_to_v2_migration' }),
    text: /^not requested: archived in the v1 to v2 migration/,
  },
  'every field is in the list': {
    child: 'channel',
    item: whole,
    why: 'in_list',
    text: /^not requested: the list item/,
  },
  'a person with a company': {
    ...{ child: 'person_groups', item: { company: { id: 'c' } }, why: 'with_company' },
    more: [item('companies', 'c', {})],
    text: /^not requested: the conversations of the company/,
  },
  'a person whose company is not listed': {
    ...{ child: 'person_groups', item: { company: { id: 'c' } }, why: 'never_requested' },
    text: /^DUE: it was never requested/,
  },
  'a person of whom no company is known yet': {
    ...{
      child: 'person_groups',
      item: {},
      why: 'company_unknown',
      text: /^not requested: the detail has to say/,
    },
  },
  'a person without a company': {
    ...{ child: 'person_groups', item: { company: null }, why: 'never_requested', text: /^DUE/ },
  },
  'conversations of people are switched off': {
    ...{
      child: 'person_groups',
      item: { company: null },
      settings: { personGroups: 'never' },
      why: 'setting',
    },
    text: /^not requested: sync.personGroups is never/,
  },
};

async function load(documents: readonly Document[], coverage: readonly Coverage[] = []): Promise<void> {
  await warehouse.load(batchOf(runId, { documents, coverage }));
}

async function explained(one: Case, entityId = id): Promise<ExplainedChild> {
  const [child] = childOf(one.child);
  if (!child) throw new Error('no such child');
  const used = { ...settings, sync: { ...settings.sync, ...one.settings } };
  if (one.asked) {
    await load([item(child.list.name, entityId, one.before ?? one.item)]);
    const [task] = await due(warehouse, [child], used, now);
    await warehouse.run('DELETE FROM ops.coverage');
    const { fingerprint = '', counters = null } = task ?? {};
    const good = { fetchedAt: daysAgo(1), answerNo: 1, fingerprint, status: 200, error: null, reason: null };
    const stored = { counters: one.isOld ? null : counters };
    const asked = { endpoint: child.name, entityId, ...good, ...stored, ...one.asked };
    await load([], [asked]);
    const failure = {
      fetchedAt: daysAgo(0),
      fingerprint: null,
      counters: null,
      status: null,
      error: 'reset',
    };
    if (one.failedAgain) await load([], [{ ...asked, ...failure }]);
  }
  const documents = [...(one.item ? [item(child.list.name, entityId, one.item)] : []), ...(one.more ?? [])];
  if (documents.length > 0) await load(documents);
  const [found] = await explainDue(warehouse, [child], entityId, used, now);
  const tasks = await due(warehouse, [child], used, now, { companyGroupsCome: true });
  expect([found?.isDue, found?.reason]).toEqual([tasks.length === 1, tasks[0]?.reason ?? null]);
  return found as ExplainedChild;
}

describe('explain', () => {
  test.each(Object.entries(cases))('%s', async (_, one) => {
    const found = await explained(one);
    expect(found.why).toBe(one.why);
    expect(found.changes.map(({ field, before, now: here }) => [field, before, here])).toEqual(
      one.changes ?? [],
    );
    expect(found.oneOf.length > 0).toBe(one.oneOf ?? false);
    expect(childText(found, now.getTime())).toMatch(one.text);
  });

  test('only ids of digits where the path takes no others', async () => {
    const found = await explained(
      { child: 'person_history', item: {}, why: 'id_not_digits', text: /digits only/ },
      'p-1',
    );
    expect(found.why).toBe('id_not_digits');
    expect(childText(found, now.getTime())).toMatch(/^not requested: the API takes ids of digits only/);
  });

  test('says when the sweep comes: from then on it is due, and not before', async () => {
    const { sweepAt } = await explained({
      child: 'topic',
      item: topic,
      asked: {},
      why: 'unchanged',
      text: /./,
    });
    const at = new Date(sweepAt ?? '').getTime();
    const dueAt = async (ms: number) =>
      (await due(warehouse, childOf('topic'), settings, new Date(ms))).length;
    expect([await dueAt(at - 1_000), await dueAt(at + 1_000)]).toEqual([0, 1]);
  });

  test('texts and personal data are not stored with the coverage', async () => {
    await load([
      item('people', id, { displayName: 'Kim Lee', primaryEmail: 'kim@example.com', messageCount: 4 }),
    ]);
    const [task] = await due(warehouse, childOf('person'), settings, now);
    const stored = JSON.parse(task?.counters ?? '{}');
    expect(stored).toMatchObject({
      '$.messageCount': '4',
      '$.displayName': expect.stringMatching(/^#[0-9a-f]{8}$/),
    });
    expect(task?.counters).not.toMatch(/Kim|example/);
  });

  test('names the request as it is sent', () => {
    const paths = children.map((child) => pathOf(child, 'a/b'));
    expect(paths).toContain('/topics/a%2Fb/groups');
    expect(paths).toContain('/groups?companyId=a%2Fb');
  });
});
