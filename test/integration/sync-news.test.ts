import { afterAll, expect, it } from 'vitest';
import { groupIdsOfCompany } from '../../src/sandbox/world/counts.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

it('of a long list of conversations, in the order of the own last word, only what is new is read', async () => {
  const pageSize = 10;
  const sandbox = await startTown({ maxPageSize: pageSize });
  try {
    const pulling = Pulling.into(folders, sandbox, { api: { paging: { pageSize } } });
    expect(await pulling.sync()).toMatchObject({ code: 0 });

    const { world } = sandbox;
    const own = [...world.companies.values()].find(({ isOrgCompany }) => isOrgCompany)?.id ?? '';
    const before = groupIdsOfCompany(world, own);
    expect(before.length).toBeGreaterThan(4 * pageSize);
    const staff = [...world.people.values()].filter(({ companyId }) => companyId === own);
    const speak = (groupId: string | undefined, authorId: string | undefined) =>
      sandbox.change({ kind: 'addMessage', groupId, authorId, content: 'One more thing' });
    // One of theirs writes in the oldest conversation; somebody else in one in the middle of the list, which stays there.
    speak(before.at(-1), staff.find(({ authorIds }) => authorIds.length > 0)?.authorIds[0]);
    const customers = [...world.people.values()].filter(
      ({ companyId, authorIds }) => companyId !== own && authorIds.length > 0,
    );
    const inTheMiddle = before
      .slice(2 * pageSize, -pageSize)
      .find((id) => world.groups.get(id)?.topicId !== null);
    speak(inTheMiddle, customers[0]?.authorIds[0]);
    expect(groupIdsOfCompany(world, own)[0]).toBe(before.at(-1));

    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(await pulling.differences({ lagging: false })).toEqual([]);
    const asked = await read(pulling.dataDir, (reader) =>
      reader.rows<{ path: string }>(
        `SELECT path FROM ops.requests WHERE run_id = '${report.runId}' AND path LIKE '%companyId=${own}%'`,
      ),
    );
    expect(asked).toHaveLength(2);
  } finally {
    await sandbox.stop();
  }
});
