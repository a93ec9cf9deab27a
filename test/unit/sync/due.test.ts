import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ChildName, resources } from '../../../src/contract/resources.js';
import type { CoverageRow, EntityRow } from '../../../src/load/batch.js';
import { Known } from '../../../src/run/known.js';
import { type DueInput, due, dueAgain } from '../../../src/sync/due.js';
import { byUrgency, cost, keyOf, type Task, wholeChild } from '../../../src/sync/task.js';
import { why } from '../../../src/sync/why.js';
import { propertyRuns } from '../../support/runs.js';
import { answered, children, daysAgo, entity, fetchedAsTheyAre, now } from './due-support.js';

/** What is due, by what is known alone: rows in, tasks out. */

const of = (...names: ChildName[]) => children.filter(({ name }) => names.some((one) => one === name));

function inputOf(
  entities: readonly EntityRow[],
  coverage: readonly CoverageRow[],
  names: readonly ChildName[],
  more: Partial<DueInput> = {},
): DueInput {
  const known = new Known(resources, { entities, coverage });
  const settings: DueInput['settings'] = { sync: { recheck: 1, personGroups: 'without_company' } };
  return { known, resources, children: of(...names), settings, ...more };
}

const dueOf = (...asked: Parameters<typeof inputOf>) => due(inputOf(...asked), now).tasks;
const brief = (tasks: readonly Task[]) => tasks.map(({ entityId, reason }) => `${entityId} ${reason}`);

