import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonText, parseJson, textOf, textsOf } from '../../../src/api/json-text.js';
import { propertyRuns } from '../../support/runs.js';

/**
 * JSON texts that JSON.stringify never writes: long numbers, 1e400, duplicate keys, escaped keys, integer keys in any
 * order, escaped pairs of surrogates, white space. Never lone surrogates or NULs, which the warehouse replaces.
 */

const numbers = fc.oneof(
  fc.constantFrom('1e400', '-1E-999', '1.50', '-0', '9007199254740993', '0.12345678901234567890'),
  fc.bigInt({ min: 10n ** 15n, max: 10n ** 40n }).map(String),
  fc.integer().map(String),
);
const pieces = fc.constantFrom(
  'a',
  '"messages":['.replaceAll('"', '\\"'),
  ']',
  '}',
  '\\\\',
  '\\"',
  '\\/',
  '\\n',
  '\\u0061',
  '\\u00E9',
  'é',
  '😀',
  '\\ud83d\\ude00',
  '\\\\u0000',
  '\u2028',
  ' ',
);
const strings = fc.array(pieces, { maxLength: 5 }).map((parts) => `"${parts.join('')}"`);
const keys = fc.oneof(
  fc.constantFrom('"10"', '"2"', '"a"', '"\\u0061"', '"messages"', '"\\u006dessages"', '"__proto__"', '""'),
  strings,
);
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n ');

const { text: texts, object: objects } = fc.letrec<{ text: string; object: string; list: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'json' },
    fc.oneof(numbers, strings, fc.constantFrom('true', 'false', 'null')),
    tie('object'),
    tie('list'),
  ),
  object: fc
    .array(fc.tuple(space, keys, space, tie('text'), space), { maxLength: 5, depthIdentifier: 'json' })
    .map(
      (members) => `{${members.map(([a, key, b, value, c]) => `${a}${key}${b}:${c}${value}${a}`).join()}}`,
    ),
  list: fc
    .array(fc.tuple(space, tie('text'), space), { maxLength: 4, depthIdentifier: 'json' })
    .map((items) => `[${items.map((item) => item.join('')).join()}]`),
}));

const parse = (text: string | Buffer, unparsed?: string) =>
  parseJson(typeof text === 'string' ? Buffer.from(text) : text, unparsed);

/** The text of one object. */
const objectText = (text: string) => textOf(parse(text)) as JsonText;

/** Lists that were left unparsed, parsed. */
function whole(value: unknown): unknown {
  if (value instanceof JsonText) return value.parse();
  if (Array.isArray(value)) return value.map(whole);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, whole(inner)]));
}

const answers = fc.oneof(
  texts,
  fc.array(objects).map((items) => ({ text: `{"data" : [${items.join(' , ')}],"page":1}`, items })),
);
const bytesOf = (one: string | { text: string }) => Buffer.from(typeof one === 'string' ? one : one.text);

