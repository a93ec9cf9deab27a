import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../../src/api/json-text.js';
import { ContractError } from '../../../../src/base/errors.js';
import { entries } from '../../../../src/contract/resources.js';
import { landGroups, releaseMessages } from '../../../../src/sync/landing/conversations.js';
import { Landing } from '../../../../src/sync/landing/landing.js';
import { SchemaDrift } from '../../../../src/sync/landing/schema-drift.js';
import { SeenContent } from '../../../../src/sync/landing/seen-content.js';

const companyGroups = { name: 'company_groups', ...entries.company_groups };
const at = (second: number) => ({ at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)), no: second });

describe('SeenContent', () => {
  test('the same content again was seen; other content was not, and is remembered instead', () => {
    const seen = new SeenContent();
    expect(seen.hasSeen('g', 'aa', at(1))).toBe(false);
    expect(seen.hasSeen('g', 'aa', at(2))).toBe(true);
    expect(seen.hasSeen('h', 'aa', at(2))).toBe(false);
    expect(seen.hasSeen('g', 'bb', at(3))).toBe(false);
    expect(seen.hasSeen('g', 'aa', at(4))).toBe(false);
    expect(seen.hasSeen('g', 'aa', at(4))).toBe(true);
  });

  test('an answer older than the last one was not seen, and is not remembered', () => {
    const seen = new SeenContent();
    seen.hasSeen('g', 'aa', at(9));
    expect(seen.hasSeen('g', 'bb', at(1))).toBe(false);
    expect(seen.hasSeen('g', 'aa', at(1))).toBe(false);
    expect(seen.hasSeen('g', 'aa', at(10))).toBe(true);
  });

  test('remembers as a Map would, whatever the names, contents and their order', () => {
    const digest = fc.integer({ min: 1, max: 3 }).map((no) => `${no}`.repeat(16));
    const step = fc.record({ name: fc.string({ maxLength: 2 }), digest, no: fc.nat(20), forgets: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const seen = new SeenContent();
        const expected = new Map<string, { digest: string; no: number }>();
        for (const { name, digest: content, no, forgets } of steps) {
          const last = expected.get(name);
          if (forgets === 0) {
            seen.forget([name]);
            if (last) expected.set(name, { digest: '', no: last.no });
            continue;
          }
          const isSeen = last !== undefined && last.no <= no && last.digest === content;
          expect(seen.hasSeen(name, content, at(no))).toBe(isSeen);
          if (!isSeen && !(last && last.no > no)) expected.set(name, { digest: content, no });
        }
      }),
    );
  });

  test('remembers 786,432 names, and what comes beyond them was never seen', () => {
    const seen = new SeenContent();
    const name = (index: number) => `author 0d6d1f4e-${index}`;
    const contents = Array.from({ length: 786_432 + 3 }, (_, index) =>
      (index + 1).toString(16).padStart(16, '0'),
    );
    for (const [index, content] of contents.entries()) seen.hasSeen(name(index), content, at(1));
    const again = contents.map((content, index) => seen.hasSeen(name(index), content, at(2)));
    expect(again.lastIndexOf(true)).toBe(786_431);
    expect(again.indexOf(false)).toBe(786_432);
  });

  test('forgotten content was not seen', () => {
    const seen = new SeenContent();
    for (const id of ['g', 'h', 'i']) seen.hasSeen(id, 'aa', at(1));
    seen.forget(['g']);
    expect(['g', 'h', 'i'].map((id) => seen.hasSeen(id, 'aa', at(2)))).toEqual([false, true, true]);
    seen.forgetAll();
    expect(['g', 'h', 'i'].map((id) => seen.hasSeen(id, 'aa', at(3)))).toEqual([false, false, false]);
  });
});

describe('a stored conversation', () => {
  const md5 = (text: string) => createHash('md5').update(text).digest();
  const conversation = (endpoint: string, parentId: string, id: string, body = '{}') => ({
    ...{ endpoint, parentId, id, body, fetchedAt: at(1).at, answerNo: 1, partsHash: '00000000000000aa' },
  });
  const stored = (...documents: ReturnType<typeof conversation>[]) =>
    documents.map(({ endpoint, parentId, id, body, partsHash }) => ({
      name: md5(`${endpoint} ${parentId} ${id}`).readBigUInt64BE(),
      hash: md5(`${md5(body).toString('hex')}${partsHash}`).readBigUInt64BE(),
    }));
  const ofTopic = conversation('topic_groups', 't', 'g');
  const ofCompany = conversation('company_groups', 'c', 'g');

  test('is left out as long as it comes as it is stored', () => {
    const seen = new SeenContent();
    expect(seen.isStored(ofTopic)).toBe(false);
    seen.conversationsBefore(stored(ofTopic, ofCompany));
    expect([ofTopic, ofCompany, ofTopic].map((one) => seen.isStored(one))).toEqual([true, true, true]);
    expect(seen.isStored({ ...ofTopic, partsHash: null })).toBe(false);
  });

  test('lands with every list after one of them returned it in another way, or it may have been removed', () => {
    const seen = new SeenContent();
    const other = conversation('topic_groups', 't', 'h');
    seen.conversationsBefore(stored(ofTopic, ofCompany, other));
    expect(seen.isStored({ ...ofTopic, body: '{"group":{}}' })).toBe(false);
    expect(seen.isStored(ofCompany)).toBe(false);
    expect(seen.isStored(other)).toBe(true);
    seen.forget(['h']);
    expect(seen.isStored(other)).toBe(false);
    seen.conversationsBefore(stored(ofTopic));
    seen.forgetAll();
    expect(seen.isStored(ofTopic)).toBe(false);
  });
});

