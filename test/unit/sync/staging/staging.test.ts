import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../../src/api/json-text.js';
import { ContractError } from '../../../../src/base/errors.js';
import { message } from '../../../../src/contract/messages.js';
import { entries, resources } from '../../../../src/contract/resources.js';
import { topicListItem } from '../../../../src/contract/topics.js';
import { isHistory } from '../../../../src/sync/histories.js';
import { stageAnswer, stageList } from '../../../../src/sync/staging/answers.js';
import { stageGroups } from '../../../../src/sync/staging/conversations.js';
import { SchemaDrift } from '../../../../src/sync/staging/schema-drift.js';
import { SeenContent } from '../../../../src/sync/staging/seen-content.js';
import { idOf, Staging } from '../../../../src/sync/staging/staging.js';

const at = new Date('2026-01-02T03:04:05Z');
const key = (item: Record<string, unknown>) => ({ id: idOf(item), parentId: null });
const topics = (...items: unknown[]) => {
  const staging = new Staging({ at, no: 1 });
  staging.items('topics', topicListItem, items, key);
  return staging;
};
const topicGroups = { name: 'topic_groups', ...entries.topic_groups };
const companyGroups = { name: 'company_groups', ...entries.company_groups };
const listNamed = (name: 'topics' | 'people') => ({ name, ...entries[name] });
const ids = (staging: Staging, endpoint: string) =>
  staging.documents.filter((one) => one.endpoint === endpoint).map(({ id }) => id);

describe('Staging', () => {
  test('rejects a bad item with its path and reason, and stages the rest', () => {
    const staging = topics({ id: 'a', eventCount: 1 }, { id: 'b', eventCount: 'many' }, { id: 'c' });
    expect(ids(staging, 'topics')).toEqual(['a', 'c']);
    expect(staging.rejections).toMatchObject([{ endpoint: 'topics', id: 'b', path: 'eventCount' }]);
  });

  test('rejects an item without an id, and one that is not an object', () => {
    const staging = topics({ title: 'no id' }, 7, null, { id: '' }, { id: 12 }, { id: 'a' });
    expect(ids(staging, 'topics')).toEqual(['a']);
    expect(staging.rejections).toHaveLength(5);
  });

  test('a field that fails in most items has changed its form: they are staged, and it is reported', () => {
    const items = Array.from({ length: 5 }, (_, index) => ({
      id: `t${index}`,
      eventCount: index === 0 ? 1 : 'many',
    }));
    const staging = topics(...items);
    expect(ids(staging, 'topics')).toHaveLength(5);
    expect(staging.rejections).toEqual([]);
    expect(staging.drift).toMatchObject([
      { endpoint: 'topics', path: 'eventCount', kind: 'changed_type', count: 4 },
    ]);
  });

  test.each(['2026-W05-6', 'Sat, 31 Jan 2026 10:00:00 GMT', '2026-06-30T23:59:60Z', '', 1_769_853_600, {}])(
    'a time that cannot be read (%j) is drift, and its topic stays',
    (updatedAt) => {
      const staging = topics({ id: 't', updatedAt, timeRangeStart: 'soon' });
      expect(ids(staging, 'topics')).toEqual(['t']);
      expect(staging.rejections).toEqual([]);
      expect(staging.drift).toMatchObject([
        { path: 'timeRangeStart', kind: 'changed_type', example: '"soon"' },
        { path: 'updatedAt', kind: 'changed_type', example: JSON.stringify(updatedAt) },
      ]);
    },
  );

  test('keeps and counts unknown fields', () => {
    const inside = {
      authors: [{ id: 'a', isBot: false, mood: 'x' }],
      linkedTicket: { url: 'x' },
      persons: [{ id: 'p', company: { id: 'c', tier: 1 } }],
    };
    const staging = topics({ id: 'a', mood: 'x', ...inside }, { id: 'b', mood: 'y' });
    expect(JSON.parse(staging.documents[0]?.body ?? '')).toEqual({ id: 'a', mood: 'x', ...inside });
    expect(staging.drift.map(({ path, kind, count }) => [path, kind, count]).sort()).toEqual([
      ['authors.mood', 'unknown_field', 1],
      ['mood', 'unknown_field', 2],
      ['persons.company.tier', 'unknown_field', 1],
    ]);
    const free = new Staging({ at, no: 1 });
    free.items('messages', message, [{ id: 'm', metadata: { anything: { at: 'all' } } }], key);
    expect(free.drift).toEqual([]);
  });
});

