import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { Journal } from '../../src/base/journal.js';
import type { PersonFile, PersonReport } from '../../src/commands/export.js';
import type { ForgetReport } from '../../src/commands/forget.js';
import { busiestPerson, stringsOfPerson } from '../support/personal-strings.js';
import { town, townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

/** `export --person`: what a person is shown who asks what is held. */

const { sandbox, pulling } = await townOfFile({ sizes: town });
const person = busiestPerson(sandbox.world);
const path = join(testFolder(), 'request.json');
let report: PersonReport;
/** What the audit got, before another command moves it into the warehouse. */
let recorded: { details: { file: string } }[];

const written = (): PersonFile => JSON.parse(readFileSync(path, 'utf8'));

beforeAll(async () => {
  mkdirSync(join(pulling.dataDir, 'reports'), { recursive: true });
  const name = sandbox.world.people.get(person)?.displayName ?? '';
  writeFileSync(join(pulling.dataDir, 'reports', 'list.csv'), `name\n${name}\n`);
  await pulling.json(['export', 'people', '--out', join(testFolder(), 'people.csv')]);
  await pulling.json(['export', 'channels', '--out', join(testFolder(), 'channels.csv')]);
  report = await pulling.json<PersonReport>(['export', '--person', person, '--out', path]);
  recorded = new Journal(join(pulling.dataDir, 'audit.journal')).values();
});

it('shows the own rows of the person, and where forget would find something', async () => {
  const preview = await pulling.json<ForgetReport>(['forget', 'person', person, '--dry-run']);
  const data = written();
  expect(report).toMatchObject({ outcome: 'written', held: preview.rows });
  expect(data.files).toEqual(preview.files);
  expect(data.files).toContain('reports/list.csv');
  expect(data.exports.map(({ details }) => (details as { tables: string[] }).tables)).toEqual([['people']]);
  const authorIds: readonly string[] = sandbox.world.people.get(person)?.authorIds ?? [];
  const theirs = [...sandbox.world.messages.values()].filter(({ authorId }) => authorIds.includes(authorId));
  expect(data.tables.messages?.map(({ id }) => id).sort()).toEqual(theirs.map(({ id }) => id).sort());
  expect(Object.keys(data.tables)).toContain('group_people');
});

it('has everything that the service knows of the person alone, and nothing of anybody else', () => {
  const plain = JSON.stringify(written());
  const isThere = (one: string) => plain.includes(JSON.stringify(one).slice(1, -1));
  expect(stringsOfPerson(sandbox.world, person).filter((one) => !isThere(one))).toEqual([]);
  const others = [...sandbox.world.people.keys()].filter((id) => id !== person);
  for (const id of others) expect(stringsOfPerson(sandbox.world, id).filter(isThere)).toEqual([]);
});

it('is private and recorded', () => {
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(recorded.map(({ details }) => details.file)).toContain(path);
});

it('takes an e-mail address as well; writes nothing where nothing is held, or over a file', async () => {
  const email = sandbox.world.people.get(person)?.primaryEmail ?? '';
  const again = join(testFolder(), 'again.json');
  expect(await pulling.json(['export', '--person', email, '--out', again])).toMatchObject({
    held: report.held,
    ids: report.ids,
  });
  const none = join(testFolder(), 'none.json');
  expect(await pulling.json(['export', '--person', 'nobody', '--out', none], 1)).toMatchObject({
    outcome: 'nothing_held',
  });
  const name = sandbox.world.people.get(person)?.displayName ?? '';
  for (const args of [
    ['export', '--person', name, '--out', none],
    ['forget', 'person', name],
  ]) {
    const { code, stdout } = await pulling.run(args);
    expect([code, stdout.replaceAll(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining(
        `No person with the id or e-mail address ${name} is held. Names are not looked for.`,
      ),
    ]);
  }
  expect(existsSync(none)).toBe(false);
  const refused = await pulling.run(['export', '--person', person, '--out', again]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
});
