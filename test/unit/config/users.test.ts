import { expect, it } from 'vitest';
import { hashPassword } from '../../../src/base/password.js';
import { settings } from '../../../src/config/schema.js';

/** What is wrong with the settings of serve, by their paths. */
function problems(serve: object): string[] {
  const { error } = settings.safeParse({ serve });
  return (error?.issues ?? []).map(({ path }) => path.join('.'));
}

it('users have names of their own and a hash, and a header needs the proxies that may send it', async () => {
  const passwordHash = await hashPassword('correct horse battery');
  const anna = { name: 'anna', passwordHash };
  const userHeader = 'X-User';
  expect(problems({ users: [anna, { ...anna, name: 'ben', role: 'write' }] })).toEqual([]);
  expect(problems({ users: [anna, { ...anna, name: ' ANNA ' }] })).toEqual(['serve.users']);
  expect(problems({ users: [{ name: 'anna' }] })).toEqual(['serve.users']);
  expect(problems({ users: [{ name: 'anna', passwordHash: 'secret' }] })).toEqual([
    'serve.users.0.passwordHash',
  ]);
  expect(problems({ users: [{ ...anna, role: 'admin' }] })).toEqual(['serve.users.0.role']);
  expect(problems({ userHeader })).toEqual(['serve.proxies']);
  expect(problems({ userHeader, users: [{ name: 'anna' }], proxies: ['10.0.0.0/8', '::1'] })).toEqual([]);
  for (const proxy of ['10.0.0.256', '10.0.0.0/33', 'proxy.example.com'])
    expect(problems({ userHeader, proxies: [proxy] })).toEqual(['serve.proxies.0']);
});
