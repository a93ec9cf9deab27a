import fc from 'fast-check';

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

const { text, object } = fc.letrec<{ text: string; object: string; list: string }>((tie) => ({
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

/** Texts of any JSON value. */
export const texts = text;
/** Texts of JSON objects. */
export const objects = object;
