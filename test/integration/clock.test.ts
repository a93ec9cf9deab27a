import { afterEach, describe, expect, it } from 'vitest';
import { PlainApi, plainGroup, plainMessage, plainPerson, plainTopic, uuid } from '../support/plain-api.js';
import type { Pulling } from '../support/pulling.js';

let api: PlainApi;
afterEach(() => api.stop());

const preload = new URL('../support/clock-ahead.mjs', import.meta.url).href;
const day = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * day).toISOString();
/** For a command whose clock is ahead of the machine's; of the service's as well. */
const ahead = (days: number) => ({
  NODE_OPTIONS: `--import=${preload}`,
  CLOCK_AHEAD_MS: String(days * day),
});

function query(pulling: Pulling<PlainApi>, sql: string): Promise<unknown[]> {
  return pulling.rows(sql);
}

async function started(fields: Partial<PlainApi> = {}): Promise<Pulling<PlainApi>> {
  const topic = plainTopic(1, { totalGroupCount: 1, messageCount: 2, updatedAt: daysAgo(5) });
  const messages = [
    plainMessage(1, { createdAt: daysAgo(9) }),
    plainMessage(2, { createdAt: daysAgo(8), deletedAt: daysAgo(2) }),
  ];
  api = await PlainApi.start({
    topics: [topic],
    people: [plainPerson(1)],
    topicGroups: { [uuid('t', 1)]: [plainGroup(1, messages)] },
    ...fields,
  });
  return api.pulling({ retention: { deletedContentDays: 30 } });
}

function change(fields: object): void {
  Object.assign(api.topics[0] as object, { updatedAt: new Date().toISOString() }, fields);
}

describe('a run whose clock is ahead', () => {
  it('says so, and goes by the time of the service', async () => {
    const pulling = await started();
    await pulling.sync();
    change({ priority: 'high' });
    const ran = await pulling.start(['sync', '--json'], ahead(60)).ended;
    const note = /^the clock of this machine is .* ahead of the service/;
    expect(JSON.parse(ran.stdout)).toMatchObject({ exitCode: 0, notes: [expect.stringMatching(note)] });
    change({ priority: 'very_high' });
    expect(await pulling.sync()).toMatchObject({ code: 0 });

    const now = new Date().toISOString();
    expect(await query(pulling, `SELECT priority FROM topic_as_of('${now}')`)).toEqual([
      { priority: 'very_high' },
    ]);
    expect(
      await query(
        pulling,
        `SELECT priority FROM topic_versions WHERE abs(epoch(valid_from - now())) < 3600 ORDER BY valid_from`,
      ),
    ).toEqual([{ priority: 'default' }, { priority: 'high' }, { priority: 'very_high' }]);
    expect(
      await query(
        pulling,
        'SELECT content FROM messages WHERE deleted_at IS NOT NULL AND content IS NOT NULL',
      ),
    ).toHaveLength(1);
    const wrong = `SELECT 1 FROM ops.runs WHERE abs(epoch(started_at - now())) > 3600 OR abs(epoch(ended_at - now())) > 3600
      UNION ALL SELECT 1 FROM ops.requests WHERE abs(epoch("at" - now())) > 3600
      UNION ALL SELECT 1 FROM ops.coverage WHERE abs(epoch(fetched_at - now())) > 3600
      UNION ALL SELECT 1 FROM raw.documents WHERE abs(epoch(fetched_at - now())) > 3600
      UNION ALL SELECT 1 FROM ops.scans WHERE abs(epoch(ended_at - now())) > 3600`;
    expect(await query(pulling, wrong)).toEqual([]);
  });

  it('where no answer has a date, deletes nothing by age and says so; later its times count as now', async () => {
    const pulling = await started({ sendsDate: false });
    const ran = await pulling.start(['sync', '--json'], ahead(60)).ended;
    expect(JSON.parse(ran.stdout)).toMatchObject({
      notes: [expect.stringMatching(/^nothing was deleted by age: no answer of the service has a date/)],
    });
    expect(await query(pulling, 'SELECT id FROM messages WHERE content IS NULL')).toEqual([]);
    change({ priority: 'high' });
    await pulling.start(['sync', '--json'], ahead(60)).ended;
    api.sendsDate = true;
    change({ priority: 'very_high' });
    await pulling.sync();
    expect(await query(pulling, `SELECT priority FROM topic_as_of('${new Date().toISOString()}')`)).toEqual([
      { priority: 'very_high' },
    ]);
    expect(await query(pulling, 'SELECT priority FROM topic_versions ORDER BY valid_from')).toEqual([
      { priority: 'default' },
      { priority: 'high' },
      { priority: 'very_high' },
    ]);
    const status = JSON.parse((await pulling.run(['status', '--json'])).stdout);
    const runs = await query(pulling, 'SELECT run_id FROM ops.runs ORDER BY rowid');
    expect(JSON.stringify(status)).toContain((runs.at(-1) as { run_id: string }).run_id);
  });
});
