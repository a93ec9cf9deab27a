import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printed, signalhouse, start } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

const answers = (origin: string) =>
  fetch(`${origin}/__sandbox/stats`).then(
    ({ ok }) => ok,
    () => false,
  );

describe('the demo', () => {
  it('pulls, asks, pushes a spreadsheet, pulls a handful, and ends with a report and an answer in 80 columns, and leaves a file to ask', async () => {
    const cwd = testFolder();
    const first = await signalhouse(['demo'], { cwd });
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' });
    const pulls = [...first.stdout.matchAll(/([\d,]+) requests? in/g)].map(([, number = '']) =>
      Number(number.replaceAll(',', '')),
    );
    expect(pulls).toHaveLength(3);
    expect(pulls[1]).toBeLessThan(25);
    expect(pulls[2]).toBeLessThan(pulls[0]! / 3);
    expect(first.stdout).toContain('3 applied, each exactly once');
    expect(first.stdout.match(/never rate-limited/g)).toHaveLength(3);
    expect(first.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    const [, end = ''] = first.stdout.split('6. A report');
    expect(end).toMatch(
      /signalhouse report .*How large is the backlog now.*priority +topics.*\n +very_high +\d+/s,
    );
    expect(readFileSync(join(cwd, 'data/demo/report.html'), 'utf8')).toContain('Who is waiting');
    const command = /signalhouse sql --data-dir (\S+)/.exec(first.stdout)?.[1];
    expect(command).toBe(join('data', 'demo'));
    const asked = await signalhouse(
      ['sql', 'SELECT count(*) AS n FROM topics', '--json', '--data-dir', command!],
      { cwd },
    );
    expect(JSON.parse(asked.stdout)[0].n).toBeGreaterThan(40);
  });

  it('leaves no process behind when it is stopped', async () => {
    const running = start(['demo', '--data-dir', join(testFolder(), 'demo')]);
    const said = await printed(running, '/v1');
    const [, origin = ''] = /listens on (http:\S+)\/v1/.exec(said) ?? [];
    expect(await answers(origin)).toBe(true);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('The demo was stopped.');
    expect(await answers(origin)).toBe(false);
  });
});
