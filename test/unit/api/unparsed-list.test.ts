import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extractLists, restoreLists, UnparsedList } from '../../../src/api/unparsed-list.js';

/** Parses an answer in two steps: the rest first, its extracted lists afterwards. */
function parseInTwoSteps(bytes: Buffer): { value: unknown; lists: number } {
  const { rest, lists } = extractLists(bytes, 'messages');
  const withLists = JSON.parse(rest.toString('utf8'), restoreLists(lists));
  return { value: plain(withLists), lists: lists.length };
}

function plain(value: unknown): unknown {
  if (value instanceof UnparsedList) return value.parse();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/** Values with the extracted name as key and as text, and with texts that look like the end of a string or list. */
const words = fc.constantFrom(
  'messages',
  '"messages":[',
  'a]b',
  '}',
  '[',
  '\\',
  '\\"',
  'é😀',
  '',
  'unparsed-list:0',
);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      words,
    ),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.constant('messages'), words, fc.string()), tie('json'), { maxKeys: 4 }),
  ),
}));
const answers = fc
  .tuple(json, fc.constantFrom(undefined, 1, '\t', ' \n'))
  .map(([value, space]) => Buffer.from(JSON.stringify(value, null, space)));

describe('an unparsed list', () => {
  test('parses to the same value as JSON.parse, whatever surrounds it', () => {
    fc.assert(
      fc.property(answers, (bytes) => {
        expect(parseInTwoSteps(bytes).value).toEqual(JSON.parse(bytes.toString()));
      }),
      { numRuns: 2_000 },
    );
  });

  test('never makes valid JSON of invalid text', () => {
    const torn = fc.tuple(answers, fc.nat(), fc.constantFrom('cut', '[', ']', '{', '}', '"', '\\', ',', 'x'));
    fc.assert(
      fc.property(torn, ([bytes, place, how]) => {
        const at = place % (bytes.length + 1);
        const middle = how === 'cut' ? [] : [Buffer.from(how), bytes.subarray(at)];
        const broken = Buffer.concat([bytes.subarray(0, at), ...middle]);
        let expected: unknown;
        try {
          expected = JSON.parse(broken.toString());
        } catch {
          expect(() => parseInTwoSteps(broken)).toThrow(SyntaxError);
          return;
        }
        expect(parseInTwoSteps(broken).value).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is extracted under its name only, and only when it is a list', () => {
    const found = (text: string) => parseInTwoSteps(Buffer.from(text)).lists;
    expect(found('{"data":[{"messages":[1,[2]]},{"messages" :\n [3]}]}')).toBe(2);
    expect(found('{"messages":{"messages":null},"other":[1]}')).toBe(0);
    expect(found('["messages",[1]]')).toBe(0);
    expect(found('{"a":"\\"messages\\":[1]","xmessages":[1],"messagesx":[1]}')).toBe(0);
    // A list in a list is part of it.
    expect(found('{"messages":[{"messages":[1]}]}')).toBe(1);
  });

  test('has the digest of its text, at any position', () => {
    const digest = (text: string) =>
      extractLists(Buffer.from(text), 'messages').lists.map((list) => list.digest());
    const [one] = digest('{"messages":["a"],"more":1}');
    expect(digest('{"b":{"messages": ["a"]}}')).toEqual([one]);
    expect(digest('{"messages":["b"]}')).not.toEqual([one]);
  });

  test('is serialized as the list itself, and is empty after its release', () => {
    const [list] = extractLists(Buffer.from('{"messages":[1,{"a":2}]}'), 'messages').lists;
    expect(JSON.stringify({ list })).toBe('{"list":[1,{"a":2}]}');
    list?.release();
    expect(list?.parse()).toEqual([]);
  });
});