describe('due', () => {
  const topic = entity('topics', 't', { '$.messageCount': '3', '$.updatedAt': '2026-02-01T00:00:00Z' });
  const [asItIs] = fetchedAsTheyAre([topic], of('topic'));
  const days = (count: number) => ({ fetchedAt: daysAgo(count).getTime() });
  const failed = { fingerprint: null, status: null, error: 'timed out', attempts: 1, fetchedAt: null };

  test.each<[string, Partial<CoverageRow> | null, string | null, Date | null]>([
    ['never asked for', null, 'never', null],
    ['marked alone', { ...failed, error: null, runId: null, touched: 4 }, 'never', null],
    ['never answered', failed, 'never', null],
    ['as it was', {}, null, null],
    ['changed', { fingerprint: 'another' }, 'changed', daysAgo(1)],
    ['changed and too old to be read in parts', { fingerprint: 'another', ...days(11) }, 'changed', null],
    ['too old', days(11), 'sweep', null],
    ['refused', { status: 404, error: 'no such topic', reason: 'NOT_FOUND' }, null, null],
    ['marked by an answer after it was asked for', { touched: 10 }, 'changed', null],
    [
      'marked by an answer while it was asked for',
      { askedNo: 9, touched: 10, answerNo: 11 },
      'changed',
      null,
    ],
    ['marked by an answer before it was asked for', { touched: 8 }, null, null],
  ])('%s: %o is %s', (_, more, reason, wholeAt) => {
    const coverage = more === null ? [] : [{ ...asItIs!, ...more }];
    const [task] = dueOf([topic], coverage, ['topic']);
    expect([task?.reason ?? null, task?.wholeAt ?? null]).toEqual([reason, wholeAt]);
  });

  test.each([
    ['another value', { '$.messageCount': '4' }, true],
    ['a field that appeared', { '$.messageCount': '3', '$.eventCount': '1' }, true],
    ['a field that vanished', {}, true],
    ['the same', { '$.messageCount': '3' }, false],
  ])('%s', (_, fields, isDue) => {
    const before = fetchedAsTheyAre([entity('topics', 't', { '$.messageCount': '3' })], of('topic_groups'));
    expect(dueOf([entity('topics', 't', fields)], before, ['topic_groups']).length).toBe(isDue ? 1 : 0);
  });

  test('the last message explains why a time moved, and nothing else does', () => {
    const at = (updatedAt: string, timeRangeEnd: string) =>
      entity('topics', 't', { '$.updatedAt': updatedAt, '$.timeRangeEnd': timeRangeEnd });
    const before = fetchedAsTheyAre([at('2026-02-01', '2026-01-31')], of('topic_history'));
    expect(dueOf([at('2026-02-03', '2026-02-03')], before, ['topic_history'])).toEqual([]);
    expect(brief(dueOf([at('2026-02-04', '2026-02-03')], before, ['topic_history']))).toEqual(['t changed']);
  });

  test('a member of a company that gained what another lost', () => {
    const companies = [entity('companies', 'c', { '$.messageCount': '5' })];
    const person = (id: string, count: string) =>
      entity('people', id, { '$.messageCount': count }, { companyId: 'c' });
    const before = [...companies, person('1', '2'), person('2', '3')];
    const coverage = fetchedAsTheyAre(before, of('company_activity'));
    expect(dueOf(before, coverage, ['company_activity'])).toEqual([]);
    const later = [...companies, person('1', '3'), person('2', '2')];
    expect(brief(dueOf(later, coverage, ['company_activity']))).toEqual(['c changed']);
  });

  test('what was in doubt: in the next run, then after one night, two, four and so on', () => {
    const isDue = (tries: number, waited: number, reason = 'again: contradicted') =>
      dueOf([topic], [{ ...asItIs!, reason, attempts: tries, ...days(waited) }], ['topic']).length > 0;
    expect(isDue(1, 0)).toBe(true);
    for (const [index, wait] of [1, 2, 4].entries())
      expect([isDue(index + 2, wait * 0.7), isDue(index + 2, wait)]).toEqual([false, true]);
    expect(isDue(1, 0, 'gone')).toBe(false);
    // What could not be stored is not asked for again by the run that could not.
    const rejected = { ...asItIs!, reason: 'again: rejected', runId: 'this' };
    expect(dueOf([topic], [rejected], ['topic'], { runId: 'this' })).toEqual([]);
    expect(brief(dueOf([topic], [rejected], ['topic'], { runId: 'later' }))).toEqual(['t changed']);
    // Their age bounds that.
    expect(
      brief(dueOf([topic], [{ ...asItIs!, reason: 'again: short', attempts: 40, ...days(11) }], ['topic'])),
    ).toEqual(['t sweep']);
  });

  test('the sweep is spread between half and all of the age', () => {
    const topics = Array.from({ length: 300 }, (_, index) => entity('topics', `t${index}`));
    const swept = (count: number) =>
      dueOf(
        topics,
        fetchedAsTheyAre(topics, of('topic'), () => days(count)),
        ['topic'],
      ).length;
    expect(swept(4.9)).toBe(0);
    expect(swept(7.5)).toBeGreaterThan(90);
    expect(swept(7.5)).toBeLessThan(210);
    expect(swept(10.1)).toBe(300);
  });
});

test('of an item that left its list all but its detail; one that is whole in its list, where it is marked', () => {
  const left = entity('topics', '1', {}, { unlistedSince: 1 });
  expect(dueOf([left], [], ['topic', 'topic_groups']).map(({ child }) => child.name)).toEqual([
    'topic_groups',
  ]);
  const whole = entity('people', '1', {}, { isWhole: true });
  const marked = answered('person', '1', { fingerprint: null, touched: 11 });
  expect([dueOf([whole], [], ['person']).length, dueOf([whole], [marked], ['person']).length]).toEqual([
    0, 1,
  ]);
});

