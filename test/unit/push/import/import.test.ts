import { describe, expect, it } from 'vitest';
import { fromSheet } from '../../../../src/push/import/source.js';
import { textRow, workbook } from '../../sheet/support.js';
import { importingOfFile, syncedAt } from './support.js';

const importing = importingOfFile();

/** The problems of a list, as `row column value problem`. */
async function problemsOf(text: string): Promise<string[]> {
  const { problems } = await importing.prepare(text);
  return problems.map((one) => `${one.row} ${one.column} ${one.value} ${one.problem}`);
}

const based =
  'topic_id,priority,archived,archived_reason,base_priority,base_archived,base_archived_reason,base_updated_at';

describe('a list without base columns', () => {
  it('is compared with the warehouse: only what differs is queued', async () => {
    const report = await importing.run('topic_id,priority\nt1,High\nt2,default\nt3,\n');
    expect(report).toMatchObject({ outcome: 'queued', exitCode: 0, problems: [] });
    expect(report.rows).toEqual([
      { row: 2, outcome: 'queued', changeId: report.queued[0], text: null },
      { row: 3, outcome: 'unchanged', changeId: null, text: null },
      { row: 4, outcome: 'unchanged', changeId: null, text: null },
    ]);
    expect(importing.queue.all()).toMatchObject([
      {
        entityId: 't1',
        wanted: { priority: 'high' },
        base: { priority: 'default' },
        baseFrom: 'warehouse',
        baseAt: syncedAt,
        requestedBy: 'kim',
        source: 'list.csv',
        sourceHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        sourceRow: 2,
        importId: report.importId,
      },
    ]);
    expect(report.preview).toMatchObject({
      changes: 1,
      requests: 2,
      minutes: 2 / 120,
      base: { file: 0, warehouse: 1, oldest: syncedAt },
    });
  });

  it('leaves a value alone that equals the stored one, whatever it is', async () => {
    const list =
      'topic_id,priority,lifecycle_state,archived,archived_reason\nfiled,low,Unknown,TRUE,old\nt1,high,open,FALSE,\nkept,,,no,stale\n';
    await importing.warehouse.run(
      "INSERT INTO topics BY NAME SELECT 'kept' AS id, 'odd' AS priority, 'stale' AS archived_reason",
    );
    await importing.warehouse.run(
      `INSERT INTO raw.documents (endpoint, id, body, body_hash, fetched_at, run_id)
       VALUES ('topic', 'kept', '{"archivedAt": null}', '', now(), 'r1')`,
    );
    const report = await importing.run(list);
    expect(report.problems).toEqual([]);
    expect(report.rows.map(({ outcome }) => outcome)).toEqual(['unchanged', 'queued', 'unchanged']);
    expect(importing.queued).toEqual(['t1 {"priority":"high"} queued']);
    // Out of the archive, with the reason still in its cell.
    expect(await importing.outcomes('topic_id,archived,archived_reason\nfiled,no,old\n')).toEqual(['queued']);
    // The API may have values that nobody can set.
    expect(await importing.outcomes('topic_id,priority\nkept,Odd\n')).toEqual(['unchanged']);
    expect(await problemsOf('topic_id,lifecycle_state,priority\nt2,unknown,odd\n')).toHaveLength(2);
    await importing.warehouse.run("UPDATE companies SET logo_url = 'acme', name = ' Acme ' WHERE id = '1'");
    expect(await importing.outcomes('company_id,logo_url,name\n1,acme," Acme "\n')).toEqual(['unchanged']);
  });

  it('refuses an id that a program has rounded: it may be that of another company', async () => {
    const ids = ['9007199254740992', '9007199254740993'];
    await importing.warehouse.run(
      `INSERT INTO companies BY NAME SELECT unnest(['${ids.join("','")}']) AS id`,
    );
    const cell = (row: number, id: string) =>
      `<row r="${row}"><c r="A${row}"><v>${id}</v></c><c r="B${row}" t="b"><v>1</v></c></row>`;
    const rows = [textRow(1, 'company_id', 'is_vip'), cell(2, '9007199254740993'), cell(3, '1')].join('');
    const sheet = await fromSheet({ bytes: workbook({ rows }), name: 'companies.xlsx' });
    expect(await importing.outcomes(sheet, true)).toEqual(['invalid', 'queued']);
    expect(importing.queued).toEqual(['1 {"is_vip":true} queued']);
  });

  it('refuses text that no JSON can carry, and that row alone', async () => {
    const rows = [
      textRow(1, 'company_id', 'name', 'base_name'),
      textRow(2, '1', 'Acme_x0000_ Ltd', 'Acme'),
      textRow(3, '2_x0000_', 'Beta', 'b'),
      textRow(4, '1', 'Acme_xD800_', 'Acme'),
      textRow(5, '1', 'Acme', 'Ac_x0000_me'),
      textRow(6, '2', 'Better', 'Beta'),
    ];
    const sheet = await fromSheet({ bytes: workbook({ rows: rows.join('') }), name: 'companies.xlsx' });
    const { problems } = await importing.prepare(sheet);
    expect(problems.map(({ row, column, problem }) => `${row} ${column} ${problem}`)).toEqual([
      '2 name contains a character that cannot be stored (U+0000, character 5): delete it',
      '3 company_id contains a character that cannot be stored (U+0000, character 2): delete it',
      '4 name contains a character that cannot be stored (U+D800, character 5): delete it',
      '5 base_name contains a character that cannot be stored (U+0000, character 3): delete it',
    ]);
    expect(await importing.outcomes(sheet, true)).toEqual([...Array(4).fill('invalid'), 'queued']);
    expect(importing.queued).toEqual(['2 {"name":"Better"} queued']);
  });
});

