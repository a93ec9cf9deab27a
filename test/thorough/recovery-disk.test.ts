import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Killing } from '../support/killing.js';
import { Folders } from '../support/signalhouse.js';
import { canMount, SmallDisk } from '../support/small-disk.js';

const folders = new Folders();
let killing: Killing;
beforeAll(async () => {
  killing = await Killing.in(folders);
});
afterAll(async () => {
  await killing.sandbox.stop();
  folders.remove();
});

describe.runIf(canMount)('a full disk', () => {
  it.each([
    // How much was fetched by then says that it was that phase.
    { phase: 'migrating', from: 'nothing', free: 400_000, spends: 'whoami' },
    { phase: 'loading', from: 'yesterday', free: 60_000, spends: 'some' },
    { phase: 'publishing', from: 'yesterday', free: 3_000_000, spends: 'all' },
  ] as const)(
    'while $phase: it is said, no file breaks, and with room the next run goes on',
    async ({ from, free }) => {
      const disk = new SmallDisk(128);
      try {
        const victim = killing.directory(from, disk.path);
        disk.fill(free);
        const { code, stdout } = await victim.pulling.start(['sync', '--json']).ended;
        expect(JSON.parse(stdout).error).toMatchObject({
          name: 'StorageError',
          message: expect.stringMatching(/^the disk that holds .* is full/),
          hint: expect.stringContaining('Free some space'),
        });
        expect(code).toBe(1);
        expect(await victim.wounds('old')).toEqual([]);
        disk.empty();
        expect(await victim.recover()).toEqual([]);
      } finally {
        disk.remove();
      }
    },
  );
});

describe('one signal after the other', () => {
  it('ends a run where it stands, and the next one goes on', async () => {
    const victim = killing.directory('yesterday', folders.make());
    killing.sandbox.addFaults([{ kind: 'hang', match: { route: 'topic_groups' } }]);
    const { child, ended } = victim.pulling.start(['sync', '--json'], { SIGNALHOUSE_LOG_LEVEL: 'info' });
    const cues = ['"phase":"topic_groups', 'finishing what is in flight', 'abandoning what is in flight'];
    let sent = 0;
    child.stderr?.on('data', (text: string) => {
      while (sent < cues.length && text.includes(cues[sent] ?? '')) sent += Number(child.kill('SIGTERM'));
    });
    const { code, signal } = await ended;
    killing.sandbox.clearFaults();
    expect({ sent, signal }).toEqual({ sent: cues.length, signal: null });
    // The third ends the process, unless that was through already with what the second asked for.
    expect([0, 1]).toContain(code);
    expect(await victim.wounds('either')).toEqual([]);
    expect(await victim.recover()).toEqual([]);
  });
});
