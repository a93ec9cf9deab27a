import { afterAll, expect, it } from 'vitest';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

const preload = new URL('../support/clock-ahead.mjs', import.meta.url).href;

it('what changes after a run with the clock a day ahead is stored by the next run, and the clock is noted', async () => {
  const sandbox = await startTown({
    sizes: { topics: 12, people: 8, companies: 3, messages: 60, stories: 2 },
  });
  try {
    const pulling = Pulling.into(folders, sandbox);
    const env = { NODE_OPTIONS: `--import=${preload}`, CLOCK_AHEAD_MS: String(86_400_000) };
    const first = await pulling.start(['sync', '--json'], env).ended;
    expect(first).toMatchObject({ code: 0 });
    const note = expect.stringMatching(
      /^the clock of this machine is (24 h 00 min|1 d 0 h) ahead of the service: /,
    );
    expect(JSON.parse(first.stdout)).toMatchObject({ notes: [note] });
    expect(first.stderr).toMatch(/the clock of this machine is .* ahead of the service/);
    expect(await pulling.differences()).toEqual([]);

    sandbox.advance(1);
    const second = await pulling.sync();
    expect(second).toMatchObject({ code: 0, report: { notes: [] } });
    expect(Object.values(second.report.rows).some(({ changed }) => changed > 0)).toBe(true);
    expect(await pulling.differences({ lagging: false })).toEqual([]);

    // Nothing keeps a time in the future that decides what is fetched; versions follow each other.
    const bad = await read(pulling.dataDir, (reader) =>
      reader.rows(`
        SELECT 'coverage' AS what, entity_id AS id FROM ops.coverage WHERE fetched_at > now()
        UNION ALL SELECT 'version', topic_id FROM topic_versions WHERE valid_to <= valid_from`),
    );
    expect(bad).toEqual([]);
    const status = JSON.parse((await pulling.run(['status', '--json'])).stdout);
    const times = JSON.stringify(status).match(/"\w+_at":"[^"]+"/g) ?? [];
    expect(times.length).toBeGreaterThan(10);
    for (const { read_at: readAt } of status.lists ?? status.contents?.lists ?? []) {
      expect(Date.parse(readAt)).toBeLessThanOrEqual(Date.now());
    }

    const before = await pulling.differences({ lagging: false });
    expect(await pulling.run(['rebuild'])).toMatchObject({ code: 0 });
    expect(await pulling.differences({ lagging: false })).toEqual(before);
  } finally {
    await sandbox.stop();
  }
});
