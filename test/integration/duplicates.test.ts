import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSheet } from '../../src/sheet/read.js';
import { writeGrid } from '../../src/sheet/write.js';
import { townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/push/edit-sheet.js'));

const { sandbox, pulling } = await townOfFile({ sizes: { topics: 60, people: 40, messages: 400 } });
const cwd = testFolder();
pulling.cwd = cwd;

/** Four problems that were noticed twice. */
const live = [...sandbox.world.topics.values()].filter(
  ({ graphStatus, migrated, groupIds }) => graphStatus === 'active' && !migrated && groupIds.length > 0,
);
for (const at of [0, 2, 4, 6]) {
  const [one, other] = [live[at], live[at + 1]];
  if (one === undefined || other === undefined) throw new Error('The organization has too few topics.');
  const fields = { title: `${one.title}, once more`, summary: one.summary };
  sandbox.change({ kind: 'patchTopic', topicId: other.id, fields });
}
await pulling.sync();

const run = (...args: string[]) => pulling.run(args);
const ask = <T>(sql: string) => pulling.rows<T>(sql);

it('a pair is decided in a sheet, and the other topic is archived with a reason that names the one that stays', async () => {
  const made = await run('changes', 'sheet', '--duplicates', '--out', 'same.xlsx');
  expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('topics that are probably the same')]);
  const grid = await readSheet({ path: join(cwd, 'same.xlsx') });
  const at = (name: string) => grid.columns.indexOf(name);
  const rows = grid.rows.map((row, index) => {
    const cells = grid.columns.map((_, column) => row.cells[column] ?? null);
    if (index === 0) cells[at('keep')] = '2';
    return { ...row, cells };
  });
  const [first] = rows;
  const cell = (name: string) => String(first?.cells[at(name)]);
  await writeGrid(join(cwd, 'same.xlsx'), { ...grid, rows }, { overwrite: true });

  const imported = await run('changes', 'import', 'same.xlsx', '--yes', '--by', 'kim');
  expect([imported.code, imported.stderr]).toEqual([0, '']);
  const pushed = await run('push', '--result', 'done.csv');
  expect([pushed.code, pushed.stdout]).toEqual([0, expect.stringMatching(/applied\s+1\n/)]);

  const [loser, kept] = [cell('topic_id_1'), cell('topic_id_2')];
  expect(sandbox.world.topics.get(loser)).toMatchObject({
    graphStatus: 'archived',
    archivedReason: `Duplicate of ${cell('title_2')} (${kept})`,
  });
  expect(sandbox.world.topics.get(kept)?.archivedAt).toBeNull();
  const done = readFileSync(join(cwd, 'done.csv'), 'utf8').split('\r\n');
  expect(done[0]).toMatch(/^\uFEFFkeep,result,reason,title_1,title_2,score,reasons,/);
  expect(done[1]).toMatch(/^2,applied,/);
  expect(done[2]).toMatch(/^,unchanged,/);
  expect(await ask(`FROM probable_duplicates WHERE '${loser}' IN (id_1, id_2)`)).toEqual([]);
});

it('what is merged from then on says how good the list was, in the sheet and in the report', async () => {
  const [best] = await ask<{ id_1: string; id_2: string }>(
    "SELECT id_1, id_2 FROM probable_duplicates WHERE entity_type = 'topic' ORDER BY place LIMIT 1",
  );
  const { id_1: targetId = '', id_2: source = '' } = best ?? {};
  sandbox.change({ kind: 'mergeTopics', sourceIds: [source], targetId });
  expect((await pulling.sync()).code).toBe(0);
  expect(
    await ask(
      "SELECT compared::INT AS compared, in_first_100::INT AS found FROM probable_duplicates_precision WHERE entity_type = 'topic'",
    ),
  ).toEqual([{ compared: 1, found: 1 }]);
  const sentence = 'Of 1 past merges of topics, 1 would have been in the first 100 pairs';
  const sheet = await run('changes', 'sheet', '--duplicates', '--out', 'again.csv');
  expect(sheet.stdout).toContain(sentence);
  await run('report', '--out', 'report.html');
  expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toContain(sentence);
});
