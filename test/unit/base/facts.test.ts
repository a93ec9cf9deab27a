import { expect, it } from 'vitest';
import { freshnessState } from '../../../src/base/facts.js';

const now = Date.parse('2026-11-20T10:15:00.000Z');

it.each([
  [60, 30, 'fresh'],
  [60, 60, 'fresh'],
  [60, 61, 'stale'],
  [60, null, 'never'],
  [null, 9_999, 'open'],
  [null, null, 'open'],
] as const)('with %s minutes allowed and %s passed is %s', (objectiveMinutes, age, state) => {
  const at = age === null ? null : new Date(now - age * 60_000).toISOString();
  expect(freshnessState({ resource: 'topics', at, objectiveMinutes }, now)).toBe(state);
});
