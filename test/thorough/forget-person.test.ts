import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ForgetReport } from '../../src/app/forget.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { busiestPerson, countsOf, placesOf, stringsOfPerson } from '../support/personal-strings.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/forget.js'));

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
let person: string;
beforeAll(async () => {
  // Small: every byte and every row is searched three times.
  const sizes = { topics: 6, people: 10, companies: 3, messages: 60, stories: 2, channels: 2, templates: 1 };
  sandbox = await startTown({ sizes });
  pulling = await Pulling.filled(folders, sandbox);
  person = busiestPerson(sandbox.world);
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const forgetting = async (...args: string[]) => {
  const ran = await pulling.run(['forget', ...args, '--json']);
  return { ...ran, report: ran.stdout === '' ? undefined : (JSON.parse(ran.stdout) as ForgetReport) };
};

describe('forget', () => {
  it('asks before it does anything, and without a terminal needs --yes', async () => {
    const { code, stdout, stderr } = await pulling.run(['forget', 'person', person]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/--yes/) });
    expect(stdout).toMatch(/people +1\n/);
  });

  it('leaves no string of a person in any file, and every count as it was', async () => {
    const { dataDir } = pulling;
    const strings = stringsOfPerson(sandbox.world, person);
    const held = await placesOf(dataDir, strings);
    expect(held.length).toBeGreaterThan(20);
    expect(strings.filter((one) => !held.some((place) => place.endsWith(`: ${one}`)))).toEqual([]);
    const counts = await countsOf(dataDir);
    const out = join(folders.make(), 'people.csv');
    expect(await pulling.run(['export', 'topic_people', '--out', out])).toMatchObject({ code: 0 });
    // An export into the data directory is not deleted, but named.
    writeFileSync(join(dataDir, 'mine.csv'), `id\n${strings[0]}\n`);
    const { code, stderr, report } = await forgetting('person', person, '--yes', '--reason', 'request 17');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(report).toMatchObject({ outcome: 'forgotten', entities: 1, pending: [] });
    expect(report?.notReached).toContainEqual(expect.stringMatching(/^mine\.csv in the data directory/));
    rmSync(join(dataDir, 'mine.csv'));
    // What the lists return again is removed again.
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await placesOf(dataDir, strings)).toEqual([]);
    expect(await countsOf(dataDir)).toEqual(counts);
    const query =
      "SELECT * REPLACE (details->>'tables' AS details) FROM audit WHERE action <> 'expire' ORDER BY \"at\"";
    const { stdout } = await pulling.run(['sql', '--json', query]);
    expect(JSON.parse(stdout)).toMatchObject([
      { action: 'export', details: '["topic_people"]', requested_by: expect.any(String), outcome: 'done' },
      {
        action: 'forget',
        entity_type: 'person',
        entities: 1,
        reason: 'request 17',
        outcome: 'done',
        entity_id: null,
      },
    ]);
  });
});
