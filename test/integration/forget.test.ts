import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ForgetReport } from '../../src/commands/forget.js';
import { killedAt } from '../support/killed-at.js';
import {
  busiestPerson,
  countsOf,
  placesOf,
  stringsOfCompany,
  stringsOfPerson,
} from '../support/personal-strings.js';
import { Pulling, townOfFile } from '../support/pulling.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/forget.js'));

const { sandbox } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 10, people: 16, companies: 4, messages: 120, stories: 4, channels: 2 },
});

/** Runs a command, and expects it to succeed. */
async function done(pulling: Pulling, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await pulling.run(args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

const person = () => {
  const id = busiestPerson(sandbox.world);
  return { id, strings: stringsOfPerson(sandbox.world, id) };
};
/** What the audit says of what was forgotten. */
const recorded = (of: Pulling) =>
  of.rows("SELECT entity_type, entity_id, entities, reason, outcome FROM audit WHERE action = 'forget'");

// Of a person, the simulation and the kill below say the same; each kind has unit tests of what it is made of.
it('a company that was forgotten is in no byte of any file, and does not come back', async () => {
  const pulling = await Pulling.filled(sandbox);
  const { dataDir } = pulling;
  const employees = (of: string) =>
    [...sandbox.world.people.values()].filter(({ companyId }) => companyId === of).length;
  const [{ id } = { id: '' }] = [...sandbox.world.companies.values()]
    .filter(({ isOrgCompany }) => !isOrgCompany)
    .sort((a, b) => employees(b.id) - employees(a.id));
  const strings = stringsOfCompany(sandbox.world, id);
  const weekly = join(dataDir, 'reports', 'weekly');
  mkdirSync(weekly, { recursive: true });
  mkdirSync(join(dataDir, 'inbox', 'done'), { recursive: true });
  writeFileSync(join(weekly, 'report.html'), `<p>${strings[0]}</p>`);
  writeFileSync(join(weekly, 'other.html'), '<p>Nobody</p>');
  writeFileSync(join(dataDir, 'inbox', 'done', 'topics.csv'), `id,note\n1,"${strings[0]}"\n`);
  await done(pulling, 'export', 'topic_people', '--out', join(weekly, 'people.xlsx'));
  // An export into the data directory is not deleted, but named.
  writeFileSync(join(dataDir, 'mine.csv'), `id\n${strings[0]}\n`);
  const found = await placesOf(dataDir, strings);
  expect(strings.filter((one) => !found.some((place) => place.endsWith(`: ${one}`)))).toEqual([]);
  const counts = await countsOf(dataDir);

  const asked = await pulling.run(['forget', 'company', id]);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  const args = ['forget', 'company', id, '--yes', '--reason', 'request 17'];
  const report = await pulling.json<ForgetReport>(args);
  expect(report).toMatchObject({ outcome: 'forgotten', pending: [] });
  expect(report.notReached).toContainEqual(expect.stringMatching(/^mine\.csv in the data directory/));
  rmSync(join(dataDir, 'mine.csv'));
  expect(await placesOf(dataDir, strings)).toEqual([]);
  expect(await countsOf(dataDir)).toEqual(counts);
  expect(existsSync(join(weekly, 'other.html'))).toBe(true);
  expect(await recorded(pulling)).toMatchObject([
    { entity_type: 'company', reason: 'request 17', outcome: 'done', entity_id: null },
  ]);

  // Everything is returned again, read again and computed again, also from the snapshot.
  await pulling.age();
  rmSync(join(dataDir, 'worker.duckdb'));
  await done(pulling, 'sync');
  expect(await placesOf(dataDir, strings)).toEqual([]);
  expect(await countsOf(dataDir)).toEqual(counts);
});

it('a forget that is killed is completed by the next command, and nothing is brought back, also from the old snapshot', async () => {
  const pulling = await Pulling.filled(sandbox);
  const { dataDir } = pulling;
  const { id, strings } = person();
  const counts = await countsOf(dataDir);
  const at = killedAt({ call: 'renameSync', match: 'signals.duckdb$', when: 'before' });
  const { signal } = await pulling.start(['forget', 'person', id, '--yes'], at).ended;
  expect(signal).toBe('SIGKILL');
  for (const name of ['worker.duckdb', 'worker.duckdb.wal']) rmSync(join(dataDir, name), { force: true });
  await done(pulling, 'sync');
  expect(await placesOf(dataDir, strings)).toEqual([]);
  expect(await countsOf(dataDir)).toEqual(counts);
  expect(await recorded(pulling)).toMatchObject([{ outcome: 'done', entities: 1 }]);
});

it('says of what nothing is held', async () => {
  const pulling = await Pulling.filled(sandbox);
  const report = await pulling.json(['forget', 'person', '1234567890', '--yes'], 1);
  expect(report).toMatchObject({ outcome: 'nothing_held', unknown: ['1234567890'] });
});

it('says that a lake cannot be reached, and keeps it to do', async () => {
  const pulling = await Pulling.filled(sandbox);
  pulling.set({ lake: { catalog: 'http://127.0.0.1:9/iceberg', warehouse: 'signals' } });
  const { id } = person();
  const { code, stdout } = await pulling.run(['forget', 'person', id, '--yes', '--json']);
  expect([code, JSON.parse(stdout)]).toMatchObject([3, { outcome: 'forgotten', pending: ['lake'] }]);
  // Another command does not take it for done.
  await done(pulling, 'rebuild');
  expect(await recorded(pulling)).toMatchObject([{ outcome: 'still to do: lake' }]);
});
