import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Random } from '../../src/sandbox/world/random.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { Pulling, startTown } from '../support/pulling.js';
import { changeable, enqueue, other, push, raise } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';

/** Machines that are lost while they push, and come back from what restic keeps in an object store. */

const hasRestic = spawnSync('restic', ['version']).status === 0;
const script = fileURLToPath(new URL('../../scripts/lake-services.sh', import.meta.url));
/** The environment of restic. */
let restic: Record<string, string>;
let services: string;

beforeEach(({ skip }) => skip(!hasRestic, 'no restic here: install the package restic'));
beforeAll(() => {
  if (!hasRestic) return;
  services = testFolder();
  const started = spawnSync('bash', [script, 's3', services], { encoding: 'utf8' });
  const [address, keyId, secret] = started.stdout.trim().split(' ');
  // Where the S3 server cannot be had, a folder takes its place.
  const repository = secret === undefined ? join(services, 'repository') : `s3:${address}/backup`;
  restic = {
    RESTIC_REPOSITORY: repository,
    RESTIC_PASSWORD: 'a password of the backup',
    RESTIC_CACHE_DIR: join(services, 'cache'),
    ...(secret !== undefined && { AWS_ACCESS_KEY_ID: keyId ?? '', AWS_SECRET_ACCESS_KEY: secret }),
  };
  run('init');
});
afterAll(() => {
  if (services !== undefined) spawnSync('bash', [script, 'down', services]);
});

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('restic', args, {
    env: { ...process.env, ...restic },
    encoding: 'utf8',
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return stdout;
}

/** The script of docs/operations.md, with the variables that it reads from a file. */
function backupScript(): string {
  const path = join(testFolder(), 'backup.sh');
  const exported = Object.entries(restic).map(([name, value]) => `export ${name}='${value}'`);
  const lines = [
    '#!/bin/sh -e',
    ...exported,
    `restic backup --exclude 'worker.duckdb*' --exclude '.unfinished-*' "$SIGNALHOUSE_DATA_DIR"`,
    'restic forget --prune --keep-last 10 --keep-hourly 48 --keep-daily 14 --keep-weekly 8',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  chmodSync(path, 0o700);
  return path;
}

/** Neither what a topic had nor what is wanted: a value that went back to the first could not be told from one never sent. */
const theirs = 'very_high';

it.each([3, 11, 29])(
  'a machine that is lost in the middle of a push comes back, seed %i: nothing is lost, nothing is sent twice',
  async (seed) => {
    const random = new Random(seed);
    const sandbox = await startTown({ sizes: { seed, topics: 30 } });
    try {
      const settings = { publish: { after: [[backupScript()]] } };
      const lost = Pulling.into(sandbox, settings);
      expect(await lost.sync()).toMatchObject({ code: 0 });
      const chosen = changeable(sandbox)
        .filter(({ priority }) => priority !== theirs)
        .slice(0, 12);
      const wanted = new Map(chosen.map(({ id, priority }) => [id, other(priority)]));
      await enqueue(lost.dataDir, chosen.map(raise));
      // The last backup has the queue; what follows is in none.
      expect(await lost.sync(['--only', 'topics'])).toMatchObject({ code: 0, report: { notes: [] } });
      const moment = random.whole(0, chosen.length - 1);
      const running = lost.start(['sync', '--push']);
      while (sandbox.stats().writesExecuted < moment) await delay(1);
      running.child.kill('SIGKILL');
      expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
      // A colleague replaces one of those that were sent, before the restore.
      const sentNow = () => chosen.filter(({ id }) => sandbox.applied()[`topic:${id}`] !== undefined);
      const [replaced] = sentNow();
      if (replaced)
        sandbox.change({ kind: 'patchTopic', topicId: replaced.id, fields: { priority: theirs } });

      const target = testFolder();
      run('restore', 'latest', '--target', target);
      const fresh = Pulling.into(sandbox);
      const restored = await fresh.run(['restore', join(target, lost.dataDir), '--json']);
      expect({ code: restored.code, stderr: restored.stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(restored.stdout)).toMatchObject({
        changes: { queued: chosen.length },
        mayHaveBeenSent: chosen.length,
      });
      // What was under way when the machine was lost may have arrived after that.
      const sent = sentNow();
      const { report } = await push(fresh);
      expect(report).toMatchObject({
        unchanged: sent.length - (replaced ? 1 : 0),
        applied: chosen.length - sent.length,
        conflict: replaced ? 1 : 0,
        left: { queued: 0, sending: 0 },
      });
      const now = ({ id }: StoredTopic) => sandbox.world.topics.get(id)?.priority;
      for (const one of chosen) {
        expect(sandbox.applied()[`topic:${one.id}`]).toEqual({ priority: 1 });
        expect(now(one)).toBe(one === replaced ? theirs : wanted.get(one.id));
      }
      expect(await fresh.sync()).toMatchObject({ code: 0, report: { left: { due: 0 } } });
      expect(await fresh.differences()).toEqual([]);
      expect(await fresh.run(['rebuild', '--check', '--json'])).toMatchObject({ code: 0 });
      run('check');
    } finally {
      await sandbox.stop();
    }
  },
);
