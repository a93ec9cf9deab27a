import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultMatrix, fewRuns, namesOf } from '../support/fault-matrix.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let matrix: FaultMatrix;
beforeAll(async () => {
  matrix = await FaultMatrix.start(folders);
});
afterAll(async () => {
  await matrix?.sandbox.stop();
  folders.remove();
});

describe('a fault harms only what it hits: each read endpoint and each kind of failure once', () => {
  it.each(fewRuns().map((cells) => [namesOf(cells), cells] as const))('%s', async (_, cells) => {
    expect(await matrix.failing(cells)).toEqual([]);
  });
});
