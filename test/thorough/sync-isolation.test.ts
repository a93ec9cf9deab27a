import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, town, townForEachTest } from '../support/pulling.js';
import { changeable } from '../support/pushing.js';
import type { Folders } from '../support/signalhouse.js';

let sandbox: Sandbox;
let pulling: Pulling;
let folders: Folders;
townForEachTest({ sizes: town }, (made) => {
  ({ sandbox, pulling, folders } = made);
});

describe('one broken endpoint', () => {
  it('500 for most people: what comes later is fetched, and no night asks for the same ten again', async () => {
    const ids = [...sandbox.world.people.keys()];
    const broken = ids.slice(0, 30).map((id) => `^/people/${id}$`);
    sandbox.addFaults([
      { match: { route: 'person', pattern: broken.join('|') }, kind: 'status', status: 500 },
    ]);
    const good = ids.slice(30);
    for (let night = 1; night <= 4; night += 1) {
      const { code, seen } = await pulling.sync();
      expect(code).toBe(3);
      if (night === 1) expect(seen).toMatchObject({ company_activity: 7, company_history: 7 });
    }
    const fetched = await read(pulling.dataDir, (reader) =>
      reader.rows<{ id: string }>(
        `SELECT entity_id AS id FROM ops.coverage WHERE endpoint = 'person' AND status = 200 ORDER BY id`,
      ),
    );
    expect(fetched.map(({ id }) => id)).toEqual(good.sort());
    sandbox.clearFaults();
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences()).toEqual([]);
  });
});

describe('one broken detail of a topic that is not listed any more', () => {
  it.each([500, 410])('%i: others that are gone get their tombstones', async (status) => {
    pulling = await Pulling.filled(folders, sandbox);
    const [unlisted, successor, deleted] = changeable(sandbox).map(({ id }) => id) as [
      string,
      string,
      string,
    ];
    sandbox.change({ kind: 'supersedeTopic', topicId: unlisted, successorId: successor });
    sandbox.change({ kind: 'deleteTopic', topicId: deleted });
    sandbox.addFaults([{ match: { route: 'topic', path: unlisted }, kind: 'status', status }]);
    for (const tombstoned of [1, 0]) {
      const { code, report, seen } = await pulling.sync();
      expect([code, report.outcome]).toEqual([3, 'incomplete']);
      expect(report.scans[0]).toMatchObject({ endpoint: 'topics', verified: true, tombstoned });
      expect(report.failures).toMatchObject([
        { endpoint: 'topic', entityId: unlisted, message: expect.stringContaining(String(status)) },
      ]);
      expect(seen.topic).toBeGreaterThanOrEqual(1);
    }
    const ends = await read(pulling.dataDir, (reader) =>
      reader.rows<{ id: string }>('SELECT id FROM topics WHERE deleted_at IS NOT NULL'),
    );
    expect(ends.map(({ id }) => id)).toEqual([deleted]);
    sandbox.clearFaults();
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences({ lagging: false })).toEqual([]);
  });
});

describe('a detail that was answered 404 although its item is listed', () => {
  it('loses its reason once it is answered again', async () => {
    sandbox.addFaults([{ match: { route: 'company' }, kind: 'status', status: 404, times: 1 }]);
    await pulling.sync(['--only', 'companies']);
    const reasons = () =>
      read(pulling.dataDir, (reader) =>
        reader.rows(
          'SELECT detail_unavailable_reason AS reason FROM companies WHERE detail_unavailable_reason IS NOT NULL',
        ),
      );
    expect(await reasons()).toEqual([{ reason: 'not_found' }]);
    await pulling.age();
    await pulling.sync(['--only', 'company']);
    expect(await reasons()).toEqual([]);
  });
});
