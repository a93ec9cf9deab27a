import { totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { collectGarbageWhenTight, machineMemory } from '../../../src/base/heap.js';

test('the memory of the machine is known, and no more than it has', () => {
  expect(machineMemory()).toBeGreaterThan(100e6);
  expect(machineMemory()).toBeLessThanOrEqual(totalmem());
});

test('garbage is collected at once where this process takes most of the memory', () => {
  const kept = { garbage: Array.from({ length: 500_000 }, (_, n) => ({ n })) };
  const before = process.memoryUsage().heapUsed;
  kept.garbage = [];
  collectGarbageWhenTight(0);
  expect(process.memoryUsage().heapUsed).toBeLessThan(before - 5e6);
});
