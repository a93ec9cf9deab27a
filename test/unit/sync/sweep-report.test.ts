import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.js';
import { resources } from '../../../src/contract/resources.js';
import { allowedPerDay, sweepNote, sweepPerDay } from '../../../src/sync/sweep-report.js';

const { children } = resources;
const settings = loadConfig({ env: {} });

describe('the sweep', () => {
  test('costs a day, for each child, its items by three quarters of its age', () => {
    const topic = children.filter(({ name }) => name === 'topic');
    expect(sweepPerDay({ topics: 2_100 }, topic, settings)).toBeCloseTo(2_100 / (14 * 0.75));
    const both = children.filter(({ name }) => name === 'topic' || name === 'company');
    expect(sweepPerDay({ topics: 2_100 }, both, settings)).toBeCloseTo(2_100 / (14 * 0.75));
    expect(sweepPerDay({}, children, settings)).toBe(0);
  });

  test('one run a day may make what its caps and its rate allow', () => {
    expect(allowedPerDay({}, settings)).toBe(120 * 1_440);
    expect(allowedPerDay({ maxMinutes: 50 }, settings)).toBe(6_000);
    expect(allowedPerDay({ maxMinutes: 50, maxRequests: 100 }, settings)).toBe(100);
  });

  test('says what it can keep when it cannot keep what is asked for', () => {
    expect(sweepNote(100, 100)).toBeNull();
    expect(sweepNote(250, 100)).toContain('ages 2.5 times as long');
    expect(sweepNote(250, 0)).toContain('leaves none after the lists');
  });
});
