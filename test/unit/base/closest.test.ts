import { expect, it } from 'vitest';
import { closestMatch } from '../../../src/base/closest.js';

it('the closest match is similar, or there is none', () => {
  const names = ['very_low', 'low', 'default', 'high', 'very_high'];
  expect(['lwo', 'veryhihg', 'defualt', 'default!'].map((one) => closestMatch(one, names))).toEqual([
    'low',
    'very_high',
    'default',
    'default',
  ]);
  expect(['def', 'Defualt (new)', 'very', 'hi'].map((one) => closestMatch(one, names))).toEqual([
    'default',
    'default',
    undefined,
    undefined,
  ]);
  expect(['', '!!', 'critical', 'x'.repeat(100)].map((one) => closestMatch(one, names))).toEqual(
    Array(4).fill(undefined),
  );
});