describe('a sheet with base columns', () => {
  it('wants what differs from its base, and nothing else', async () => {
    const report = await importing.run(
      `${based}\nt1,low,FALSE,,default,FALSE,,2026-02-01T00:00:00Z\nt2,High ,FALSE,,high,FALSE,,\nnowhere,low,FALSE,,low,FALSE,,\n`,
    );
    expect(report.rows.map(({ outcome }) => outcome)).toEqual(['queued', 'unchanged', 'unchanged']);
    expect(importing.queue.all()).toMatchObject([
      { base: { priority: 'default' }, baseFrom: 'file', baseAt: '2026-02-01T00:00:00.000Z' },
    ]);
  });

  it('distinguishes an emptied cell from one that was empty', async () => {
    expect(
      await problemsOf(
        `${based}\nt1,,FALSE,,default,FALSE,,\nfiled,low,,old,low,TRUE,old,\nt2,low,,,low,FALSE,,\n`,
      ),
    ).toEqual([
      '2 priority null was emptied, but the API has no documented way to clear it: restore the old value, or set another one',
      '3 archived null was emptied: write FALSE to unset it',
    ]);
  });

  it('refuses a base column that was edited', async () => {
    expect(await problemsOf(`${based}\nt1,low,TRUE,,low,soon,,\n`)).toEqual([
      expect.stringMatching(/^2 base_archived soon was edited/),
    ]);
  });
});

describe('problems', () => {
  it('are all found at once, in the order of the file, and nothing is queued', async () => {
    const list =
      'topic_id,priority,lifecycle_state,archived,archived_reason\nt1,higg,unknown,perhaps,\nnope,low,,,\ngone,low,,,\nmerged,low,,,\nmigrated,low,,,\n,low,,,\nt2,,,,why\nt3,high,,,\nt3,low,,,\nt4,low,,,\n';
    expect(await problemsOf(list)).toEqual([
      expect.stringMatching(/^2 priority higg is not a priority/),
      expect.stringMatching(/^2 lifecycle_state unknown can only be set by the service/),
      expect.stringMatching(/^2 archived perhaps is neither/),
      expect.stringMatching(/^3 topic_id nope is not a known id/),
      '4 topic_id gone was deleted (spam): the API no longer has it',
      '5 topic_id merged was merged into Topic 1 (t1): change that topic instead',
      '6 topic_id migrated cannot be changed: the API answers 404 for it (archived_in_v1_to_v2_migration)',
      '7 topic_id null is empty: the id is missing',
      expect.stringMatching(/^8 archived_reason why is only used when archived is TRUE/),
      expect.stringMatching(/^9 priority high is not the same in all rows of this id/),
      expect.stringMatching(/^10 priority low is not the same in all rows of this id/),
    ]);
    const report = await importing.run(list);
    expect(report).toMatchObject({ outcome: 'refused', exitCode: 3, queued: [] });
    expect(report.rows.at(-1)).toMatchObject({ row: 11, outcome: 'not_queued' });
    expect(importing.queue.all()).toEqual([]);
  });

  it('of one row hold back the other rows of the same id', async () => {
    const list = 'topic_id,priority,archived_reason\nt1,high,\nt1,low,\nt1,high,\nt2,low,\nt2,,why\n';
    const { rows, problems } = await importing.run(list, true);
    expect(rows.map(({ outcome }) => outcome)).toEqual(Array(5).fill('invalid'));
    expect(new Set(problems.map(({ row }) => row))).toEqual(new Set([2, 3, 4, 6]));
  });
});

