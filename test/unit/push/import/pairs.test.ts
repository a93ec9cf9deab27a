import { describe, expect, it } from 'vitest';
import { importingOfFile } from './support.js';

const importing = importingOfFile();

const header = 'keep,title_1,title_2,score,topic_id_1,topic_id_2,base_updated_at';
const sheet = (...rows: readonly string[]) => [header, ...rows, ''].join('\n');
/** A row about two topics of the town. */
const row = (keep: string, one: number, other: number) =>
  `${keep},Topic ${one},Topic ${other},0.9,t${one},t${other},2026-03-01T00:00:00Z`;

const archived = (id: string, kept: string) =>
  `${id} ${JSON.stringify({ archived: true, archived_reason: `Duplicate of ${kept}` })} queued`;

/** The problem of each wrong row. */
async function problemsOf(...rows: readonly string[]): Promise<string[]> {
  const { problems } = await importing.prepare(sheet(...rows));
  return problems.map((one) => `${one.row} ${one.column} ${one.problem}`);
}

describe('a sheet of pairs', () => {
  it('archives the topic that does not stay, with a reason that names the other one', async () => {
    const text = sheet(
      row('1', 1, 2),
      row('2', 3, 4),
      row('T6', 5, 6),
      row('topic 7', 7, 8),
      row('', 1, 9),
      row('Both', 2, 9),
    );
    const report = await importing.run(text);
    expect(importing.queued).toEqual([
      archived('t2', 'Topic 1 (t1)'),
      archived('t3', 'Topic 4 (t4)'),
      archived('t5', 'Topic 6 (t6)'),
      archived('t8', 'Topic 7 (t7)'),
    ]);
    expect(report.rows.map(({ outcome }) => outcome)).toEqual([
      'queued',
      'queued',
      'queued',
      'queued',
      'unchanged',
      'unchanged',
    ]);
    // What the person saw: both were there when the sheet was written.
    expect(importing.queue.all()[0]).toMatchObject({
      base: { archived: false, archived_reason: null },
      baseFrom: 'file',
    });
    expect(await importing.outcomes(text)).toEqual([
      'imported_before',
      'imported_before',
      'imported_before',
      'imported_before',
      'unchanged',
      'unchanged',
    ]);
  });

  it('names the one that stays at last, and the rows that would leave none', async () => {
    await importing.run(sheet(row('2', 2, 1), row('1', 2, 3), row('1', 3, 4)));
    expect(importing.queued).toEqual(['t2', 't3', 't4'].map((id) => archived(id, 'Topic 1 (t1)')));
    expect(await problemsOf(row('1', 5, 6), row('1', 6, 7), row('1', 7, 5), row('1', 8, 9))).toEqual(
      [2, 3, 4].map(
        (at) =>
          `${at} keep goes around in a circle with other rows, so that none would stay: empty one of them`,
      ),
    );
  });

  it('keeps nothing that is gone or archived, and does not take one title for another', async () => {
    expect(
      await problemsOf(
        row('maybe', 1, 2),
        '1,Merged,Topic 3,0.9,merged,t3,',
        '1,Topic 3,Gone,0.9,t3,gone,',
        '1,,Topic 4,0.9,filed,t4,',
        '1,Topic 5,Topic 6,0.9,t7,t6,',
        '1,Topic 8,Topic 9,0.9,t8,,',
      ),
    ).toEqual([
      '2 keep does not say which of the two stays: write 1 or 2, its id, or both where both stay',
      '3 keep cannot be done: merged, which would stay, was merged into Topic 1 (t1): change that topic instead',
      '4 keep cannot be done: gone, which would be archived, was deleted (spam): the API no longer has it',
      '5 keep cannot be done: filed, which would stay, is archived itself. Take it out of the archive first, or keep the other one',
      '6 keep cannot be done: the title beside t7 is not its title, which is "Topic 7": put each id back beside its title',
      '7 topic_id_2 is empty: the id is missing',
    ]);
  });

  it('has nothing to do where the two have become one, and never archives the survivor instead', async () => {
    const { rows } = await importing.prepare(sheet('1,Topic 1,Merged,0.9,t1,merged,'));
    expect(rows).toMatchObject([{ outcome: 'unchanged' }]);
    expect(await problemsOf('2,Merged,Topic 2,0.9,merged,t2,')).toEqual([
      '2 keep cannot be done: merged, which would be archived, was merged into Topic 1 (t1): change that topic instead',
    ]);
  });

  it('needs the column that says which one stays', async () => {
    await expect(importing.prepare('topic_id_1,topic_id_2\nt1,t2\n')).rejects.toMatchObject({
      problems: [
        { setting: 'keep', problem: 'is missing: in it, 1 or 2 says which of the two topics stays' },
      ],
    });
  });
});