describe('an item that is too large or too deep', () => {
  const nested = (levels: number): unknown[] => (levels === 1 ? [] : [nested(levels - 1)]);
  const stage = (items: unknown[], maxItemBytes = 1_000) => {
    const staging = new Staging({ at, no: 1 }, new SchemaDrift({ maxItemBytes }));
    stageList(staging, listNamed('topics'), items);
    return staging;
  };

  test('is rejected alone, at its largest or deepest member; at the bound it is staged', () => {
    const items = [{ id: 'a', tree: nested(499) }, { id: 'b', x: {}, tree: nested(500) }, { id: 'c' }];
    const staging = stage([...items, { id: 'd', title: 't', summary: 'é'.repeat(500) }], 1_020);
    expect(ids(staging, 'topics')).toEqual(['a', 'c']);
    expect(staging.rejections).toMatchObject([
      { id: 'b', path: 'tree', reason: 'is nested 501 levels deep; at most 500 are stored' },
      { id: 'd', path: 'summary', reason: 'has 1035 bytes; at most 1020 are stored' },
    ]);
    expect(typeof JSON.parse(staging.rejections[0]?.body ?? '')).toBe('string');
  });

  test('does not count the parts that are documents of their own', () => {
    const authors = Array.from({ length: 50 }, (_, index) => ({
      id: `a${index}`,
      displayName: 'x'.repeat(50),
    }));
    const staging = stage([{ id: 'a', persons: [{ id: 'p', tree: nested(600) }, { id: 'q' }], authors }]);
    expect(ids(staging, 'topics')).toEqual(['a']);
    expect(ids(staging, 'authors')).toHaveLength(50);
    expect(ids(staging, 'topic_persons')).toEqual(['q']);
    expect(staging.rejections).toMatchObject([{ endpoint: 'topic_persons', id: 'p', path: 'tree' }]);
  });

  test('says nothing about the form, however many there are', () => {
    const staging = stage(Array.from({ length: 5 }, (_, index) => ({ id: `t${index}`, tree: nested(600) })));
    expect([staging.rejections.length, staging.documents, staging.drift]).toEqual([5, [], []]);
  });
});

describe('documents inside another', () => {
  const rejected = (staging: Staging) =>
    staging.rejections.map(({ endpoint, id, path }) => ({ endpoint, id, path }));

  test('a bad person or author does not cost the topic that names it', () => {
    const staging = new Staging({ at, no: 1 });
    const persons = [{ id: 'p', isBot: 'no' }, { displayName: 'nobody' }, { id: 'q' }];
    stageList(staging, listNamed('topics'), [
      { id: 't', persons, authors: [{ id: 'a' }, { displayName: 'x' }] },
    ]);
    expect(ids(staging, 'topics')).toEqual(['t']);
    expect(ids(staging, 'topic_persons')).toEqual(['q']);
    expect(ids(staging, 'authors')).toEqual(['a']);
    expect(rejected(staging)).toEqual([
      { endpoint: 'authors', id: null, path: 'id' },
      { endpoint: 'topic_persons', id: 'p', path: 'isBot' },
      { endpoint: 'topic_persons', id: null, path: 'id' },
    ]);
  });

  test('a bad message does not cost those that answer it, nor a bad author the message', () => {
    const staging = new Staging({ at, no: 1 });
    const bad = { id: 'm1', isInternal: 'sometimes' };
    const answer = { id: 'm2', replyTo: bad, thread: bad, author: { id: 'a', isBot: 'no' } };
    stageGroups(staging, topicGroups, 't', [{ group: { id: 'g' }, messages: [bad, answer] }]);
    expect(ids(staging, 'messages')).toEqual(['m2']);
    expect(rejected(staging)).toEqual([
      { endpoint: 'messages', id: 'm1', path: 'isInternal' },
      { endpoint: 'authors', id: 'a', path: 'isBot' },
    ]);
  });
});