describe('conversations of people', () => {
  const company = entity('companies', 'c');
  const employed = entity('people', 'p', {}, { companyId: 'c', companyNo: 5, isCompanyKnown: true });
  const groups = (more: Partial<CoverageRow>) => answered('company_groups', 'c', more);
  const own = (entities: EntityRow[], coverage: CoverageRow[], companyGroupsCome: boolean) =>
    dueOf(entities, coverage, ['person_groups'], { companyGroupsCome }).length > 0;

  test.each<[string, EntityRow[], CoverageRow[], boolean, boolean]>([
    ['without a company', [{ ...employed, companyId: null }], [], true, true],
    [
      'of whom no company is known yet',
      [{ ...employed, companyId: null, isCompanyKnown: false }],
      [],
      true,
      false,
    ],
    ['whose company is not listed', [employed], [], true, true],
    ['whose company is gone', [employed, { ...company, deletedAt: 1 }], [], true, true],
    ['whose company will be read', [employed, company], [], true, false],
    ['whose company will not be read', [employed, company], [], false, true],
    ['whose company was read since', [employed, company], [groups({ askedNo: 6 })], false, false],
    ['who joined since', [employed, company], [groups({ askedNo: 4 })], false, true],
    ['whose company failed once', [employed, company], [groups({ error: 'x', attempts: 1 })], false, false],
    ['whose company failed again', [employed, company], [groups({ error: 'x', attempts: 2 })], false, true],
    ['whose company is refused', [employed, company], [groups({ isCounted: false })], true, true],
  ])('%s', (_, entities, coverage, come, isDue) => {
    expect(own(entities, coverage, come)).toBe(isDue);
  });

  test('by the setting', () => {
    const asked = (personGroups: 'all' | 'never') =>
      dueOf([employed, company], [], ['person_groups'], { settings: { sync: { recheck: 1, personGroups } } })
        .length;
    expect([asked('all'), asked('never')]).toEqual([1, 0]);
  });
});

test('cost counts what is due, and estimates the pages of conversations', () => {
  const companies = [
    entity('companies', 'small', { '$.messageCount': '3' }),
    entity('companies', 'large', { '$.messageCount': '4000' }),
    entity('companies', 'known', { '$.messageCount': '1' }),
  ];
  const names: ChildName[] = ['company', 'company_groups'];
  const known = answered('company_groups', 'known', { fingerprint: null, named: 250 });
  expect(cost(dueOf(companies, [known], names), of(...names, 'topic'))).toEqual([
    { endpoint: 'company', never: 3, changed: 0, sweep: 0, due: 3, requests: 3 },
    // One page; 1,000 conversations by the messages; 250 that are known.
    { endpoint: 'company_groups', never: 3, changed: 0, sweep: 0, due: 3, requests: 1 + 10 + 3 },
  ]);
});

test('the order: never, changed, sweep; what is old by measurement alone last; then weight, failures, VIPs and last activity', () => {
  const [heavy, light] = children.toSorted((a, b) => b.weight - a.weight).filter((_, at) => at < 2);
  const task = (reason: Task['reason'], more: Partial<Task> = {}): Task => {
    return { ...wholeChild, child: light!, entityId: 'x', reason, fingerprint: '', ...more };
  };
  const inOrder = [
    task('never', { vip: true, lastActivity: '2026-02-01' }),
    task('never', { vip: true, lastActivity: '2026-01-01' }),
    task('never', { lastActivity: '2026-02-01' }),
    task('never', { hasFailed: true, vip: true }),
    task('never', { child: heavy!, vip: true }),
    task('changed', { vip: true }),
    task('sweep', { hasFailed: true }),
    task('sweep', { isEarly: true, vip: true }),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(inOrder, { minLength: inOrder.length }), (tasks) => {
      expect(tasks.toSorted(byUrgency)).toEqual(inOrder);
    }),
  );
});

