import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import { isLoopback } from '../../../src/base/loopback.js';
import { loadServeConfig } from '../../../src/config/load.js';
import { apiKeyProblem, baseUrlProblem } from '../../../src/config/secrets.js';
import { testFolder } from '../../support/test-folders.js';

const cwd = testFolder();
writeFileSync(join(cwd, 'token'), 'a-token-from-a-file\n');
writeFileSync(join(cwd, 'empty'), '\n');
writeFileSync(join(cwd, 'settings.yaml'), 'serve:\n  port: -1\n  jobs:\n    - name: x\n      cron: 5\n');

const reachable = { SIGNALHOUSE_BASE_URL: 'https://api.example.com/v1', SIGNALHOUSE_API_KEY: 'svc_key' };
const load = (env: Record<string, string>, check: Parameters<typeof loadServeConfig>[1] = () => []) =>
  loadServeConfig({ env: { ...reachable, ...env }, cwd }, check);

function problemsOf(work: () => unknown): unknown[] {
  try {
    work();
  } catch (error) {
    if (error instanceof UsageError) return error.problems.map(({ setting, problem }) => [setting, problem]);
    throw error;
  }
  return [];
}

describe('the secrets of serve', () => {
  it('come from the environment or from a file that it names, and are absent otherwise', () => {
    expect(load({}).secrets).toEqual({ token: undefined, webhookUrl: undefined });
    expect(
      load({ SIGNALHOUSE_SERVE_TOKEN: '', SIGNALHOUSE_SERVE_TOKEN_FILE: '' }).secrets.token,
    ).toBeUndefined();
    expect(load({ SIGNALHOUSE_SERVE_TOKEN_FILE: 'token' }).secrets.token).toBe('a-token-from-a-file');
    const both = { SIGNALHOUSE_SERVE_TOKEN: 'a-token-of-its-own', SIGNALHOUSE_SERVE_TOKEN_FILE: 'nowhere' };
    expect(load(both).secrets.token).toBe('a-token-of-its-own');
    expect(load({ SIGNALHOUSE_WEBHOOK_URL: ' https://hooks.example.com/x ' }).secrets.webhookUrl).toBe(
      'https://hooks.example.com/x',
    );
  });

  it('are read again from their files', () => {
    const hook = join(cwd, 'hook');
    writeFileSync(hook, 'https://hooks.example.com/one');
    const { readSecrets } = load({ SIGNALHOUSE_WEBHOOK_URL_FILE: 'hook', AWS_ACCESS_KEY_ID_FILE: 'hook' });
    writeFileSync(hook, 'https://hooks.example.com/two');
    expect(readSecrets()).toMatchObject({
      secrets: { webhookUrl: 'https://hooks.example.com/two' },
      lake: { keyId: 'https://hooks.example.com/two' },
    });
    rmSync(hook);
    expect(problemsOf(readSecrets)).toEqual([
      ['SIGNALHOUSE_WEBHOOK_URL_FILE', expect.stringContaining('ENOENT')],
      ['AWS_ACCESS_KEY_ID_FILE', expect.stringContaining('ENOENT')],
    ]);
  });

  it.each([
    [{ SIGNALHOUSE_SERVE_TOKEN: 'fifteen-letters' }, 'SIGNALHOUSE_SERVE_TOKEN', 'at least 16'],
    [{ SIGNALHOUSE_SERVE_TOKEN: 'with a space in the middle' }, 'SIGNALHOUSE_SERVE_TOKEN', 'white space'],
    [{ SIGNALHOUSE_SERVE_TOKEN_FILE: 'empty' }, 'SIGNALHOUSE_SERVE_TOKEN_FILE', 'empty'],
    [{ SIGNALHOUSE_WEBHOOK_URL_FILE: 'nowhere' }, 'SIGNALHOUSE_WEBHOOK_URL_FILE', 'ENOENT'],
  ])('%j is refused', (env, setting, problem) => {
    expect(problemsOf(() => load(env))).toEqual([[setting, expect.stringContaining(problem)]]);
  });

  it('what is wrong with them is told with everything else that is wrong, and never quotes one', () => {
    const env = {
      SIGNALHOUSE_API_KEY: '',
      SIGNALHOUSE_SERVE_TOKEN: 'short',
      SIGNALHOUSE_CONFIG: 'settings.yaml',
    };
    const problems = problemsOf(() => load(env));
    expect(problems.map((one) => (one as string[])[0])).toEqual([
      'settings.yaml: serve.port',
      'settings.yaml: serve.jobs[0].run',
      'settings.yaml: serve.jobs[0].cron',
      'SIGNALHOUSE_SERVE_TOKEN',
      'SIGNALHOUSE_API_KEY',
    ]);
    expect(JSON.stringify(problems)).not.toContain('"short"');
  });

  it('what the check finds is named as the user wrote it', () => {
    const check: Parameters<typeof loadServeConfig>[1] = ({ serve }, _secrets, named) => [
      { setting: named('serve.jobs[0].cron'), problem: `${serve.jobs[0]?.cron} is late` },
    ];
    expect(problemsOf(() => load({}, check))).toEqual([['serve.jobs[0].cron', '0 3 * * * is late']]);
  });
});

describe('the address of the API', () => {
  it.each([
    'https://api.example.com/v1',
    'https://api.example.com/v1/',
    'https://example.com/signals/v1',
    'http://127.0.0.1:4010/v1',
    'http://localhost:4010/v1',
    'http://[::1]:4010/v1',
    ' https://api.example.com/v1 ',
  ])('may be %s', (url) => {
    expect(baseUrlProblem(url)).toBeUndefined();
  });

  it.each([
    [undefined, 'required'],
    ['  ', 'required'],
    ['api.example.com/v1', 'absolute'],
    ['http://api.example.com/v1', 'loopback'],
    ['http://10.0.0.1/v1', 'loopback'],
    ['http://127.0.0.1.example.com/v1', 'loopback'],
    ['http://localhost.example.com/v1', 'loopback'],
    ['http://0.0.0.0/v1', 'loopback'],
    ['http://signals.localhost/v1', 'loopback'],
    ['ftp://example.com/v1', 'https, not ftp'],
    ['https://user:secret@example.com/v1', 'user name'],
    ['https://example.com/v1?key=1', 'query'],
    ['https://example.com/v1#x', 'fragment'],
    ['https://example.com/', '/v1'],
    ['https://example.com/v2', '/v1'],
    ['https://example.com/xv1', '/v1'],
  ])('may not be %s', (url, reason) => {
    expect(baseUrlProblem(url)).toContain(reason);
  });
});

it('loopback is what never leaves the machine', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', 'LOCALHOST'].every(isLoopback)).toBe(true);
  expect(
    [
      '128.0.0.1',
      '0.0.0.0',
      'example.com',
      '127.0.0.1.example.com',
      'notlocalhost',
      // DNS may resolve it to another machine.
      'api.localhost',
    ].some(isLoopback),
  ).toBe(false);
});

describe('a key', () => {
  it('may be any visible ASCII', () => {
    expect(apiKeyProblem('svc_aB3-._~+/=')).toBeUndefined();
  });

  it.each(['', 'svc with space', 'svc_line\nbreak', 'svc_ünicode', `svc_${'x'.repeat(5000)}`])(
    'is refused when a header could not hold it, and never quoted',
    (key) => {
      const problem = apiKeyProblem(key);
      expect(problem).toBeTypeOf('string');
      if (key !== '') expect(problem).not.toContain(key);
    },
  );
});
