import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
beforeAll(async () => {
  sandbox = await startTown();
  pulling = await Pulling.filled(folders, sandbox);
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const fates = (table: string, ids: readonly string[]) =>
  read(pulling.dataDir, (reader) =>
    reader.rows<{ id: string; deleted_reason: string; merged_into_id: string | null }>(
      `SELECT id, deleted_reason, merged_into_id FROM ${table}
        WHERE id IN (${ids.map((id) => `'${id}'`).join(', ')}) ORDER BY list_position([${ids.map((id) => `'${id}'`).join(', ')}], id)`,
    ),
  );
const merged = (id: string, merged_into_id: string) => ({ id, deleted_reason: 'merged', merged_into_id });

/** A person without accounts and messages, and a company without people: a merge of them moves nothing in a list. */
const silentPerson = (displayName: string) =>
  (sandbox.change({ kind: 'createPerson', fields: { displayName } }) as { id: string }).id;
const silentCompany = (name: string) =>
  (sandbox.change({ kind: 'createCompany', fields: { name } }) as { id: string }).id;

it('a survivor whose list item shows no change is found, although the own history of the merged one is gone', async () => {
  const [person, company, deleted] = [silentPerson('Kim'), silentCompany('Acme'), silentPerson('Lee')];
  expect(await pulling.sync()).toMatchObject({ code: 0 });

  const { world } = sandbox;
  const survivor = [...world.people.values()].findLast((one) => one.primaryEmail !== null)?.id ?? '';
  const firm = [...world.companies.values()].find((one) => one.id !== company)?.id ?? '';
  sandbox.change({ kind: 'mergePeople', sourceIds: [person], targetId: survivor });
  sandbox.change({ kind: 'mergeCompanies', sourceIds: [company], targetId: firm });
  sandbox.change({ kind: 'deletePerson', personId: deleted });
  for (const path of [`/people/${person}/history`, `/companies/${company}/history`])
    sandbox.addFaults([{ kind: 'status', status: 404, match: { path } }]);

  const { code, report, seen } = await pulling.sync();
  expect([code, report.failures]).toEqual([0, []]);
  expect(await fates('people', [person, deleted])).toEqual([
    merged(person, survivor),
    { id: deleted, deleted_reason: 'not_found', merged_into_id: null },
  ]);
  expect(await fates('companies', [company])).toEqual([merged(company, firm)]);
  // Each living person at most once, and the two that are gone.
  expect(seen.person_history).toBeLessThanOrEqual(world.people.size + 2);
  expect(await pulling.differences({ lagging: false })).toEqual([]);

  const next = await pulling.sync();
  expect([next.code, next.seen.person_history, next.seen.company_history]).toEqual([0, undefined, undefined]);
});

it('the survivor that shares a name is asked first', async () => {
  const [person, survivor] = [silentPerson('Robin'), silentPerson('Robin')];
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  sandbox.change({ kind: 'mergePeople', sourceIds: [person], targetId: survivor });
  sandbox.addFaults([{ kind: 'status', status: 404, match: { path: `/people/${person}/history` } }]);
  const { seen } = await pulling.sync();
  expect(await fates('people', [person])).toEqual([merged(person, survivor)]);
  expect(seen.person_history).toBeLessThanOrEqual(21);
});

it('a search that an error ends goes on in the next run', async () => {
  const person = silentPerson('Sam');
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  const survivor = [...sandbox.world.people.values()].find((one) => one.primaryEmail !== null)?.id ?? '';
  sandbox.change({ kind: 'mergePeople', sourceIds: [person], targetId: survivor });
  const gone = { kind: 'status' as const, status: 404, match: { path: `/people/${person}/history` } };
  sandbox.addFaults([gone, { kind: 'status', status: 503, match: { route: 'person_history' } }]);
  expect(await pulling.sync()).toMatchObject({ code: 3 });
  expect(await fates('people', [person])).toMatchObject([{ deleted_reason: 'not_found' }]);

  sandbox.clearFaults();
  sandbox.addFaults([gone]);
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  expect(await fates('people', [person])).toEqual([merged(person, survivor)]);
});

it('a wrong total and one bad merge in a history cost only themselves, and are rejected', async () => {
  const [first, second, survivor] = [silentPerson('Ada'), silentPerson('Bo'), silentPerson('Cy')];
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  for (const id of [first, second]) {
    sandbox.change({ kind: 'mergePeople', sourceIds: [id], targetId: survivor });
    sandbox.addFaults([{ kind: 'status', status: 404, match: { path: `/people/${id}/history` } }]);
  }
  // The latest merge comes first.
  sandbox.addFaults([
    {
      ...{ kind: 'replace', match: { path: `/people/${survivor}/history` } },
      set: [
        { path: 'totalCount', value: 'many' },
        { path: 'merges.0.sourcePersons', value: 'somebody' },
      ],
    },
  ]);
  await pulling.age();
  const { code, report } = await pulling.sync();
  expect([code, report.failures]).toEqual([3, []]);
  const rows = () =>
    read(pulling.dataDir, (reader) =>
      reader.rows(
        `SELECT endpoint, id, path, resolved_at IS NOT NULL AS resolved FROM ops.rejected_records ORDER BY path`,
      ),
    );
  const one = { endpoint: 'person_merges', id: survivor, resolved: false };
  expect(await rows()).toEqual([
    { ...one, path: 'merges.[].sourcePersons' },
    { ...one, path: 'totalCount' },
  ]);
  const marked = await fates('people', [first, second]);
  expect(marked.map((fate) => fate.merged_into_id).sort()).toEqual([survivor, null].sort());

  sandbox.clearFaults();
  await pulling.age();
  expect((await pulling.sync()).code).toBe(0);
  expect(await rows()).toEqual([
    { ...one, path: 'merges.[].sourcePersons', resolved: true },
    { ...one, path: 'totalCount', resolved: true },
  ]);
  expect(await fates('people', [first, second])).toEqual([merged(first, survivor), merged(second, survivor)]);
});
