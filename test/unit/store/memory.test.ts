import { expect, test } from 'vitest';
import { autoLimit, bytesOf, memoryProblem } from '../../../src/store/memory.js';

test('1 GiB is enough, as a container has it and as a machine shows it; less is refused as a wrong configuration', () => {
  const gib = 1024 ** 3;
  for (const memory of [gib, 0.93 * gib, 64 * gib])
    expect(memoryProblem({ tuning: { memory } })).toBeUndefined();
  expect(memoryProblem({ tuning: { memory: gib / 2 } })).toMatchObject({
    name: 'UsageError',
    message: 'this machine or container has 512 MiB of memory, and Signalhouse needs 1 GiB',
    hint: expect.stringContaining('docker run --memory 1g'),
  });
});

test('DuckDB gets 40 % of the memory, up to 2 GB', () => {
  expect([1, 4, 64].map((gib) => autoLimit(gib * 1024 ** 3))).toEqual(['429MB', '1717MB', '2000MB']);
});

test.each([
  ['128MB', 128e6],
  ['1.5 GiB', 1.5 * 1024 ** 3],
  ['auto', undefined],
])('%j has %s bytes', (size, bytes) => {
  expect(bytesOf(size)).toBe(bytes);
});
