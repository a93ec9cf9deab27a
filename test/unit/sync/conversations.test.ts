import { describe, expect, test } from 'vitest';
import { NewestFirst } from '../../../src/sync/conversations.js';

const at = (...ends: unknown[]) =>
  ends.map((endTimestamp) => ({ group: { id: 'g', endTimestamp }, messages: [] }));

describe('NewestFirst', () => {
  test('holds over pages as long as nothing is younger than what came before', () => {
    const order = new NewestFirst();
    order.read(at('2026-01-03T00:00:00Z', '2026-01-02T00:00:00Z'));
    order.read(at('2026-01-02T00:00:00Z', '2025-12-31T23:00:00-05:00'));
    expect(order.holds).toBe(true);
    order.read(at('2026-01-02T00:00:00Z'));
    expect(order.holds).toBe(false);
    order.read(at('2020-01-01T00:00:00Z'));
    expect(order.holds).toBe(false);
  });

  test('numbers are read as well, and what cannot be read proves nothing', () => {
    const numbers = new NewestFirst();
    numbers.read(at(1_767_225_600_000, 1_767_139_200_000));
    expect(numbers.holds).toBe(true);
    for (const odd of [null, undefined, 'yesterday', {}]) {
      const order = new NewestFirst();
      order.read(at('2026-01-03T00:00:00Z', odd));
      expect(order.holds).toBe(false);
    }
  });
});
