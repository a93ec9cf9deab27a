import { describe, expect, test } from 'vitest';
import { NewestFirst } from '../../../src/sync/conversations.js';

const at = (...ends: unknown[]) =>
  ends.map((endTimestamp) => ({ group: { id: 'g', endTimestamp }, messages: [] }));

const readBy = (order: NewestFirst, items: readonly { messages: unknown }[]) => {
  for (const item of items) order.next(item, item.messages);
};

describe('NewestFirst', () => {
  test('holds over pages as long as no item is newer than the one before', () => {
    const order = new NewestFirst();
    readBy(order, at('2026-01-03T00:00:00Z', '2026-01-02T00:00:00Z'));
    readBy(order, at('2026-01-02T00:00:00Z', '2025-12-31T23:00:00-05:00'));
    expect(order.holds).toBe(true);
    readBy(order, at('2026-01-02T00:00:00Z'));
    expect(order.holds).toBe(false);
    readBy(order, at('2020-01-01T00:00:00Z'));
    expect(order.holds).toBe(false);
  });

  test('numbers count as times, and an unreadable time proves nothing', () => {
    const numbers = new NewestFirst();
    readBy(numbers, at(1_767_225_600_000, 1_767_139_200_000));
    expect(numbers.holds).toBe(true);
    for (const odd of [null, undefined, 'yesterday', {}]) {
      const order = new NewestFirst();
      readBy(order, at('2026-01-03T00:00:00Z', odd));
      expect(order.holds).toBe(false);
    }
  });

  test('the order of the last own message counts too, whatever others wrote since', () => {
    const said = (...messages: [author: string, at: string][]) => ({
      group: { id: 'g', endTimestamp: messages.at(-1)?.[1] },
      messages: messages.map(([id, createdAt]) => ({ author: { id }, createdAt })),
    });
    const newer = said(['ours', '2026-01-03T00:00:00Z']);
    const answered = said(['ours', '2026-01-02T00:00:00Z'], ['theirs', '2026-01-09T00:00:00Z']);
    const reading = (own: string[], ...items: { messages: unknown }[]) => {
      const order = new NewestFirst(new Set(own));
      readBy(order, items);
      return order.holds;
    };
    expect(reading(['ours'], newer, answered)).toBe(true);
    expect(reading([], newer, answered)).toBe(false);
    // Neither order: the younger one by both comes last.
    expect(reading(['ours'], answered, said(['ours', '2026-01-10T00:00:00Z']))).toBe(false);
    // A conversation without a word of theirs proves nothing, and one with an odd author neither.
    expect(reading(['ours'], newer, said(['theirs', '2026-01-04T00:00:00Z']))).toBe(false);
    expect(reading(['ours'], newer, { ...answered, messages: [{ author: null, createdAt: 3 }] })).toBe(false);
  });
});
