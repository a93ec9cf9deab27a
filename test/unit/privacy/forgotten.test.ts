import { expect, test } from 'vitest';
import { Forgotten, type Part, Texts } from '../../../src/privacy/forgotten.js';

function forgotten(parts: readonly (readonly [part: Part, value: string])[], texts: readonly string[] = []) {
  const made = new Forgotten('salt', [], new Texts(texts));
  made.add(parts.map(([part, value]) => made.of(part, value)));
  return made;
}

test.each([
  ['Write to Kim.9@Mail.example.', 'Write to [forgotten].'],
  ['<kim.9@mail.example>, kim.91@mail.example', '<[forgotten]>, kim.91@mail.example'],
  ['mailto:kim.9@mail.example?subject=Hi', 'mailto:[forgotten]?subject=Hi'],
  ['https://x.example/?to=kim.9%40mail.example', 'https://x.example/?to=[forgotten]'],
  ['kim.9@mail.example.org', 'kim.9@mail.example.org'],
  ['Kim Castellanos, info@company.example', 'Kim Castellanos, [forgotten]'],
  ['100% @ home', '100% @ home'],
])('the address in %s is recognized by its hash', (text, expected) => {
  const made = forgotten([
    ['email', 'Kim.9@mail.example'],
    ['address', 'info@company.example'],
  ]);
  expect(made.redact(text)).toBe(expected);
});

test.each([
  ['Thanks, Kim Castellanos!', 'Thanks, [forgotten]!'],
  ['KIM  CASTELLANOS', '[forgotten]'],
  ['Kim Castellanosa', 'Kim Castellanosa'],
  ['Kim', 'Kim'],
  ['Mark it as done', 'Mark it as done'],
  ['İstanbul Kim Castellanos', 'İstanbul [forgotten]'],
  ['Jose\u0301 Nu\u0301n\u0303ez', '[forgotten]'],
  ['请联系王小明先生', '请联系[forgotten]先生'],
  ['see https://x.example/in/kim?a=(1)+', 'see [forgotten]'],
  ['by zebedee77', 'by [forgotten]'],
])('names in %s are replaced while something is being forgotten', (text, expected) => {
  const names = [
    'Kim Castellanos',
    'Mark',
    'José Núñez',
    '王小明',
    'https://x.example/in/kim?a=(1)+',
    'zebedee77',
  ];
  expect(forgotten([], names).redact(text)).toBe(expected);
});

test('ids are what the API gives, to the character; addresses do not differ by upper and lower case', () => {
  const ids = ['aB-1', 'Ab.1', 'AB-1', ' aB-1', 'aB-1 ', 'aB-12', 'é', 'e\u0301', '--', '---', '1'];
  for (const part of ['person', 'author', 'company', 'conversation', 'message', 'account'] as const)
    for (const id of ids) expect(ids.filter((one) => forgotten([[part, id]]).has(part, one))).toEqual([id]);
  expect(forgotten([['email', 'Kim@Mail.example ']]).has('email', 'kim@mail.example')).toBe(true);
  expect(forgotten([['email', 'kim@mail.example']]).hasAccount('slack', 'Kim@mail.example')).toBe(true);
  expect(forgotten([['address', 'kim@mail.example']]).hasAccount('slack', 'kim@mail.example')).toBe(false);
});

test('what stands for an account is the same each time, and not that of another one', () => {
  const made = forgotten([]);
  const once = made.pseudonym('slack', 'U1a');
  expect(made.pseudonym('slack', once)).toBe(once);
  expect(made.pseudonym('slack', 'u1A')).not.toBe(once);
  expect(made.pseudonym('email', 'Kim@mail.example')).toBe(made.pseudonym('email', 'kim@mail.example'));
});

test('nothing is kept that can be read', () => {
  const made = forgotten(
    [
      ['email', 'kim@mail.example'],
      ['person', '90210'],
    ],
    ['Kim Castellanos'],
  );
  expect(JSON.stringify(made.rows())).not.toMatch(/kim|castellanos|90210/i);
});
