import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const sizes = { topics: 5, people: 8, companies: 3, messages: 60, stories: 2, templates: 1, channels: 2 };
const cap = 45;

const folders = new Folders();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startTown({ sizes });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

it('night after night under a cap too small for a first pull, the warehouse becomes complete; each night says how far it is', async () => {
  const pulling = Pulling.into(folders, sandbox, { serve: { freshness: { topics: 24 } } });
  const nights: { due: number; runs: number | null }[] = [];
  do {
    const { code, report, requests } = await pulling.sync(['--max-requests', String(cap)]);
    expect(code).toBe(0);
    expect(requests).toBeLessThanOrEqual(cap);
    nights.push(report.left);
    // Between two nights the organization does not stand still.
    if (nights.length === 1) sandbox.advance(1, { activeTopics: 0.5, edits: 0.2, archives: 0 });
  } while (nights.at(-1)?.due !== 0 && nights.length < 12);

  expect(nights.length).toBeGreaterThan(2);
  expect(nights.at(-1)).toEqual({ due: 0, requests: 0, minutes: 0, runs: null });
  expect(await pulling.differences({ lagging: false })).toEqual([]);
  // What a night says is about how many it took, though what it fetches reveals more to fetch.
  for (const [night, { runs }] of nights.slice(0, -1).entries()) {
    const took = nights.length - 1 - night;
    expect(runs).toBeGreaterThanOrEqual(1);
    expect(runs).toBeLessThanOrEqual(took + 1);
  }
});
