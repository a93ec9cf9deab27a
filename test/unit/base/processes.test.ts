import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { isAlive } from '../../../src/base/processes.js';

it('tells a process that runs from one that has ended', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  expect(isAlive(pid)).toBe(true);
  child.stdin?.end();
  await once(child, 'exit');
  expect(isAlive(pid)).toBe(false);
});