test('a bad message costs itself alone, and is still a member of its group', () => {
  const staging = new Staging({ at, no: 1 });
  stageGroups(staging, topicGroups, 't', [
    {
      group: { id: 'g1' },
      messages: [
        { id: 'm1', content: 'm1' },
        // As NULL it would say that the message was not deleted.
        { id: 'm2', deletedAt: 'yesterday' },
      ],
    },
  ]);
  expect(ids(staging, 'messages')).toEqual(['m1']);
  expect(staging.rejections).toMatchObject([
    { endpoint: 'messages', parentId: 'g1', id: 'm2', path: 'deletedAt', reason: 'is not a date-time' },
  ]);
  expect(staging.sets[0]?.ids).toEqual(['m1', 'm2']);
});

test('a list that counts messages says which ones a conversation has, also where another list has just brought the same', () => {
  const seenContent = new SeenContent();
  const conversation = [{ group: { id: 'g1' }, messages: [{ id: 'm1', content: 'm1' }] }];
  const staged = [companyGroups, topicGroups].map((child, no) => {
    const staging = new Staging({ at, no: no + 1 }, undefined, seenContent);
    stageGroups(staging, child, 'p', conversation);
    return staging;
  });
  expect(staged.map((one) => ids(one, 'messages'))).toEqual([['m1'], []]);
  expect(staged.map(({ sets }) => sets.map((set) => set.ids))).toEqual([[['m1']], [['m1']]]);
});

describe('a conversation whose messages are still text', () => {
  const items = (...lists: string[]) => {
    const texts = lists.map((list, index) => `{"group":{"id":"g${index + 1}"},"messages":${list}}`);
    return parseJson(Buffer.from(`[${texts.join()}]`), 'messages') as Record<string, unknown>[];
  };
  const good = '[{"id":"m1","content":"Hello","author":{"id":"a1"}}]';
  const staged = (some: unknown[]) => {
    const staging = new Staging({ at, no: 1 });
    stageGroups(staging, topicGroups, 't', some);
    return staging;
  };

  test('is staged as parsed messages do, and is rejected as the JSON that it is', () => {
    const parsed = { group: { id: 'g1' }, messages: JSON.parse(good) };
    expect(staged(items(good)).documents).toEqual(staged([parsed]).documents);
    const [rejection] = staged([{ ...items(good)[0], group: { id: 5 } }]).rejections;
    expect(JSON.parse(rejection?.body ?? '').messages).toEqual(JSON.parse(good));
  });

  test('is an error when it is malformed inside', () => {
    expect(() => staged(items(good, '[nothing]'))).toThrow(ContractError);
  });
});

