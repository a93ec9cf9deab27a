import { describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { type Pulling, town, townForEachTest } from '../support/pulling.js';

let sandbox: Sandbox;
let pulling: Pulling;
townForEachTest({ sizes: town }, (made) => {
  ({ sandbox, pulling } = made);
});

const everything = (fault: object) => ({ ...fault, match: {} }) as FaultRuleInput;

describe('one broken endpoint', () => {
  it('is given up, everything else is fetched, and the next run completes it', async () => {
    sandbox.addFaults([{ match: { route: 'person_source_stats' }, kind: 'status', status: 403 }]);
    const { code, report, seen } = await pulling.sync();
    expect([code, report.outcome]).toEqual([3, 'incomplete']);
    const failed = report.failures.filter(({ entityId }) => entityId !== null);
    expect(new Set(report.failures.map(({ endpoint }) => endpoint))).toEqual(
      new Set(['person_source_stats']),
    );
    // Ten in a row, nine that were in flight with them, three samples.
    expect(failed.length).toBeGreaterThanOrEqual(10);
    expect(failed.length).toBeLessThanOrEqual(22);
    expect(seen.person_source_stats).toBeLessThanOrEqual(22 * 3);
    const [summary, ...more] = report.failures.filter(({ entityId }) => entityId === null);
    expect(more).toEqual([]);
    expect(summary?.message).toContain(`${40 - failed.length} more were not asked for`);
    expect(report.left.due).toBe(40);
    expect(seen.whoami).toBeLessThanOrEqual(25);
    const ofPeople = (line: string) => line.startsWith('people') || line.startsWith('person_source_stats');
    expect((await pulling.differences()).filter((line) => !ofPeople(line))).toEqual([]);
    const { stdout } = await pulling.run(['status']);
    expect(stdout).toMatch(new RegExp(`person_source_stats +${failed.length} .* ${failed.length}\\b`));
    const named = `person_source_stats: ${failed.length} entities \\(.*, …\\), most often: .*/people/\\{id\\}/source-stats`;
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(named));

    sandbox.clearFaults();
    const next = await pulling.sync();
    expect([next.code, next.report.failures]).toEqual([0, []]);
    expect(next.seen.person_source_stats).toBe(40);
    expect(await pulling.differences()).toEqual([]);
  });

  it('whose first twelve entities fail is not given up: all others are fetched in the same run', async () => {
    const broken = [...sandbox.world.people.keys()].sort().slice(0, 12);
    const route = 'person_source_stats';
    sandbox.addFaults([
      // A list without these fields: the people are asked for in the order of their ids.
      { match: { route: 'people' }, kind: 'replace', delete: ['*.*.isVip', '*.*.lastSeenAt'] },
      { match: { route, pattern: `/people/(${broken.join('|')})/` }, kind: 'status', status: 500 },
    ]);
    // As few requests in flight as possible, so that no good answer arrives between those that fail.
    pulling.set({ api: { concurrency: 1 } });
    await pulling.plan(['--only', 'people']);
    const { code, report, seen } = await pulling.sync(['--only', route]);
    expect(code).toBe(3);
    expect(report.failures.map(({ entityId }) => entityId).sort()).toEqual(broken);
    expect(report.left.due).toBe(broken.length);
    // Three attempts for each broken one, one for each of the others.
    expect(seen[route]).toBe(3 * broken.length + 28);
  });

  it('a key that whoami refuses as well ends the run with exit 5, everything committed', async () => {
    sandbox.addFaults([{ ...everything({ kind: 'status', status: 401 }), after: 60 }]);
    const { code, report } = await pulling.sync();
    expect([code, report.outcome]).toEqual([5, 'failed']);
    const [row] = await read(pulling.dataDir, (reader) =>
      reader.rows<{ topics: number }>('SELECT count(*) AS topics FROM topics'),
    );
    expect(row?.topics).toBeGreaterThan(20);
  });
});

describe('a list that cannot be read', () => {
  it('is named by a plan, which exits 3', async () => {
    sandbox.addFaults([{ match: { route: 'channels' }, kind: 'status', status: 500 }]);
    const { code, stdout } = await pulling.run(['plan', '--json', '--only', 'channels']);
    expect([code, JSON.parse(stdout).failures]).toMatchObject([
      3,
      [{ endpoint: 'channels', entityId: null, message: expect.stringContaining('500') }],
    ]);
  });
});

describe('an outage', () => {
  it('longer than api.outageMinutes: the run ends in order, and nothing is blamed on what was being fetched', async () => {
    pulling.set({ api: { outageMinutes: 0.01 } });
    sandbox.addFaults([{ ...everything({ kind: 'html', status: 502 }), after: 60 }]);
    const { code, report } = await pulling.sync();
    expect([code, report.outcome, report.endedByOutage]).toEqual([1, 'failed', true]);
    expect(report.failures).toEqual([
      expect.objectContaining({
        endpoint: 'sync',
        message: expect.stringContaining('the API has been unavailable for'),
        hint: expect.stringContaining('api.outageMinutes'),
      }),
    ]);
    expect(report.published).not.toBeNull();
  });
});
