import { describe, expect, it } from 'vitest';
import { isLoopback } from '../../../src/base/loopback.js';
import { apiKeyProblem, baseUrlProblem } from '../../../src/config/credentials.js';

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
  expect(['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', 'api.localhost'].every(isLoopback)).toBe(
    true,
  );
  expect(
    ['128.0.0.1', '0.0.0.0', 'example.com', '127.0.0.1.example.com', 'notlocalhost'].some(isLoopback),
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
