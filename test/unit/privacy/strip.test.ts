import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import { Forgotten, type Part, Texts } from '../../../src/privacy/forgotten.js';
import { stripBatch, stripDocument } from '../../../src/privacy/strip.js';

const parts: readonly (readonly [part: Part, value: string])[] = [
  ['person', '90210'],
  ['author', '3f2b9c1e-0000-4000-8000-00000000000a'],
  ['company', '4007'],
  ['conversation', '3f2b9c1e-0000-4000-8000-00000000000c'],
  ['message', '3f2b9c1e-0000-4000-8000-00000000000d'],
  ['account', 'slack:U1'],
  ['source', 'Zanzibar Quetzal 4711'],
  ['email', 'kim.9@mail.example'],
];
const made = new Forgotten('salt', [], new Texts(['Kim Castellanos']));
made.add(parts.map(([part, value]) => made.of(part, value)));

const secret = 'Zanzibar Quetzal 4711';
const ids = {
  person: '90210',
  author: '3f2b9c1e-0000-4000-8000-00000000000a',
  message: '3f2b9c1e-0000-4000-8000-00000000000d',
  group: '3f2b9c1e-0000-4000-8000-00000000000c',
};

/** Fields of any kind and depth that all hold the secret, under names that nobody knows. */
const anything = fc.dictionary(
  fc.stringMatching(/^x[a-z]{1,6}$/),
  fc.letrec((tie) => ({
    value: fc.oneof(
      fc.constant(secret),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.stringMatching(/^y[a-z]{1,4}$/), tie('value'), { maxKeys: 2 }),
    ),
  })).value,
  { maxKeys: 4 },
);
const someone = { id: '1', displayName: 'Lee', note: '1e400 and 12345678901234567890' };

/** Where the API embeds an entity, by the kind of document; `it` is the entity. */
const places: Readonly<
  Record<string, (it: object) => { endpoint: string; id: string; parentId?: string; body: object }>
> = {
  person: (it) => ({ endpoint: 'people', id: ids.person, body: { ...it, id: ids.person } }),
  'person in a topic': (it) => ({
    endpoint: 'topic_people',
    id: ids.person,
    parentId: 't1',
    body: { ...it, id: ids.person },
  }),
  employee: (it) => ({
    endpoint: 'people',
    id: '1',
    body: { ...someone, company: { id: '5', employees: [someone, { ...it, id: ids.person }] } },
  }),
  author: (it) => ({ endpoint: 'authors', id: ids.author, body: { ...it, id: ids.author } }),
  message: (it) => ({
    endpoint: 'messages',
    id: ids.message,
    parentId: 'g',
    body: { ...it, id: ids.message, content: secret },
  }),
  'message by an author': (it) => ({
    endpoint: 'messages',
    id: 'm',
    parentId: 'g',
    body: { ...it, id: 'm', content: secret, author: { ...it, id: ids.author } },
  }),
  'message of a conversation': (it) => ({
    endpoint: 'messages',
    id: 'm',
    parentId: ids.group,
    body: { ...it, id: 'm', content: secret },
  }),
  'copy in another message': (it) => ({
    endpoint: 'messages',
    id: 'm',
    parentId: 'g',
    body: {
      id: 'm',
      content: 'Mine',
      sourceReplyToId: secret,
      replyToId: ids.message,
      replyTo: { ...it, id: ids.message, content: secret },
      thread: { ...it, id: 'o', content: secret, author: { id: ids.author } },
    },
  }),
  'merge of another person': (it) => ({
    endpoint: 'person_merges',
    id: '1',
    body: { merges: [{ id: 'x', sourcePersons: [{ ...it, id: ids.person }, someone] }] },
  }),
  history: (it) => ({
    endpoint: 'person_history',
    id: 'h',
    parentId: ids.person,
    body: { id: 'h', changes: { displayName: secret, deep: it }, previousValues: { ...it } },
  }),
  'reference of a story': (it) => ({
    endpoint: 'story',
    id: 's',
    body: { draft: { sourceRefs: [{ ...it, type: 'person', id: ids.person, label: secret }] } },
  }),
  'reference of a story to a source system': (it) => ({
    endpoint: 'story',
    id: 's',
    body: { draft: { sourceRefs: [{ ...it, type: 'slack', id: 'U1', label: secret }] } },
  }),
  company: (it) => ({ endpoint: 'companies', id: '4007', body: { ...it, id: '4007' } }),
  'company of a person': (it) => ({
    endpoint: 'people',
    id: '1',
    body: { ...someone, company: { ...it, id: '4007' } },
  }),
  conversation: (it) => ({
    endpoint: 'topic_groups',
    id: ids.group,
    parentId: 't',
    body: { group: { ...it, id: ids.group, title: secret } },
  }),
};