describe('the text of an answer', () => {
  test('has the value that JSON.parse returns, and every item has the text that was sent', () => {
    fc.assert(
      fc.property(
        fc.array(objects),
        fc.constantFrom('', ' ', '\n\t '),
        fc.constantFrom('', '\ufeff'),
        (items, space, mark) => {
          const list = `[${items.map((item) => `${space}${item}${space}`).join()}]`;
          for (const body of [
            list,
            `{"limit":5,"data":${space}${list}}`,
            `{"topic":{"x":[],"data":${list}}}`,
          ]) {
            const value = parse(mark + space + body + space);
            expect(value).toEqual(JSON.parse(body));
            const inner = value as { data?: unknown[]; topic?: { data: unknown[] } };
            const found = Array.isArray(value) ? value : (inner.data ?? inner.topic?.data ?? []);
            expect(textsOf(found).map(({ text }) => text)).toEqual(items);
          }
        },
      ),
      { numRuns: propertyRuns(100, 1_000) },
    );
  });

  test('loses the members that are named, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(objects, fc.constantFrom('1e400', '"x"', 'null'))),
        fc.constantFrom('', ' '),
        fc.infiniteStream(fc.boolean()),
        (values, space, cut) => {
          const members = values.map((value, index) => {
            const goes = value.startsWith('{') && cut.next().value;
            return {
              name: `${goes ? 'cut' : 'kept'}${index}`,
              text: `"${goes ? '\\u0063ut' : 'kept'}${index}"${space}:${value}`,
            };
          });
          const text = objectText(
            `{${space}${members.map((one) => one.text).join(`${space},${space}`)}${space}}`,
          );
          const names = members.map(({ name }) => name).filter((name) => name.startsWith('cut'));
          const reduced = text.with(Object.fromEntries(names.map((name) => [name, null])));
          const left = `{${members.flatMap((one) => (names.includes(one.name) ? [] : one.text)).join()}}`;
          if (space === '') expect(reduced.text).toBe(left);
          expect(JSON.parse(reduced.text)).toEqual(JSON.parse(left));
          const added = text.with({}, { more: JsonText.of([1]) });
          expect(Object.entries(JSON.parse(added.text)).at(-1)).toEqual(['more', [1]]);
        },
      ),
      { numRuns: propertyRuns(100, 1_000) },
    );
  });

  test('of two members with one name, the last one is the value; only that one is replaced', () => {
    const text = objectText('{"a":{"x":1},"b":2,"a":{"x":1e400}}');
    expect(text.member('a')?.text).toBe('{"x":1e400}');
    expect(text.with({ a: null }).text).toBe('{"a":{"x":1},"b":2}');
    expect(text.with({ a: JsonText.of({ y: 0 }) }).text).toBe('{"a":{"x":1},"b":2,"a":{"y":0}}');
    expect(text.with({ toString: null }).text).toBe(text.text);
  });

  test('has a depth and a size, and never recurses', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const text = objectText(`{"a":"[[","b":${deep},"c":{}}`);
    expect([text.depth, text.size]).toEqual([200_001, 400_000 + 22]);
    expect(text.members().map(({ name, depth, size }) => [name, depth, size])).toEqual([
      ['a', 0, 4],
      ['b', 200_000, 400_000],
      ['c', 1, 2],
    ]);
    expect(text.with({ b: null }).text).toBe('{"a":"[[","c":{}}');
  });

  test('of bytes that are not UTF-8 says so, and that of the others does not', () => {
    const bytes = Buffer.concat([
      Buffer.from('[{"a":"é"},{"a":"'),
      Buffer.from([0xe9]),
      Buffer.from('"},{"b":1}]'),
    ]);
    const found = textsOf(parse(bytes) as unknown[]);
    expect(found.map(({ isUtf8 }) => isUtf8)).toEqual([true, false, true]);
    expect(found[1]?.text).toBe('{"a":"\ufffd"}');
    expect(found[1]?.with({}, { c: JsonText.of(1) }).isUtf8).toBe(false);
  });
});

describe('lists that are left unparsed', () => {
  test('parse to the same value as JSON.parse, whatever surrounds them', () => {
    fc.assert(
      fc.property(answers, (one) => {
        const bytes = bytesOf(one);
        expect(whole(parse(bytes, 'messages'))).toEqual(JSON.parse(bytes.toString()));
      }),
      { numRuns: propertyRuns(200, 2_000) },
    );
  });

  test('never make valid JSON of invalid text', () => {
    const broken = fc.tuple(
      answers,
      fc.nat(),
      fc.constantFrom('cut', '[', ']', '{', '}', '"', '\\', ',', 'x'),
    );
    fc.assert(
      fc.property(broken, ([one, place, how]) => {
        const bytes = bytesOf(one);
        const at = place % (bytes.length + 1);
        const middle = how === 'cut' ? [] : [Buffer.from(how), bytes.subarray(at)];
        const text = Buffer.concat([bytes.subarray(0, at), ...middle]);
        let expected: unknown;
        try {
          expected = JSON.parse(text.toString());
        } catch {
          expect(() => whole(parse(text, 'messages'))).toThrow(SyntaxError);
          return;
        }
        expect(whole(parse(text, 'messages'))).toEqual(expected);
      }),
      { numRuns: propertyRuns(400, 4_000) },
    );
  });

  test('are serialized as themselves, know the texts of their items, and are empty after the release', () => {
    const [item] = parse('[{"messages":[1,{"a":1e400}]}]', 'messages') as [{ messages: JsonText }];
    expect(JSON.stringify(item)).toBe('{"messages":[1,{"a":null}]}');
    expect(textsOf(item.messages.parse() as unknown[]).map(({ text }) => text)).toEqual(['1', '{"a":1e400}']);
    const copy = item.messages.copy();
    textOf(item)?.release();
    expect(item.messages.parse()).toEqual([]);
    expect(copy.text).toBe('[1,{"a":1e400}]');
  });
});
