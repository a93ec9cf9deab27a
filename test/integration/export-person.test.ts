import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { PersonFile, PersonReport } from '../../src/app/export-person.js';
import type { ForgetReport } from '../../src/app/forget.js';
import { Journal } from '../../src/base/journal.js';
import { busiestPerson, stringsOfPerson } from '../support/personal-strings.js';
import { town, townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

/** `export --person`: what a person is shown who asks what is held. */

const { sandbox, pulling } = await townOfFile({ sizes: town });
const person = busiestPerson(sandbox.world);
const dir = join(testFolder(), 'request');
let report: PersonReport;
/** What the audit got, before another command moves it into the warehouse. */
let recorded: { details: { file: string } }[];

const files = (folder: string) =>
  ['data.json', 'index.html'].map((name) => readFileSync(join(folder, name), 'utf8'));

beforeAll(async () => {
  mkdirSync(join(pulling.dataDir, 'reports'), { recursive: true });
  const name = sandbox.world.people.get(person)?.displayName ?? '';
  writeFileSync(join(pulling.dataDir, 'reports', 'list.csv'), `name\n${name}\n`);
  await pulling.json(['export', 'people', '--out', join(testFolder(), 'people.csv')]);
  await pulling.json(['export', 'channels', '--out', join(testFolder(), 'channels.csv')]);
  report = await pulling.json<PersonReport>(['export', '--person', person, '--out', dir]);
  recorded = new Journal(join(pulling.dataDir, 'audit.journal')).values();
});

it('shows every row that forget would change, and what the worker keeps of the person besides', async () => {
  const preview = await pulling.json<ForgetReport>(['forget', 'person', person, '--dry-run']);
  const data: PersonFile = JSON.parse(files(dir)[0] ?? '');
  expect(report).toMatchObject({ outcome: 'written', held: preview.rows });
  expect(Object.fromEntries(Object.entries(data.tables).map(([name, rows]) => [name, rows.length]))).toEqual(
    preview.rows,
  );
  expect(data.files).toEqual(preview.files);
  expect(data.files).toContain('reports/list.csv');
  expect(data.exports.map(({ details }) => (details as { tables: string[] }).tables)).toEqual([['people']]);
  const authorIds: readonly string[] = sandbox.world.people.get(person)?.authorIds ?? [];
  const own = data.tables.messages?.filter(({ isOwn }) => isOwn) ?? [];
  const theirs = [...sandbox.world.messages.values()].filter(({ authorId }) => authorIds.includes(authorId));
  expect(own.map(({ values }) => values.id).sort()).toEqual(theirs.map(({ id }) => id).sort());
  expect(Object.keys(data.kept)).toContain('group_people');
});

it('has everything that the service knows of the person alone, and nothing of anybody else', () => {
  const [data = '', page = ''] = files(dir);
  const plain = JSON.stringify(JSON.parse(data));
  const missing = stringsOfPerson(sandbox.world, person).filter(
    (one) => !plain.includes(JSON.stringify(one).slice(1, -1)),
  );
  expect(missing).toEqual([]);
  const readable = page
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
  const others = [...sandbox.world.people.keys()].filter((id) => id !== person);
  for (const id of others) {
    const leaked = stringsOfPerson(sandbox.world, id).filter(
      (one) => plain.includes(JSON.stringify(one).slice(1, -1)) || readable.includes(one),
    );
    expect({ id, leaked }).toEqual({ id, leaked: [] });
  }
  for (const { why } of report.leftOut) expect(why).not.toBe('');
});

it('is private, complete in itself and recorded', async () => {
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of ['data.json', 'index.html']) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  const [, page = ''] = files(dir);
  // No script, and nothing is loaded.
  expect(page.match(/default-src &#39;none&#39;|<script|src=|href="http/g)).toEqual([
    'default-src &#39;none&#39;',
  ]);
  expect(recorded.map(({ details }) => details.file)).toContain(dir);
});

it('takes an e-mail address as well; writes nothing where nothing is held, or into a folder that has something', async () => {
  const email = sandbox.world.people.get(person)?.primaryEmail ?? '';
  const again = join(testFolder(), 'again');
  expect(await pulling.json(['export', '--person', email, '--out', again])).toMatchObject({
    held: report.held,
    ids: report.ids,
  });
  const none = join(testFolder(), 'none');
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
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('is not empty') });
});