describe('what an earlier run has stored', () => {
  const nameOf = (name: string) => createHash('md5').update(name).digest().readBigUInt64BE();
  const stored = (...names: string[]) => names.map((name) => ({ name: nameOf(name), hash: 0xaan }));

  test('was seen with the document that it came with, and then with any other', () => {
    const seen = new SeenContent();
    seen.storedBefore(stored('topic_groups t g'));
    expect(seen.hasSeen('g', 'aa', at(1), 'company_groups c g')).toBe(false);
    seen.forgetAll();
    seen.storedBefore(stored('topic_groups t g'));
    expect(seen.hasSeen('g', 'aa', at(1), 'topic_groups t g')).toBe(true);
    expect(seen.hasSeen('g', 'aa', at(2), 'company_groups c g')).toBe(true);
  });

  test('no longer counts once this run has landed something else, or was told to forget that', () => {
    const seen = new SeenContent();
    seen.storedBefore(stored('topic_groups t g'));
    expect(seen.hasSeen('g', 'bb', at(1), 'company_groups c g')).toBe(false);
    expect(seen.hasSeen('g', 'aa', at(2), 'topic_groups t g')).toBe(false);
    seen.hasSeen('g', 'bb', at(3));
    seen.forget(['g']);
    expect(seen.hasSeen('g', 'aa', at(4), 'topic_groups t g')).toBe(false);
  });

  test('is found among many, and nothing else is', () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `topic_groups t ${index}`);
    const seen = new SeenContent();
    seen.storedBefore(stored(...names));
    expect(names.filter((name) => seen.hasSeen(name, 'aa', at(1), name))).toEqual(names);
    expect(names.filter((name) => seen.hasSeen(`other ${name}`, 'aa', at(1), `other ${name}`))).toEqual([]);
  });
});

test('a conversation that comes a second time lands without its messages, unless they differ', () => {
  const seen = new SeenContent();
  const message = (content: string) => ({ id: 'm1', content, author: { id: 'a1' } });
  const land = (second: number, endpoint: 'topic_groups' | 'company_groups', content: string) => {
    const landing = new Landing(at(second), new SchemaDrift(), seen);
    landGroups(landing, { name: endpoint, ...entries[endpoint] }, 'parent', [
      { group: { id: 'g1' }, messages: [message(content)], topic: {} },
    ]);
    const kinds = (rejected: { endpoint: string }[]) => rejected.map((it) => it.endpoint);
    expect(kinds(landing.rejections)).toEqual([]);
    return { documents: kinds(landing.documents), sets: kinds(landing.sets) };
  };
  const whole = (kind: string, ...more: string[]) => ({
    documents: [kind, 'messages', ...more],
    sets: ['messages'],
  });
  expect(land(1, 'topic_groups', 'Hello')).toEqual(whole('topic_groups', 'authors'));
  expect(land(2, 'company_groups', 'Hello')).toEqual({ documents: ['company_groups'], sets: [] });
  expect(land(3, 'company_groups', 'Hello!')).toEqual(whole('company_groups'));
});

describe('a conversation whose messages are still text', () => {
  const texts = (...lists: string[]) => {
    const items = lists.map(
      (list, index) => `{"group":{"id":"g${index + 1}"},"topic":{},"messages":${list}}`,
    );
    return parseJson(Buffer.from(`[${items.join()}]`), 'messages') as Record<string, unknown>[];
  };
  const good = '[{"id":"m1","content":"Hello","author":{"id":"a1"}}]';
  const land = (second: number, seen: SeenContent, items: unknown[]) => {
    const landing = new Landing(at(second), new SchemaDrift(), seen);
    expect(landGroups(landing, companyGroups, 'c1', items)).toEqual(items.map((_, index) => `g${index + 1}`));
    releaseMessages(items);
    return landing.documents.map(({ endpoint, id, body }) => `${endpoint} ${id} ${body}`);
  };

  test('lands as parsed messages do, and not at all when it was seen', () => {
    const seen = new SeenContent();
    const parsed = [{ group: { id: 'g1' }, topic: {}, messages: JSON.parse(good) }];
    const landed = land(1, seen, texts(good));
    expect(landed).toEqual(land(1, new SeenContent(), parsed));
    expect(landed).toHaveLength(3);
    expect(land(2, seen, texts(good))).toHaveLength(1);
    expect(land(3, seen, texts(good.replace('Hello', 'Hello!')))).toHaveLength(2);
  });

  test('does not land when it is malformed inside, nor does anything that came with it', () => {
    const seen = new SeenContent();
    expect(() => land(1, seen, texts(good, '[nothing]'))).toThrow(ContractError);
    // The next answer lands whole.
    expect(land(2, seen, texts(good))).toHaveLength(3);
  });

  test('is rejected as the JSON that it is', () => {
    const landing = new Landing(at(1), new SchemaDrift());
    landGroups(landing, companyGroups, 'c1', [{ ...texts(good)[0], group: { id: 5 } }]);
    const [rejection] = landing.rejections;
    expect(JSON.parse(rejection?.body ?? '').messages).toEqual(JSON.parse(good));
  });
});
