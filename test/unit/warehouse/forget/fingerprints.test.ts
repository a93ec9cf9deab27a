import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Fingerprints, type Part, wordsOf } from '../../../../src/warehouse/forget/fingerprints.js';

const forgotten = (...all: readonly (readonly [part: Part, value: string, within?: string])[]) => {
  const made = new Fingerprints('salt');
  for (const [part, value, within] of all) {
    const row = made.of(part, value, within);
    if (row) made.add(row);
  }
  return made;
};

const word = fc.oneof(fc.stringMatching(/^[a-zé]{1,8}$/), fc.constantFrom('王', '小明', 'สม'));
/** What stands between words. */
const gap = fc.constantFrom(' ', ', ', '-', '\n', ' "', '@', '.', '/', '\t', '%20', '&nbsp;', '</b> ', '\\n');

test('a text of several words is found wherever it stands in another, and nothing else changes', () => {
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 2, maxLength: 6 }),
      fc.array(fc.tuple(word, gap), { maxLength: 8 }),
      fc.array(fc.tuple(gap, word), { maxLength: 8 }),
      gap,
      (name, before, after, joint) => {
        const made = forgotten(['text', name.join(' ')]);
        const start = before.map(([one, between]) => one + between).join('');
        const end = after.map(([between, one]) => between + one).join('');
        const text = `${start}${name.join(joint).toUpperCase()}${end}`;
        expect(made.mayTouch(text)).toBe(true);
        expect(made.mayTouch(JSON.stringify({ text }))).toBe(true);
        const result = made.redact(text);
        expect(result).toContain('[forgotten]');
        expect(made.redact(result)).toBe(result);
        const words = wordsOf(result)
          .map((one) => one.word)
          .join(' ');
        expect(` ${words} `).not.toContain(` ${name.join(' ')} `);
      },
    ),
  );
});

test('a text without it is the same text', () => {
  const made = forgotten(['name', 'Kim Castellanos'], ['text', 'kim@mail.example'], ['person', '90210']);
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(made.redact(text)).toBe(text);
    }),
  );
});

describe('redact', () => {
  it.each([
    ['Thanks, Kim Castellanos!', 'Thanks, [forgotten]!'],
    ['KIM  CASTELLANOS', '[forgotten]'],
    ['mailto:kim.9@mail.example?subject=Hi', 'mailto:[forgotten]?subject=Hi'],
    ['kim.91@mail.example', 'kim.91@mail.example'],
    ['Kim', 'Kim'],
    ['Mark', '[forgotten]'],
    ['Mark it as done', 'Mark it as done'],
    ['İstanbul Kim Castellanos', 'İstanbul [forgotten]'],
    ['请联系王小明先生', '请联系[forgotten]先生'],
    ['https://x.example/?to=kim.9%40mail.example', 'https://x.example/?to=[forgotten]'],
    ['?q=Kim%20Castellanos%2e', '?q=[forgotten]%2e'],
    ['100%', '100%'],
    ['<p>Dear <b>Kim</b>&nbsp;Castellanos,</p>', '<p>Dear <b>[forgotten],</p>'],
    ['{"text":"Hi\\nKim Castellanos"}', '{"text":"Hi\\n[forgotten]"}'],
    ['<kim.9@mail.example> &co; a<b', '<[forgotten]> &co; a<b'],
    ['C:\\', 'C:\\'],
  ])('%s becomes %s', (text, expected) => {
    const made = forgotten(
      ['name', 'Kim Castellanos'],
      ['name', '王小明'],
      ['text', 'kim.9@mail.example'],
      ['name', 'Mark'],
    );
    expect(made.redact(text)).toBe(expected);
  });

  it('leaves the name of somebody else who has the same, and what others wrote themselves', () => {
    const made = forgotten(['name', 'Kim Castellanos'], ['quote', 'any news on this', 'g1']);
    expect(made.redact('Kim Castellanos', { isName: true })).toBe('Kim Castellanos');
    expect(made.redact('> Any news on this\nNo', { isWhole: true, conversation: 'g1' })).toBe(
      '> [forgotten]\nNo',
    );
    expect(made.redact('Any news on this?', { isWhole: true, conversation: 'g1' })).toBe('Any news on this?');
    expect(made.redact('> Any news on this\nNo', { conversation: 'g2' })).toBe('> Any news on this\nNo');
  });

  it('finds an id in a source with the same characters, where it does not go on', () => {
    const made = forgotten(['source_id', 'U0-aB.7'], ['source_id', 'grace']);
    expect(made.redact('by U0-aB.7, U0-aB.7. or /U0-aB.7/')).toBe(
      'by [forgotten], [forgotten]. or /[forgotten]/',
    );
    for (const other of [
      'u0-aB.7',
      'U0 aB.7',
      'U0-aB.77',
      'U0-aB.7-1',
      'x_U0-aB.7',
      'the grace of it',
      'Grace',
    ])
      expect(made.redact(other)).toBe(other);
    expect(made.redactId('U0-aB.7')).toBe('[forgotten]');
    expect(made.redactId('U0-aB.7.')).toBe('U0-aB.7.');
  });

  it('keeps nothing that can be read', () => {
    const made = forgotten(['name', 'Kim Castellanos'], ['text', 'kim@mail.example'], ['person', '90210']);
    expect(JSON.stringify(made.rows())).not.toMatch(/kim|castellanos|90210/i);
  });
});

test('ids are what the API gives, to the character; addresses do not differ by upper and lower case', () => {
  const ids = [
    'aB-1',
    'Ab.1',
    'AB-1',
    'aB 1',
    ' aB-1',
    'aB-1 ',
    'aB-12',
    'é',
    'e\u0301',
    '--',
    '---',
    '1',
    '11',
    '-1',
  ];
  for (const part of ['person', 'author', 'company', 'conversation', 'message', 'identity'] as const) {
    for (const id of ids) {
      const made = forgotten([part, id]);
      expect(ids.filter((one) => made.has(part, one))).toEqual([id]);
      expect(made.mayTouch(JSON.stringify({ id }))).toBe(true);
    }
  }
  expect(forgotten(['identity', 'email:Kim@Mail.example']).has('identity', 'email:kim@mail.example')).toBe(
    true,
  );
  expect(forgotten(['email', 'Kim@Mail.example ']).has('email', 'kim@mail.example')).toBe(true);
  expect(forgotten(['email', 'kim.lee@mail.example']).has('email', 'kim-lee@mail.example')).toBe(false);
  expect(forgotten().pseudonym('slack:U1a')).not.toBe(forgotten().pseudonym('slack:u1A'));
});
