import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runCommand } from '../../../src/base/processes.js';
import { testFolder } from '../../support/test-folders.js';

let folder: string;
beforeEach(() => {
  folder = testFolder();
});
afterEach(() => void vi.unstubAllEnvs());

/** Where nobody waits for an orphan that was killed, its entry stays, as that of a zombie. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !/\) Z /.test(readFileSync(path, 'utf8'));
}

function run(command: string | string[], more: { stop?: AbortSignal; limitMs?: number } = {}) {
  const lines: string[] = [];
  const ended = runCommand(command, {
    env: { SIGNALHOUSE_DATA_DIR: '/data' },
    limitMs: 60_000,
    ...more,
    onLine: (line) => lines.push(line),
  });
  return { lines, ended };
}

it('a list of words is run as it is, a line by a shell; the environment has what is given and no secret of ours', async () => {
  vi.stubEnv('SIGNALHOUSE_API_KEY', 'secret');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('RESTIC_REPOSITORY', '/backup');
  const words = run(['echo', '$HOME;', 'exit 1']);
  expect(await words.ended).toEqual({ problem: null, isStopped: false });
  expect(words.lines).toEqual(['$HOME; exit 1']);
  const line = run('env | grep -E "SIGNALHOUSE|AWS|RESTIC" | sort; exit 3');
  expect(await line.ended).toEqual({ problem: 'it ended with 3', isStopped: false });
  expect(line.lines).toEqual(['RESTIC_REPOSITORY=/backup', 'SIGNALHOUSE_DATA_DIR=/data']);
  expect((await run(['/nowhere/program']).ended).problem).toMatch(/could not be started.*ENOENT/);
});

it.each(['stop', 'limit'] as const)('%s ends a command with everything that it started', async (by) => {
  const stop = new AbortController();
  const pids = join(folder, 'pids');
  const script = `sleep 600 & echo $! $$ > ${pids}; echo ready; wait`;
  const { lines, ended } = run(script, by === 'stop' ? { stop: stop.signal } : { limitMs: 1_000 });
  await vi.waitFor(() => expect(lines).toEqual(['ready']), { timeout: 20_000 });
  if (by === 'stop') stop.abort();
  const { problem, isStopped } = await ended;
  expect({ problem: problem !== null, isStopped }).toEqual({ problem: true, isStopped: by === 'stop' });
  for (const pid of readFileSync(pids, 'utf8').trim().split(' ').map(Number))
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
});

it('what a command leaves running in the background ends with it', async () => {
  const pid = join(folder, 'pid');
  expect(await run(`sleep 600 & echo $! > ${pid}`).ended).toEqual({ problem: null, isStopped: false });
  await vi.waitFor(() => expect(isRunning(Number(readFileSync(pid, 'utf8')))).toBe(false));
});
