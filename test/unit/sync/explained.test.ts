import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resources } from '../../../src/contract/resources.js';
import { isExplained, type StoredActivity } from '../../../src/sync/explained.js';
import { type Task, wholeChild } from '../../../src/sync/task.js';
import { propertyRuns } from '../../support/runs.js';

const childNamed = (name: string) => resources.children.find((child) => child.name === name)!;
const moment = (at: number) => new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();

/** A list of conversations that changed since it was read. */
function changed(child: 'company_groups' | 'person_groups', before: object, now: object): Task {
  return {
    ...wholeChild,
    child: childNamed(child),
    entityId: '1',
    reason: 'changed',
    fingerprint: 'f',
    wholeAt: new Date(0),
    counters: JSON.stringify(now),
    storedCounters: JSON.stringify(before),
  };
}

const before = { '$.messageCount': '3', '$.lastSeenAt': moment(1), '$.personCount': '2', named: '1' };
const now = { ...before, '$.messageCount': '5', '$.lastSeenAt': moment(9) };
const stored: StoredActivity = {
  messages: 5,
  lastAt: Date.parse(moment(9)),
  conversations: 2,
  unlisted: 0,
  emptied: 0,
};
const person = { '$.messageCount': '5', '$.lastSeenAt': moment(9), '$.conversationCount': '2' };

test.each<[string, boolean, Task, Partial<StoredActivity>]>([
  ['all that is counted is stored', true, changed('company_groups', before, now), {}],
  ['a message is counted and not stored', false, changed('company_groups', before, now), { messages: 4 }],
  ['a stored message is gone', false, changed('company_groups', before, now), { messages: 6 }],
  ['another message is the last one', false, changed('company_groups', before, now), { lastAt: 1 }],
  [
    'a conversation of the list has none of theirs',
    false,
    changed('company_groups', before, now),
    { emptied: 1 },
  ],
  ['somebody joined', false, changed('company_groups', before, { ...now, '$.personCount': '3' }), {}],
  ['it is too old', false, { ...changed('company_groups', before, now), wholeAt: null }, {}],
  [
    'its counters are not stored',
    false,
    { ...changed('company_groups', before, now), storedCounters: null },
    {},
  ],
  ['a counter is missing', false, changed('company_groups', before, { ...now, '$.messageCount': null }), {}],
  ['a conversation came with its topic alone', true, changed('company_groups', before, now), { unlisted: 1 }],
  [
    'the list of a person does not name one yet',
    false,
    changed('person_groups', {}, person),
    { unlisted: 1 },
  ],
  ['a person has as many conversations', true, changed('person_groups', {}, person), {}],
  ['a person has another conversation', false, changed('person_groups', {}, person), { conversations: 1 }],
  [
    'conversations are not counted',
    true,
    changed('person_groups', {}, { ...person, '$.conversationCount': null }),
    {},
  ],
])('%s: %s', (_, isSo, task, differs) => {
  expect(isExplained(task, { ...stored, ...differs })).toBe(isSo);
});

interface Message {
  readonly author: number;
  readonly group: number;
  readonly at: number;
}
type Change =
  | { readonly kind: 'write'; readonly author: number; readonly group: number }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'move'; readonly author: number };

/** Authors 0 to 3 belong to companies; conversations with an even number have a topic, which shows everything in them. */
class World {
  readonly companyOf = [0, 0, 1, 1];
  messages: Message[] = [];
  stored: Message[] = [];
  listed = new Map<number, Set<number>>();
  counted = new Map<number, object>();
  /** Companies that somebody joined since the last run: their lists are marked, and read to the end. */
  joined = new Set<number>();
  #now = 0;

  apply(change: Change): void {
    this.#now += 1;
    if (change.kind === 'write') this.messages.push({ ...change, at: this.#now });
    else if (change.kind === 'delete') this.messages.splice(change.at % (this.messages.length || 1), 1);
    else {
      const company = 1 - (this.companyOf[change.author] ?? 0);
      this.companyOf[change.author] = company;
      this.joined.add(company);
    }
  }

  of(company: number, messages: readonly Message[]): Message[] {
    return messages.filter(({ author }) => this.companyOf[author] === company);
  }

  counters(company: number): object {
    const own = this.of(company, this.messages);
    return {
      '$.messageCount': String(own.length),
      '$.lastSeenAt': own.length === 0 ? null : moment(Math.max(...own.map(({ at }) => at))),
      '$.personCount': String(this.companyOf.filter((one) => one === company).length),
    };
  }

  /**
   * A run: topics first, then the lists of companies that changed, unless that is explained. Calls `onLeft` for each that is left
   * unread, before another list brings anything.
   */
  run(onLeft: (company: number) => void): void {
    this.stored = [
      ...this.stored.filter(({ group }) => group % 2 === 1),
      ...this.messages.filter(({ group }) => group % 2 === 0),
    ];
    for (const company of [0, 1]) {
      const counters = this.counters(company);
      const known = this.counted.get(company);
      const isSame = JSON.stringify(counters) === JSON.stringify(known);
      if (isSame && !this.joined.has(company)) continue;
      this.counted.set(company, counters);
      const own = this.of(company, this.stored);
      const groups = new Set(own.map(({ group }) => group));
      const activity = {
        messages: own.length,
        lastAt: own.length === 0 ? null : Date.parse(moment(Math.max(...own.map(({ at }) => at)))),
        conversations: groups.size,
        unlisted: 0,
        emptied: [...(this.listed.get(company) ?? [])].filter((group) => !groups.has(group)).length,
      };
      const isMarked = this.joined.delete(company);
      const task = changed('company_groups', known ?? {}, counters);
      if (known && !isMarked && isExplained(task, activity)) {
        onLeft(company);
        continue;
      }
      const read = new Set(this.of(company, this.messages).map(({ group }) => group));
      // A conversation goes when no list names it any more.
      const others = this.listed.get(1 - company) ?? new Set();
      const gone = [...(this.listed.get(company) ?? [])].filter(
        (group) => !read.has(group) && !others.has(group),
      );
      this.listed.set(company, read);
      this.stored = [
        ...this.stored.filter(({ group }) => !read.has(group) && (group % 2 === 0 || !gone.includes(group))),
        ...this.messages.filter(({ group }) => read.has(group)),
      ];
    }
  }
}

describe('what is left unread', () => {
  test('has nothing unseen but what cancels out in every counter', () => {
    const change: fc.Arbitrary<Change> = fc.oneof(
      fc.record({ kind: fc.constant('write' as const), author: fc.nat(3), group: fc.nat(5) }),
      fc.record({ kind: fc.constant('delete' as const), at: fc.nat(50) }),
      fc.record({ kind: fc.constant('move' as const), author: fc.nat(3) }),
    );
    let left = 0;
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 6 }), (nights) => {
        const world = new World();
        for (const changes of nights) {
          for (const one of changes) world.apply(one);
          world.run((company) => {
            left += 1;
            const [there, here] = [world.of(company, world.messages), world.of(company, world.stored)];
            const unseen = there.filter((message) => !here.some(({ at }) => at === message.at));
            const gone = here.filter((message) => !there.some(({ at }) => at === message.at));
            expect(unseen.length).toBe(gone.length);
            expect(Math.max(0, ...there.map(({ at }) => at))).toBe(Math.max(0, ...here.map(({ at }) => at)));
          });
        }
      }),
      { numRuns: propertyRuns(200, 5_000) },
    );
    expect(left).toBeGreaterThan(0);
  });
});
