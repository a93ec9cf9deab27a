import { describe, expect, it } from 'vitest';
import { importingOfFile, syncedAt } from './support.js';

const importing = importingOfFile(async (warehouse) => {
  const at = `TIMESTAMPTZ '${syncedAt}'`;
  await warehouse.run(
    `INSERT INTO topics BY NAME SELECT unnest(['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 's1', 's2']) AS id,
       unnest(['=SUM of all' || chr(10) || 'fails', 'Übergröße “café”', 'Ошибка при входе 12', '007', '😀', repeat('long ', 8000), 'C++ client', 'C# client']) AS title,
       'low' AS priority, 'open' AS lifecycle_state, ${at} AS synced_at`,
  );
  await warehouse.run(
    `INSERT INTO topic_versions BY NAME SELECT 't1' AS topic_id, 'First title' AS title, ${at} AS valid_from`,
  );
  await warehouse.run(
    `INSERT INTO history BY NAME SELECT 'h1' AS id, 'topic' AS entity_type, 't2' AS entity_id, 'UPDATE' AS operation,
       '{"title": "Second title", "x": {"title": 1}}'::JSON AS previous_values, ${at} AS changed_at`,
  );
  await warehouse.run(
    `INSERT INTO company_versions BY NAME SELECT '1' AS company_id, 'Acme Ltd' AS name, ${at} AS valid_from`,
  );
});

const problemsOf = async (text: string) =>
  (await importing.prepare(text)).problems.map(
    ({ row, column, value, problem }) => `${row} ${column} "${value}" ${problem}`,
  );

describe('a row whose title is not that of its id', () => {
  it('is refused with the title that its id has, and the other rows count with --skip-invalid', async () => {
    const text = 'topic_id,title,priority\nt1,Topic 2,high\nt2,Topic 2,low\n';
    expect(await problemsOf(text)).toEqual([
      '2 title "Topic 2" is not the title of this id, which is "Topic 1": put each id back beside its title, or delete the row',
    ]);
    expect(await importing.outcomes(text)).toEqual(['invalid', 'not_queued']);
    expect(await importing.outcomes(text, true)).toEqual(['invalid', 'queued']);
  });

  it.each([
    ['title', 'topic_id'],
    ['TITLE', 'Topic ID'],
    ['Title', 'id'],
  ])('is found by the column %s', async (title, id) => {
    expect(await problemsOf(`${id},${title},priority\nt1,Topic 2,high\n`)).toHaveLength(1);
  });

  it('is found where titles differ in signs alone, or have no letters', async () => {
    const titled = (rows: string) => problemsOf(`topic_id,title,priority\n${rows}\n`);
    expect(await titled('s1,C# client,high\ns2,C++ client,low')).toHaveLength(2);
    expect(await titled('p5,Topic 1,high\nt1,😀,low')).toHaveLength(2);
    expect(await titled('s1,C++  client,high\ns2,c# client,low')).toEqual([]);
  });
});

describe('several such rows', () => {
  const shifted =
    'topic_id,title,priority\nt1,Topic 2,high\nt2,Topic 3,high\nt3,Topic 1,high\nt4,Topic 4,high\n';

  it('refuse the whole file, whichever rows are skipped', async () => {
    for (const skipInvalid of [false, true]) {
      const report = await importing.run(shifted, skipInvalid);
      expect(report).toMatchObject({ outcome: 'refused', queued: [], exitCode: 3 });
      expect(report.refusal).toMatch(/^3 rows have a title that is not that of their id, as after sorting/);
      expect(report.rows.map(({ outcome }) => outcome)).toEqual([...Array(3).fill('invalid'), 'not_queued']);
      expect(report.rows[3]?.text).toBe(`${report.refusal}.`);
      expect(importing.queue.all()).toEqual([]);
    }
  });

  it('count with --ignore-titles', async () => {
    const prepared = await importing.prepare(shifted, false, { ignoreTitles: true });
    expect(prepared).toMatchObject({ problems: [], refusal: null });
    expect(prepared.newChanges).toHaveLength(4);
  });

  it('of companies are found by the name when the sheet was written', async () => {
    const text = 'company_id,name,is_vip,base_name,base_is_vip\n1,Beta,no,Beta,yes\n2,Acme,yes,Acme,no\n';
    expect(await problemsOf(text)).toEqual([
      '2 base_name "Beta" is not the name of this id, which is "Acme": put each id back beside its name, or delete the row',
      '3 base_name "Acme" is not the name of this id, which is "Beta": put each id back beside its name, or delete the row',
    ]);
  });

  it('of companies are found by names that went to other rows, with or without their base', async () => {
    for (const text of [
      'company_id,name,is_vip\n1,Beta,yes\n2,ACME ,no\n',
      'company_id,name,base_name\n1,Beta,Acme\n2,Acme,Beta\n',
    ])
      expect(await problemsOf(text)).toHaveLength(2);
    // Other names are what somebody wants, and so is the name of another company for one.
    expect(await problemsOf('company_id,name\n1,Acme Corp\n2,Beta Corp\n')).toEqual([]);
    expect(await problemsOf('company_id,name\n1,Beta\n2,Beta\n')).toEqual([]);
  });
});

it.each([
  ['when it was that once, as the sync saw it', 't1,First title'],
  ['when it was that once, as the history says', 't2,"second  Title "'],
  ['when it is empty', 't1,'],
  ['as a CSV file protects it', 'p1,"\'=sum of all fails"'],
  ['in another form of Unicode', `p2,${'Übergröße “café”'.normalize('NFD')}`],
  ['where it was the result of a formula', 'p1,#NAME?'],
  ['when it was cut to the length of a cell', `p6,${'long '.repeat(6553)}…`],
  ['when the warehouse has none', 'filed,anything'],
])('a title is that of its id %s', async (_, cells) => {
  const { problems } = await importing.prepare(`topic_id,title,priority\n${cells},high\n`);
  expect(problems).toEqual([]);
});
