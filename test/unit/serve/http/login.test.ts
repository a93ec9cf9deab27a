import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/base/log.js';
import { sheetsOf } from '../../../../src/commands/serve/sheets.js';
import { loadConfig } from '../../../../src/config/load.js';
import type { AccessSettings, LoginAttempt } from '../../../../src/serve/http/login.js';
import { type RunningServer, startServer } from '../../../../src/serve/http/server.js';
import type { SheetFile, Sheets } from '../../../../src/serve/http/sheets.js';
import { SimulatedClock } from '../../../support/simulated-clock.js';
import { testFolder } from '../../../support/test-folders.js';
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

/** The address of a server with these users. */
async function servedTo(users: AccessSettings['users'], sheets?: Sheets): Promise<string> {
  const access = { users, proxies: ['127.0.0.1'], userHeader: null };
  const loggedIn = (login: LoginAttempt) => void logins.push(login);
  server = await startServer({ ...serving({ access, clock, loggedIn, sheets }), port: 0 });
  return server.url;
}

const isIn = async (visitor: Visitor) => (await visitor.ask('/runs')).status === 200;

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

describe('a sheet that is sent after the session has ended', () => {
  const dataDir = testFolder();
  const imports = join(dataDir, 'imports');
  const kept = () => (existsSync(imports) ? readdirSync(imports) : []);
  const uploaded: (SheetFile & { by: string })[] = [];
  const stop = new AbortController();

  async function served(): Promise<string> {
    const flags = [{ path: 'dataDir', flag: '--data-dir', value: dataDir }];
    const setup = { config: loadConfig({ env: {}, flags }), log: silentLog, programVersion: '1', clock };
    const schedule = { exclusively: async <T>(_: string, work: () => Promise<T>) => work() };
    const sheets: Sheets = {
      ...sheetsOf(setup, schedule, stop.signal),
      upload: async ({ name, bytes }, { name: by }) => {
        uploaded.push({ name, bytes: Buffer.from(bytes), by });
        return 'made';
      },
      look: async () => null,
    };
    return servedTo(people, sheets);
  }

  /** Opens the page for sheets, and sends a file 13 hours later. */
  async function late(url: string, name: string, text: string): Promise<Visitor> {
    const visitor = await Visitor.of(url, name);
    await visitor.get('/sheets');
    clock.skip(13 * 3_600_000);
    await visitor.send('/sheets', {}, { name: 'topics.csv', bytes: Buffer.from(text) });
    return visitor;
  }

  it('is kept, and goes on after the login', async () => {
    const anna = await late(await served(), 'anna', 'id\n1\n');
    expect(anna.page).toContain('Your session ended');
    expect(anna.page).toContain('your file is kept');
    expect(kept()).toHaveLength(1);
    const next = new URL(anna.path, 'http://localhost').searchParams.get('next') ?? '';
    await anna.send('/login', { name: 'anna', password, next });
    expect(anna.path).toBe('/sheets/made');
    expect(uploaded.splice(0)).toEqual([{ name: 'topics.csv', bytes: Buffer.from('id\n1\n'), by: 'anna' }]);
    expect(kept()).toEqual([]);
    await anna.get('/sheets/kept');
    expect(anna.page).toContain('not kept any more');
  });

  it('is kept for an hour, one for each person, and for no other', async () => {
    const url = await served();
    const anna = await late(url, 'anna', 'first');
    await anna.logIn('anna', password, '/runs');
    await late(url, 'anna', 'second');
    expect(kept()).toHaveLength(1);
    const ben = await Visitor.of(url, 'ben');
    await ben.get('/sheets/kept');
    expect([ben.page.includes('not kept any more'), uploaded]).toEqual([true, []]);
    await clock.run(clock.sleep(3_600_001));
    expect(kept()).toEqual([]);
    await anna.logIn('anna', password, '/sheets/kept');
    expect([anna.page.includes('not kept any more'), uploaded]).toEqual([true, []]);
  });

  it('is not kept for those who may only read, without the token of a form, or without a session', async () => {
    const url = await served();
    const rita = await late(url, 'rita', 'x');
    expect(rita.page).toContain('Your session ended. Log in again.');
    const form = new FormData();
    form.set('file', new Blob(['x']), 'topics.csv');
    const anna = await Visitor.of(url, 'anna');
    clock.skip(13 * 3_600_000);
    expect((await anna.ask('/sheets', { method: 'POST', body: form })).status).toBe(403);
    expect((await new Visitor(url).ask('/sheets', { method: 'POST', body: form })).status).toBe(303);
    expect(kept()).toEqual([]);
  });

  it('is removed when serve ends', async () => {
    await late(await served(), 'anna', 'x');
    stop.abort();
    await new Promise(setImmediate);
    expect(kept()).toEqual([]);
  });
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