describe.each(Object.entries(places))('%s', (_, place) => {
  it('loses every field that is not known to be harmless, wherever it is', () => {
    fc.assert(
      fc.property(anything, fc.integer({ min: 0, max: 3 }), (it, indent) => {
        const { endpoint, id, parentId = null, body } = place({ name: secret, displayName: secret, ...it });
        const text = JSON.stringify(body, null, indent);
        const stripped = stripDocument(made, { endpoint, id, parentId, body: text });
        expect(stripped?.body).not.toContain(secret);
        // It stays JSON, and stripping it again changes nothing.
        JSON.parse(stripped?.body ?? '');
        const again = { endpoint, id: stripped?.id ?? '', parentId, body: stripped?.body ?? '' };
        expect(stripDocument(made, again)).toBeNull();
      }),
    );
  });
});

test('the history of a person whose id is that of a forgotten company stays', () => {
  const history = { endpoint: 'person_history', id: 'h', parentId: '4007' };
  const body = JSON.stringify({ id: 'h', changes: { displayName: 'Lee' }, previousValues: {} });
  expect(stripDocument(made, { ...history, body })).toBeNull();
});

test('a document of another person stays as it is, to the byte', () => {
  fc.assert(
    fc.property(anything, fc.integer({ min: 0, max: 3 }), (it, indent) => {
      const body = JSON.stringify({ ...someone, ...it, company: { id: '5', employees: [it] } }, null, indent);
      expect(stripDocument(made, { endpoint: 'people', id: '1', parentId: null, body })).toBeNull();
    }),
  );
});

test('around what is taken out, numbers and the order of members stay as the API sent them', () => {
  const body =
    '{"id":"1","big":12345678901234567890,"e":1e400,"minus":-0.10E+2,"note":"5 for \\"Kim Castellanos\\"","a":[1,2.50,true,null],"z":"7","quoted":"\\\\u0000 \\\\"}';
  const stripped = stripDocument(made, { endpoint: 'people', id: '1', parentId: null, body });
  expect(stripped?.body).toBe(body.replace('Kim Castellanos', '[forgotten]'));
});

test('an address of the person, or of an account, is recognized under another id', () => {
  const strip = (endpoint: string, body: object, parentId: string | null = null) =>
    stripDocument(made, { endpoint, id: 'x', parentId, body: JSON.stringify(body) })?.body;
  expect(strip('people', { id: '7', displayName: secret, primaryEmail: 'Kim.9@mail.example' })).toBe(
    '{"id":"7"}',
  );
  const account = { platform: 'slack', platformId: 'U1', platformUsername: secret };
  expect(strip('topic_people', { id: '7', identities: [account] }, 't')).not.toContain(secret);
  const author = { id: 'new', sourceName: 'slack', sourceAuthorId: 'U1', displayName: secret };
  expect(strip('messages', { id: 'm', content: secret, author }, 'g')).not.toContain(secret);
  expect(strip('topic', { id: 't', summary: 'ask Kim.9@mail.example' })).toBe(
    '{"id":"t","summary":"ask [forgotten]"}',
  );
});

test('a member may have any name, also one that every object of JavaScript has', () => {
  const metadata = { constructor: 'for Kim Castellanos', toString: 'Kim Castellanos', sourceReplyToId: 'x' };
  const body = JSON.stringify({ id: 'm1', metadata });
  const stripped = stripDocument(made, { endpoint: 'messages', id: 'm1', parentId: 'g1', body });
  expect(stripped?.body).toBe(body.replaceAll('Kim Castellanos', '[forgotten]'));
});

test('of drift, no example is stored once anything was forgotten', () => {
  const drift = ['"ask Lee"', null].map((example) => ({
    ...({ endpoint: 'topics', path: 'note', kind: 'unknown_field', count: 1, seenAt: new Date(0) } as const),
    example,
  }));
  const examplesOf = (of: Forgotten) =>
    stripBatch(of, batchOf('r', { drift })).drift.map(({ example }) => example);
  expect(examplesOf(new Forgotten('salt'))).toEqual(['"ask Lee"', null]);
  expect(examplesOf(made)).toEqual([null, null]);
});
