import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Folders, type Running, start } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

/** Where the demo's sandbox listens, once it says so. */
function sandboxOf({ child }: Running): Promise<string> {
  return new Promise((resolve) => {
    let said = '';
    child.stdout?.on('data', (text: string) => {
      said += text;
      const origin = /listens on (http:\S+)\/v1/.exec(said)?.[1];
      if (origin) resolve(origin);
    });
  });
}

const answers = (origin: string) =>
  fetch(`${origin}/__sandbox/stats`).then(
    ({ ok }) => ok,
    () => false,
  );

// That it plays to its end is a thorough test.
describe('the demo', () => {
  it('leaves no process behind when it is stopped', async () => {
    const running = start(['demo', '--data-dir', join(folders.make(), 'demo')]);
    const origin = await sandboxOf(running);
    expect(await answers(origin)).toBe(true);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('The demo was stopped.');
    expect(await answers(origin)).toBe(false);
  });
});
