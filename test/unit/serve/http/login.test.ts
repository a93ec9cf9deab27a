import { afterEach, beforeAll, expect, it } from 'vitest';
import { hashPassword } from '../../../../src/base/password.js';
import type { AccessSettings } from '../../../../src/serve/http/login.js';
import { type RunningServer, startServer } from '../../../../src/serve/http/server.js';
import { SimulatedClock } from '../../../support/simulated-clock.js';
import { password, people, Visitor } from '../../../support/visiting.js';
import { serving } from '../serving.js';

type Users = AccessSettings['users'];
let users: Users;
beforeAll(async () => {
  users = await people();
});

let server: RunningServer | undefined;
let clock = new SimulatedClock();
afterEach(async () => {
  await server?.close();
  server = undefined;
  clock = new SimulatedClock();
});

/** The address of a server with these users; new settings replace the server, in the same process. */
async function servedTo(some: Users): Promise<string> {
  await server?.close();
  const access = { users: some, proxies: [], userHeader: null };
  server = await startServer({ ...serving({ access, clock }), port: 0 });
  return server.url;
}

const isIn = async (visitor: Visitor) => (await visitor.ask('/runs')).status === 200;

it('new settings sign nobody out, and a form that is open can still be sent', async () => {
  const anna = await Visitor.of(await servedTo(users), 'anna');
  await anna.get('/runs');
  const { page } = anna;
  const later = anna.at(await servedTo(users.filter(({ name }) => name !== 'ben')));
  expect(await isIn(later)).toBe(true);
  later.page = page;
  await later.send('/logout', {});
  expect([later.path, await isIn(later)]).toEqual(['/login', false]);
});

it('who was removed, or has another password, is signed out by the new settings', async () => {
  const url = await servedTo(users);
  const [anna, ben, rita] = await Promise.all(['anna', 'ben', 'rita'].map((name) => Visitor.of(url, name)));
  const passwordHash = await hashPassword(`${password} again`);
  const now = await servedTo(
    users.flatMap((one) => (one.name === 'ben' ? [] : one.name === 'rita' ? { ...one, passwordHash } : one)),
  );
  expect(await Promise.all([anna, ben, rita].map((one) => one && isIn(one.at(now))))).toEqual([
    true,
    false,
    false,
  ]);
});

it('a session ends after 12 hours, however the clock is set meanwhile', async () => {
  const anna = await Visitor.of(await servedTo(users), 'anna');
  clock.wallAheadMs += 10 * 86_400_000;
  expect(await isIn(anna)).toBe(true);
  clock.wallAheadMs -= 20 * 86_400_000;
  clock.skip(11 * 3_600_000);
  expect(await isIn(anna)).toBe(true);
  clock.skip(3_600_001);
  expect(await isIn(anna)).toBe(false);
});
