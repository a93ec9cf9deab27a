import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { program, signalhouse } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/main.js'));

const good = { SIGNALHOUSE_BASE_URL: 'https://api.example.com/v1', SIGNALHOUSE_API_KEY: 'svc_0123456789' };

describe('the program', () => {
  it('shows help and version on stdout', async () => {
    const help = await signalhouse(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('signalhouse sync') });
    // As a process it prints what the build has prepared.
    expect(execFileSync(process.execPath, [program, '-h'], { encoding: 'utf8' })).toBe(help.stdout);
    expect((await signalhouse(['--help', '--json'])).stdout).toBe(help.stdout);
    expect(await signalhouse(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+ \([\da-f]{12}\)\n$/),
    });
  });

  it('ends with exit 2 when it is misunderstood: text on stderr, or one JSON document on stdout', async () => {
    const [text, json] = [await signalhouse(['snyc']), await signalhouse(['snyc', '--json'])];
    expect(text).toEqual({
      code: 2,
      signal: null,
      stdout: '',
      stderr: "signalhouse: There is no command 'snyc'.\nDid you mean sync? See signalhouse --help.\n",
    });
    expect({ code: json.code, stderr: json.stderr }).toEqual({ code: 2, stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({
      error: {
        name: 'UsageError',
        message: "There is no command 'snyc'.",
        hint: 'Did you mean sync? See signalhouse --help.',
        problems: [],
        exitCode: 2,
      },
    });
  });

  it('says in a sentence that its result does not fit where stdout leads to', () => {
    const command = `"$0" "$1" --help > /dev/full`;
    const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath, program], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'signalhouse: the result cannot be printed: ENOSPC: no space left on device, write\n',
    });
  });

  it('makes no warehouse where it is asked to rebuild one', async () => {
    const cwd = testFolder();
    const { code, stderr } = await signalhouse(['rebuild'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('there is no warehouse');
    expect(stderr).toContain('signalhouse sync');
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });
});

describe('settings', () => {
  it('that are missing are named all at once', async () => {
    const { code, stdout, stderr } = await signalhouse(['sync'], { cwd: testFolder() });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('SIGNALHOUSE_BASE_URL: is required');
    expect(stderr).toContain('SIGNALHOUSE_API_KEY: is required');
  });

  it('in force are printed with where each comes from, without the key or a password', async () => {
    const cwd = testFolder();
    writeFileSync(join(cwd, 'my.yaml'), 'rateLimit: {requests: 5}\n');
    const env = { ...good, SIGNALHOUSE_BASE_URL: 'https://kim:hunter2@api.example.com/v1?key=hunter2' };
    const args = ['config', 'print', '--config', 'my.yaml', '--data-dir', 'there'];
    const { code, stdout } = await signalhouse(args, { cwd, env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/rateLimit\.requests +5 +my\.yaml/);
    expect(stdout).toMatch(/dataDir +\S+there +--data-dir/);
    expect(stdout).toMatch(/SIGNALHOUSE_API_KEY +SIGNALHOUSE_API_KEY/);
    const json = await signalhouse([...args, '--json'], { cwd, env });
    expect(JSON.parse(json.stdout).settings).toContainEqual({
      setting: 'api.baseUrl',
      value: 'https://***@api.example.com/v1?***',
      from: 'environment',
      source: 'SIGNALHOUSE_BASE_URL',
    });
    for (const text of [stdout, json.stdout])
      expect(text).not.toMatch(new RegExp(`${good.SIGNALHOUSE_API_KEY}|hunter2`));
  });
});
