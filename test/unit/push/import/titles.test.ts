import { describe, expect, it } from 'vitest';
import { importingOfFile, syncedAt } from './support.js';

const importing = importingOfFile(async (warehouse) => {
  await warehouse.run(
    `INSERT INTO topics BY NAME SELECT unnest(['d1', 'd2', 'd3', 'd4', 'd5', '😀', 'hi']) AS id,
       unnest(['Login fails', 'Login fails', 'Export is slow', 'export is slow!', 'A list, of commas', '😀', 'पानी बिल']) AS title,
       unnest(['high', 'low', 'low', 'low', 'low', 'low', 'low']) AS priority,
       unnest(['open', 'in_progress', 'open', 'completed', 'open', 'open', 'open']) AS lifecycle_state,
       TIMESTAMPTZ '${syncedAt}' AS synced_at`,
  );
});

describe('a list without ids', () => {
  it('is about the only topic with each title, apart from case, spaces and Unicode, and the preview names its id', async () => {
    const text =
      'Title;Prio\n topic 1 ;\nTopic  2;high\nEXPORT is slow;high\nA list, of commas;high\n😀;high\n'.replace(
        'Prio',
        'Priority',
      );
    const { rows, changes, notes, problems } = await importing.prepare(text);
    expect(problems).toEqual([]);
    expect(changes.map(({ entityId }) => entityId)).toEqual(['t2', 'd3', 'd5', '😀']);
    expect(rows.map(({ outcome }) => outcome)).toEqual(['unchanged', 'queued', 'queued', 'queued', 'queued']);
    expect(notes).toContain('Row 4: found by its title: d3 (open, low).');
  });

  it('names every candidate of an ambiguous title, and refuses one that no topic has', async () => {
    const { problems, changes } = await importing.prepare(
      'title,priority\nLogin fails,low\nLogin fail,low\nTopic 3,nonsense\n',
    );
    expect(changes).toEqual([]);
    expect(problems.map(({ row, column, problem }) => `${row} ${column}: ${problem}`)).toEqual([
      '2 title: is the title of 2 topics: d1 (open, high), d2 (in_progress, low). Put the id of the one that you mean into a column topic_id',
      '3 title: is not the title of any of the topics: check how it is spelled, or put the id into a column topic_id',
      '4 priority: is not a priority',
    ]);
  });

  it('is about companies by their names, which stay then', async () => {
    const { changes, problems } = await importing.prepare('Name,is VIP\nacme,TRUE\nGamma,TRUE\n', true);
    expect(changes).toMatchObject([{ entityId: '1', wanted: { is_vip: true } }]);
    expect(problems.map(({ problem }) => problem)).toEqual([
      'is not the name of any of the companies: check how it is spelled, or put the id into a column company_id',
    ]);
  });
});
