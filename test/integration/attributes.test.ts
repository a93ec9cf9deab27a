import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { read } from '../support/published.js';
import { Pulling, townOfFile } from '../support/pulling.js';

const { sandbox } = await townOfFile({ holds: 'nothing' });

/** What the API itself says takes part in a topic. */
async function companiesOf(topicId: string): Promise<string[]> {
  const answer = await fetch(`${sandbox.baseUrl}/topics/${topicId}/people`, {
    headers: { authorization: `Bearer ${sandbox.apiKey}` },
  });
  const { data } = (await answer.json()) as { data: { isBot: boolean; company: { id: string } | null }[] };
  const ours = [...sandbox.world.companies.values()].filter(({ isOrgCompany }) => isOrgCompany);
  const ids = data.flatMap(({ isBot, company }) => (isBot || company === null ? [] : [company.id]));
  return [...new Set(ids)].filter((id) => ours.every((one) => one.id !== id));
}

test('what a file says of companies is in the views, in sheets and their conditions, and goes when the file goes', async () => {
  const pulling = await Pulling.filled(sandbox);
  const known = [...sandbox.world.companies.values()];
  const revenue = new Map(known.map(({ id }, at) => [id, 1_000 * (at + 1)]));
  mkdirSync(join(pulling.dataDir, 'attributes'));
  const file = join(pulling.dataDir, 'attributes', 'companies.csv');
  const lines = known.map(({ id, primaryDomain }, at) =>
    at % 2 && primaryDomain
      ? `,${primaryDomain.toUpperCase()},${revenue.get(id)},pro`
      : `${id},,${revenue.get(id)},pro`,
  );
  const [one, other] = known.filter(({ primaryDomain }) => primaryDomain !== null);
  const odd = ['nobody,,5,pro', `${one?.id},${other?.primaryDomain},5,pro`];
  writeFileSync(file, ['company_id,domain,revenue,plan', ...lines, ...odd].join('\n'));
  const summary = await pulling.run(['sync', '--only', 'channels']);
  expect(summary.stdout.replaceAll(/\s+/g, ' ')).toContain(
    `attributes/companies.csv: row ${known.length + 2}: no company has the id nobody; row ${known.length + 3}: names two companies: ${other?.primaryDomain} is the domain of ${other?.id}, not of ${one?.id}`,
  );
  const topics = await pulling.rows<{ topic_id: string; revenue: number | null }>(
    'SELECT topic_id, revenue FROM backlog',
  );
  expect(topics.length).toBeGreaterThan(5);
  for (const { topic_id: id, revenue: sum } of topics) {
    const companies = await companiesOf(id);
    const expected = companies.reduce((all, one) => all + (revenue.get(one) ?? 0), 0);
    expect([id, sum ?? 0]).toEqual([id, expected]);
  }

  const out = join(pulling.dataDir, 'rich.csv');
  const most = Math.max(...topics.map(({ revenue: sum }) => sum ?? 0));
  const sheet = await pulling.run([
    'changes',
    'sheet',
    '--where',
    `revenue >= ${most} AND id IN (SELECT topic_id FROM backlog)`,
    '--out',
    out,
  ]);
  expect(sheet).toMatchObject({ code: 0, stderr: '' });
  const [header = '', ...rows] = readFileSync(out, 'utf8').trim().split('\n');
  expect(header).toContain(',revenue,');
  expect(rows).toHaveLength(topics.filter(({ revenue: sum }) => sum === most).length);

  // A company that is forgotten is unknown from then on, whatever the file says; the file is the user's to edit.
  const gone = known.find(({ isOrgCompany }) => !isOrgCompany)?.id ?? '';
  const forgot = await pulling.run(['forget', 'company', gone, '--yes', '--reason', 'asked']);
  expect([forgot.code, forgot.stdout]).toEqual([
    0,
    expect.stringContaining('inbox/, attributes/ and views/'),
  ]);
  await read(pulling.dataDir, async ({ rows: of }) => {
    expect(await of(`SELECT 1 FROM attributes.companies WHERE company_id = '${gone}'`)).toEqual([]);
    expect(await of('SELECT count(*)::INTEGER AS n FROM attributes.companies')).toEqual([
      { n: known.length - 1 },
    ]);
  });

  writeFileSync(file, `company_id,name,open_topics\n${known.at(-1)?.id},for me,5`);
  const taken = await pulling.run(['sync', '--only', 'channels']);
  expect(taken.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'companies.csv: the column open_topics is not in company_health: company_health has',
  );
  expect(taken.stdout).not.toContain('column name');

  writeFileSync(file, 'name\n');
  expect((await pulling.run(['sync', '--only', 'channels'])).code).toBe(0);
  await read(pulling.dataDir, async ({ columns }) => {
    expect(await columns('backlog')).not.toContain('revenue');
  });
});
