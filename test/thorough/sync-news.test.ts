import { afterAll, expect, it } from 'vitest';
import { groupIdsOfCompany } from '../../src/sandbox/world/counts.js';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

it('of a long list of conversations, in the order of the own last word, only what is new is read', async () => {
  const pageSize = 10;
  const sandbox = await startTown({ sizes: town, maxPageSize: pageSize });
  try {
    const pulling = Pulling.into(folders, sandbox, { api: { paging: { pageSize } } });
    expect(await pulling.sync()).toMatchObject({ code: 0 });

    const { world } = sandbox;
    const own = [...world.companies.values()].find(({ isOrgCompany }) => isOrgCompany)?.id ?? '';
    const before = groupIdsOfCompany(world, own);
    expect(before.length).toBeGreaterThan(4 * pageSize);
    // Whoever wrote there before, so that nothing else of the topic changes than that there is another message.
    const speak = (groupId: string, isOwn: boolean) => {
      const authors = world.groups
        .get(groupId)
        ?.messageIds.map((id) => world.messages.get(id)?.authorId ?? '');
      const authorId = authors?.find((id) => {
        const person = world.people.get(world.authors.get(id)?.personId ?? '');
        return person !== undefined && (person.companyId === own) === isOwn;
      });
      if (!authorId) return false;
      sandbox.change({ kind: 'addMessage', groupId, authorId, content: 'One more thing' });
      return true;
    };
    // One of theirs writes in the oldest conversation; somebody else in one of the second page, which stays there.
    expect(speak(before.at(-1) ?? '', true)).toBe(true);
    const hasTopic = (id: string) => typeof world.groups.get(id)?.topicId === 'string';
    const second = before.slice(pageSize + 2, 2 * pageSize - 2);
    expect(second.some((id) => hasTopic(id) && speak(id, false))).toBe(true);
    expect(groupIdsOfCompany(world, own)[0]).toBe(before.at(-1));

    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(await pulling.differences({ lagging: false })).toEqual([]);
    const asked = await read(pulling.dataDir, (reader) =>
      reader.rows<{ path: string }>(
        `SELECT path FROM ops.requests WHERE run_id = '${report.runId}' AND path LIKE '%companyId=${own}%'`,
      ),
    );
    expect(asked).toHaveLength(3);
  } finally {
    await sandbox.stop();
  }
});