describe('a history', () => {
  const [history] = resources.children.filter(isHistory).filter(({ name }) => name === 'topic_history');
  const merged = {
    merges: [{ id: 'm1', mergedAt: '2026-01-01T00:00:00Z', sourceTopics: [{ id: 't2', title: 'Two' }] }],
  };

  test.each([{}, { totalCount: null }, { totalCount: 0 }])('with %j keeps the merges it names', (total) => {
    const staging = new Staging({ at, no: 1 });
    const where = { endpoint: 'topic_history', method: 'GET', path: 'of t1' };
    stageAnswer(staging, history!, 't1', { history: [], ...merged, ...total }, where);
    expect(ids(staging, 'topic_merges')).toEqual(['t1']);
    expect(staging.rejections).toEqual([]);
    expect(JSON.parse(staging.documents[0]?.body ?? '')).toEqual({ ...merged, ...total });
  });

  const where = { endpoint: 'topic_history', method: 'GET', path: 'of t1' };
  const staged = (text: string, schemaDrift = new SchemaDrift()) => {
    const staging = new Staging({ at, no: 1 }, schemaDrift);
    stageAnswer(staging, history!, 't1', parseJson(Buffer.from(text)), where);
    return staging;
  };

  test.each<[string, string, string, string[]]>([
    ['a total that is text', '"totalCount": "12", "merges": [{"id": "m1"}]', '', ['totalCount']],
    [
      'one bad merge of three',
      '"merges": [ {"id": "m1", "n": 9007199254740993} , {"id": 5}, {"id":"m3"} ]',
      '"merges": [{"id": "m1", "n": 9007199254740993},{"id":"m3"}]',
      ['merges.[].id'],
    ],
    [
      'a merge that is no object',
      '"merges": ["m1", 7, {"id": "m3"}]',
      '"merges": [{"id": "m3"}]',
      ['merges.[]', 'merges.[]'],
    ],
    ['merges that are no list', '"merges": {"id": "m1"}, "totalCount": 1.0', '"totalCount": 1.0', ['merges']],
    [
      'a wrong survivor, and a wrong total as well',
      '"mergedInto": {"id": "m1", "targetTopic": {"id": 9}}, "totalCount": [], "merges": [{"id": "m3"}]',
      '"merges": [{"id": "m3"}]',
      ['mergedInto.targetTopic.id', 'totalCount'],
    ],
  ])('with %s loses only that, in the text that the API sent', (_, sent, stored, paths) => {
    const staging = staged(`{"history": [], ${sent}}`);
    expect(staging.rejections.map(({ path }) => path).toSorted()).toEqual(paths);
    for (const one of staging.rejections) expect(one).toMatchObject({ endpoint: 'topic_merges', id: 't1' });
    expect(ids(staging, 'topic_merges')).toEqual(['t1']);
    expect(staging.documents[0]?.body.replace(/^\{\s*/, '{')).toBe(`{${stored === '' ? sent : stored}}`);
  });

  test('whose form has changed is staged whole', () => {
    const schemaDrift = new SchemaDrift();
    const all = Array.from({ length: 4 }, () => staged('{"history": [], "merges": {"m1": []}}', schemaDrift));
    expect(all.map(({ rejections }) => rejections.length)).toEqual([1, 1, 0, 0]);
    expect(all[2]?.documents.map(({ body }) => body)).toEqual(Array(3).fill('{ "merges": {"m1": []}}'));
  });
});

describe('an answer that is one object', () => {
  const staged = (name: string, body: unknown) => {
    const staging = new Staging({ at, no: 1 });
    const child = resources.children.find((one) => one.name === name);
    stageAnswer(staging, child!, 'a', body, { endpoint: name, method: 'GET', path: '/a' });
    return ids(staging, name);
  };

  test('without any documented field is another thing, and replaces nothing', () => {
    for (const name of ['topic', 'company_activity'])
      expect(() => staged(name, { items: 'moved', more: 3 })).toThrow(/none of the documented fields/);
    expect(() => staged('topic', {})).toThrow(/an empty object/);
  });

  test('with one of them is staged', () => {
    expect(staged('person', { id: 'a', mood: 'glad' })).toEqual(['a']);
  });
});

describe('the schema drift of a run', () => {
  test('a changed form is recognized over many answers of one item, and what was rejected for it is staged too', () => {
    const schemaDrift = new SchemaDrift();
    const all = Array.from({ length: 5 }, (_, index) => {
      const staging = new Staging({ at: new Date(at.getTime() + index), no: index }, schemaDrift);
      staging.items('topics', topicListItem, [{ id: `t${index}`, eventCount: 'many' }], key);
      return staging;
    });
    expect(all.map((one) => ids(one, 'topics'))).toEqual([[], [], ['t0', 't1', 't2'], ['t3'], ['t4']]);
    expect(all[2]?.documents.map(({ fetchedAt }) => fetchedAt.getTime() - at.getTime())).toEqual([0, 1, 2]);
    expect(all[2]?.drift).toMatchObject([{ path: 'eventCount', kind: 'changed_type', example: '"many"' }]);
  });

  test('a documented field that none of many items has is noted; few items prove nothing', () => {
    const noted = (items: number) => {
      const schemaDrift = new SchemaDrift();
      const staging = new Staging({ at, no: 1 }, schemaDrift);
      const full = Object.fromEntries(Object.keys(topicListItem.shape).map((field) => [field, null]));
      const { summary: _, ...without } = full;
      staging.items(
        'topics',
        topicListItem,
        Array.from({ length: items }, (__, index) => ({ ...without, id: `t${index}` })),
        key,
      );
      staging.noteMissingFields(resources);
      return staging.drift.map(({ path, kind }) => `${kind} ${path}`);
    };
    expect(noted(19)).toEqual([]);
    expect(noted(20)).toEqual(['missing_field summary']);
  });
});