describe('a second look', () => {
  const id = fc.constantFrom('1', '2', '3');
  const count = fc.constantFrom('1', '2');
  const company = fc.constantFrom(null, '1', '2');
  const change: fc.Arbitrary<EntityRow | CoverageRow> = fc.oneof(
    fc
      .tuple(id, count, company)
      .map(([person, messages, companyId]) =>
        entity(
          'people',
          person,
          { '$.messageCount': messages },
          { companyId, companyNo: 5, isCompanyKnown: true },
        ),
      ),
    fc
      .tuple(id, count, fc.constantFrom(null, 1))
      .map(([one, messages, deletedAt]) =>
        entity('companies', one, { '$.messageCount': messages }, { deletedAt }),
      ),
    fc
      .tuple(
        fc.constantFrom('company_groups', 'person_groups', 'company_activity', 'person'),
        id,
        fc.nat(20),
        fc.boolean(),
      )
      .map(([child, one, askedNo, isCounted]) => answered(child, one, { askedNo, isCounted, touched: 10 })),
  );
  const names: ChildName[] = ['company_groups', 'person_groups', 'company_activity', 'person'];
  const rowsOf = (changes: readonly (EntityRow | CoverageRow)[]) => ({
    entities: changes.filter((one): one is EntityRow => 'list' in one),
    coverage: changes.filter((one): one is CoverageRow => 'endpoint' in one),
  });

  test('at what changed finds what a look at everything finds', () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 12 }),
        fc.array(change, { maxLength: 4 }),
        (before, later) => {
          const input = inputOf(rowsOf(before).entities, rowsOf(before).coverage, names);
          const first = due(input, now);
          input.known.apply(rowsOf(later));
          const again = dueAgain(first, input, now, input.known.takeChanged());
          const whole = due(input, now);
          expect(again.tasks).toEqual(whole.tasks);
          const sorted = ({ current }: typeof whole) =>
            current.map((one) => `${one.resource} ${one.entityId}`).sort();
          expect(sorted(again)).toEqual(sorted(whole));
          expect(new Set(again.tasks.map(keyOf)).size).toBe(again.tasks.length);
        },
      ),
      { numRuns: propertyRuns(300, 5_000) },
    );
  });
});

describe('ages of what was checked', () => {
  const topics = ['old', 'middle', 'young'].map((id) => entity('topics', id));
  const ageOf: Readonly<Record<string, number>> = { old: 11, middle: 4.9, young: 0.6 };
  const coverage = fetchedAsTheyAre(topics, of('topic'), (id) => ({
    fetchedAt: daysAgo(ageOf[id] ?? 0).getTime(),
  }));
  /** Checks at four days, of which so many found a difference. */
  const input = (changes: number, freshness: { stale: number } | 26 = 26) =>
    inputOf(topics, coverage, ['topic'], {
      settings: { sync: { recheck: 1, personGroups: 'all' }, serve: { freshness } } as DueInput['settings'],
      measured: new Map([['topic', { checks: 400, changes, days: 4 * (400 - changes) + 2 * changes }]]),
    });
  const dueNow = (changes: number) =>
    due(input(changes), now).tasks.map(({ entityId, isEarly }) => [entityId, isEarly]);

  test('stay as they are when checks found little, and get shorter with what they found', () => {
    expect(dueNow(4)).toEqual([['old', false]]);
    // What is due for that alone comes last.
    expect(dueNow(200)).toEqual([
      ['old', false],
      ['middle', true],
    ]);
  });

  test('are explained', () => {
    const [young] = why(input(200), now, 'young', new Map(), new Map());
    expect(young).toMatchObject({ isDue: false, maxAgeDays: 10 / 8, measured: { checks: 400 } });
    // 200 changes in 200 times four days and 200 times two, and three in as many hundred days, as the age assumes.
    expect(young?.measured?.daysBetween).toBeCloseTo(1_500 / 203, 6);
    expect(why(input(200, { stale: 0 }), now, 'young', new Map(), new Map())[0]).toMatchObject({
      maxAgeDays: 10,
      measured: null,
    });
  });
});

test.each<[string, Partial<CoverageRow>, Partial<EntityRow>, boolean]>([
  ['what was answered well', {}, {}, true],
  ['what failed when it was asked for last', { error: 'timed out' }, {}, false],
  ['what is in doubt, and asked again later', { reason: 'again: short', attempts: 9 }, {}, false],
  ['what is deleted', {}, { deletedAt: 1 }, false],
  ['what is due', { touched: 99 }, {}, false],
])('may be checked: %s', (_, covered, more, isSo) => {
  const [coverage] = fetchedAsTheyAre([entity('topics', 't')], of('topic'));
  const { current } = due(
    inputOf([entity('topics', 't', {}, more)], [{ ...coverage!, ...covered }], ['topic']),
    now,
  );
  expect(current.map(({ entityId }) => entityId)).toEqual(isSo ? ['t'] : []);
});
