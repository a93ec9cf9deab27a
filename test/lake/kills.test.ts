import { spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { obstacle, TestLake } from './support/lake.js';
import { organization, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/lake.js'));

/** More by hand. */
const kills = Number(process.env.LAKE_KILLS ?? 2);

function childrenOf(pid: number | undefined): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

it.skipIf(obstacle())(
  'a publication that is killed leaves no table half written, and the next one completes it',
  async () => {
    const org = await organization(5);
    const lake = await TestLake.make();
    const worker = new Worker(org, lake);
    const started = performance.now();
    await worker.publish();
    // At first as long as the publication of everything, afterwards as long as one of a day.
    let longest = performance.now() - started;
    for (let round = 0; round < kills; round += 1) {
      const day = round % 2 === 0 ? 'today' : 'yesterday';
      const other = day === 'today' ? 'yesterday' : 'today';
      worker.show(day);
      const { child, ended } = worker.start(['lake', 'publish']);
      // Loading the program takes the first half of it.
      await Promise.race([delay(longest * (0.4 + 0.6 * Math.random())), ended]);
      // The process that writes is a child of the command: both are killed, as when a machine stops.
      for (const pid of [...childrenOf(child.pid), child.pid]) kill(pid);
      await ended;
      const [asBefore, asAfter] = await Promise.all([
        lake.differences(org[other], org.id),
        lake.differences(org[day], org.id),
      ]);
      const torn = asBefore.filter(({ table }) => asAfter.some((one) => one.table === table));
      expect(torn, `round ${round}`).toEqual([]);
      const again = performance.now();
      await worker.publish();
      longest = Math.max(performance.now() - again, 500);
      expect(await lake.differences(worker.dataDir, org.id), `round ${round}`).toEqual([]);
    }
    expect(await lake.differencesElsewhere(worker.dataDir, org.id)).toEqual([]);
  },
);
