import { afterEach, expect, it } from 'vitest';
import { hashPassword } from '../../../../src/base/password.js';
import type { AccessSettings, LoginAttempt } from '../../../../src/serve/http/login.js';
import { type RunningServer, startServer } from '../../../../src/serve/http/server.js';
import { SimulatedClock } from '../../../support/simulated-clock.js';
import { password, people, userOf, Visitor } from '../../../support/visiting.js';
import { serving } from '../serving.js';

let server: RunningServer | undefined;
let clock = new SimulatedClock();
afterEach(async () => {
  await server?.close();
  server = undefined;
  clock = new SimulatedClock();
});

/** What was told of logins. */
let logins: LoginAttempt[] = [];
afterEach(() => {
  logins = [];
});

/** The address of a server with these users; new settings replace the server, in the same process. */
async function servedTo(users: AccessSettings['users']): Promise<string> {
  await server?.close();
  const access = { users, proxies: ['127.0.0.1'], userHeader: null };
  const loggedIn = (login: LoginAttempt) => void logins.push(login);
  server = await startServer({ ...serving({ access, clock, loggedIn }), port: 0 });
  return server.url;
}

const isIn = async (visitor: Visitor) => (await visitor.ask('/runs')).status === 200;

it('new settings sign nobody out, and a form that is open can still be sent', async () => {
  const anna = await Visitor.of(await servedTo(people), 'anna');
  await anna.get('/runs');
  const { page } = anna;
  const later = anna.at(await servedTo(people.filter(({ name }) => name !== 'ben')));
  expect(await isIn(later)).toBe(true);
  later.page = page;
  await later.send('/logout', {});
  expect([later.path, await isIn(later)]).toEqual(['/login', false]);
});

it('who was removed, or has another password, is signed out by the new settings', async () => {
  const url = await servedTo(people);
  const [anna, ben, rita] = await Promise.all(['anna', 'ben', 'rita'].map((name) => Visitor.of(url, name)));
  const passwordHash = await hashPassword(`${password} again`);
  const now = await servedTo(
    people.flatMap((one) => (one.name === 'ben' ? [] : one.name === 'rita' ? { ...one, passwordHash } : one)),
  );
  expect(await Promise.all([anna, ben, rita].map((one) => one && isIn(one.at(now))))).toEqual([
    true,
    false,
    false,
  ]);
});

it('a session ends after 12 hours, however the clock is set meanwhile', async () => {
  const anna = await Visitor.of(await servedTo(people), 'anna');
  clock.wallAheadMs += 10 * 86_400_000;
  expect(await isIn(anna)).toBe(true);
  clock.wallAheadMs -= 20 * 86_400_000;
  clock.skip(11 * 3_600_000);
  expect(await isIn(anna)).toBe(true);
  clock.skip(3_600_001);
  expect(await isIn(anna)).toBe(false);
});

/** Logs in under a name from an address, as a proxy tells it; returns the status. */
async function tryFrom(url: string, address: string, name: string, given: string): Promise<number> {
  const visitor = new Visitor(url);
  await visitor.get('/login');
  const form = new FormData();
  const token = /name="token" value="([^"]*)"/.exec(visitor.page)?.[1] ?? '';
  for (const [field, value] of Object.entries({ token, name, password: given })) form.set(field, value);
  const headers = { 'x-forwarded-for': address };
  return (await visitor.ask('/login', { method: 'POST', body: form, headers })).status;
}

it('tells of each login, right or wrong, by name and address and without the password', async () => {
  const url = await servedTo(people);
  await tryFrom(url, '10.0.0.1', 'Anna', 'not the password');
  await tryFrom(url, '10.0.0.1', 'Anna', password);
  await tryFrom(url, '10.0.0.2', `no\nbody${'x'.repeat(200)}`, 'a guess');
  expect(logins).toEqual([
    { name: 'Anna', address: '10.0.0.1', outcome: 'failed' },
    { name: 'Anna', address: '10.0.0.1', outcome: 'done' },
    { name: `nobody${'x'.repeat(94)}`, address: '10.0.0.2', outcome: 'failed' },
  ]);
});

it('guesses are limited by name from any address, and by address under any name, before a password is checked', async () => {
  // A password of an unknown name takes as long to check as one that the program made.
  const others = Array.from({ length: 22 }, (_, at) => userOf(`guess ${at}`));
  const url = await servedTo([...people, ...others]);
  for (let at = 0; at < 5; at += 1) await tryFrom(url, `10.0.1.${at}`, 'anna', 'a guess');
  expect(await tryFrom(url, '10.0.1.99', ' ANNA', password)).toBe(429);
  expect(await tryFrom(url, '10.0.1.99', 'ben', password)).toBe(303);
  const checked = logins.length;
  const statuses: number[] = [];
  for (let at = 0; at < 22; at += 1) statuses.push(await tryFrom(url, '10.0.2.1', `guess ${at}`, 'a guess'));
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  expect(logins).toHaveLength(checked + 20);
  expect(await tryFrom(url, '10.0.2.2', 'rita', password)).toBe(303);
});