it('rows about the same id are one change when they agree or add up', async () => {
  const report = await importing.run('topic_id,priority,lifecycle_state\nt1,low,\nt1,Low,\nt1,,completed\n');
  expect(importing.queued).toEqual(['t1 {"priority":"low","lifecycle_state":"completed"} queued']);
  expect(new Set(report.rows.map(({ changeId }) => changeId))).toEqual(new Set(report.queued));
  expect(report.notes).toEqual(['Ids that occur in several rows, which make one change each: 1.']);
});

it('the same list again meets the conflict that it met before, until a sheet shows that the other value was seen', async () => {
  await importing.run('topic_id,priority\nt2,high\n');
  importing.settle('t2', 'conflict', { remoteBefore: { priority: 'very_high' } });
  await importing.warehouse.run(`UPDATE topics SET priority = 'very_high' WHERE id = 't2'`);
  expect(await importing.outcomes('id,priority\nt2,high\n')).toEqual(['conflict']);
  expect(await importing.outcomes('id,priority,base_priority\nt2,high,very_high\n')).toEqual(['queued']);
  await importing.warehouse.run(`UPDATE topics SET priority = 'default' WHERE id = 't2'`);
  expect(importing.queue.all()).toMatchObject([
    { status: 'superseded' },
    { wanted: { priority: 'high' }, base: { priority: 'very_high' } },
  ]);
});

it('a later change of the same person takes its fields out of one that waits', async () => {
  await importing.run('topic_id,priority,lifecycle_state\nt1,low,completed\n');
  await importing.run('topic_id,priority\nt1,high\n');
  expect(importing.queued).toEqual([
    't1 {"lifecycle_state":"completed"} queued',
    't1 {"priority":"high"} queued',
  ]);
  await importing.run('topic_id,priority,lifecycle_state\nt1,very_low,dismissed\n');
  expect(importing.queued).toEqual([
    't1 {"lifecycle_state":"completed"} superseded',
    't1 {"priority":"high"} superseded',
    't1 {"priority":"very_low","lifecycle_state":"dismissed"} queued',
  ]);
});

it('a row of a text file with more cells than columns is refused: a comma has moved what follows it', async () => {
  const list = 'topic_id,archived,archived_reason\nt1,TRUE,no customer, no revenue\nt2,TRUE,dup\n';
  const { rows, problems } = await importing.run(list, true);
  expect(rows.map(({ outcome }) => outcome)).toEqual(['invalid', 'queued']);
  expect(problems[0]).toMatchObject({ row: 2, column: null });
  expect(problems[0]?.problem).toMatch(/^has 1 cell more than the file has columns: put a text .* in quotes/);
});

it.each([
  ['an invisible character', 't\u200b1'],
  ['a hyphen that does not break', 'a\u2011b'],
  ['a formula that keeps it a text', '"=""t1"""'],
])('an id with %s is cleaned', async (_, id) => {
  await importing.warehouse.run(
    "INSERT INTO topics BY NAME SELECT 'a-b' AS id, 'low' AS priority WHERE NOT EXISTS (FROM topics WHERE id = 'a-b')",
  );
  expect(await importing.outcomes(`topic_id,priority\n${id},high\n`)).toEqual(['queued']);
});

it('what cannot be seen in a value is shown, and a value that cannot be set is told once for all its rows', async () => {
  const [unseen] = (await importing.prepare('topic_id,lifecycle_state\nt1,clo\u200bsing\n')).problems;
  expect(unseen?.value).toBe('clo<U+200B>sing');
  const list = 'topic_id,priority\nt1,done\nt2,hoch\nt3,hoch\nt4,P1\n';
  const { leftOut } = await importing.prepare(list);
  expect(leftOut.map(({ what, why }) => `${what}: ${why.replace(/ \(allowed.*/, '')}`)).toEqual([
    'Row 2, priority "done": is not a priority',
    'Rows 3, 4, priority "hoch": is not a priority; did you mean high?',
    'Row 5, priority "P1": is not a priority; did you mean high?',
  ]);
  const states = await importing.prepare('topic_id,lifecycle_state\nt1,closed\n');
  expect(states.problems[0]?.problem).toBe('is not a lifecycle_state; did you mean completed?');
});
