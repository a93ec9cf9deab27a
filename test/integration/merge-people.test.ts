import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Change } from '../../src/push/change.js';
import type { MergeReport } from '../../src/push/merges.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Pulling, startTown } from '../support/pulling.js';
import { start } from '../support/signalhouse.js';
import { closeTerminals, Terminal } from '../support/terminal.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/changes-merge-people.js'));

let sandbox: Sandbox;
let pulling: Pulling;
/** Two customers who are probably the same, and somebody else. */
let [source, target, other] = ['', '', ''];

beforeEach(async () => {
  sandbox = await startTown();
  pulling = await Pulling.filled(sandbox);
  const customers = await ask<{ id: string }>(
    'SELECT person_id AS id FROM person_roles WHERE NOT is_staff AND NOT is_bot ORDER BY person_id LIMIT 3',
  );
  [source = '', target = '', other = ''] = customers.map(({ id }) => id);
});
afterEach(async () => {
  closeTerminals();
  await sandbox.stop();
});

const ask = <T>(sql: string) => pulling.rows<T>(sql);
const of = (one: string, into: string) => ['changes', 'merge-people', one, '--into', into];
const args = (...more: string[]) => [...of(source, target), ...more];
const confirmed = () => args('--confirm', `${source}:${target}`, '--by', 'kim', '--reason', 'one person');
async function merge(given = confirmed()): Promise<{ code: number | null; report: MergeReport }> {
  const { code, stdout, stderr } = await pulling.run([...given, '--json']);
  if (stdout === '') throw new Error(stderr);
  return { code, report: JSON.parse(stdout) };
}
/** How often each person was merged away, as the sandbox executed it. */
const applied = () =>
  Object.fromEntries(
    Object.entries(sandbox.applied()).map(([id, fields]) => [id.replace('person:', ''), fields.mergedInto]),
  );
const journal = (): Change[] => {
  const path = join(pulling.dataDir, 'changes.journal');
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
};
const last = () => journal().at(-1);
const name = (id: string) => sandbox.world.people.get(id)?.displayName ?? '';

it('merges one pair after --confirm, records who asked and why, and the next sync shows it', async () => {
  const accounts = sandbox.world.people.get(source)?.authorIds ?? [];
  const done = await merge();
  expect([done.code, done.report.outcome]).toEqual([0, 'merged']);
  expect(applied()).toEqual({ [source]: 1 });
  expect(sandbox.world.people.get(target)?.authorIds).toEqual(expect.arrayContaining(accounts));
  expect(
    await ask(
      `SELECT action, audit.requested_by, reason, outcome, entity_id, wanted->>'merged_into_id' AS target FROM audit JOIN ops.changes AS changes ON id = audit_id WHERE audit_id = '${done.report.id}'`,
    ),
  ).toEqual([
    {
      action: 'merge',
      requested_by: 'kim',
      reason: 'one person',
      outcome: 'applied',
      entity_id: source,
      target,
    },
  ]);

  expect((await pulling.sync()).code).toBe(0);
  expect(
    await ask(`SELECT deleted_at IS NOT NULL AS gone, merged_into_id FROM people WHERE id = '${source}'`),
  ).toEqual([{ gone: true, merged_into_id: target }]);

  const again = await merge();
  expect([again.code, again.report.outcome]).toEqual([0, 'already_merged']);
  const back = await merge([...of(target, source), '--confirm', `${target}:${source}`]);
  expect([back.code, back.report.outcome]).toEqual([3, 'failed']);
  expect(sandbox.stats().writesExecuted).toBe(1);

  const listed = await pulling.run(['changes', 'list']);
  expect(listed.stdout).toMatch(/merged_into_id[^;]*; applied/);
  const undone = await pulling.run(['changes', 'undo', String(done.report.id)]);
  expect([undone.code, undone.stdout]).toEqual([
    3,
    expect.stringMatching(/merging people cannot be\s+undone/),
  ]);
});

describe('without a valid second confirmation nothing is sent', () => {
  it.each<[string, () => string[], number, RegExp]>([
    ['none, where nobody can be asked', () => args(), 2, /--confirm: is missing[\s\S]*--confirm \S+:/],
    ['one of the other direction', () => args('--confirm', `${target}:${source}`), 2, /of another merge/],
    ['--dry-run', () => args('--dry-run'), 0, /^$/],
  ])('%s', async (_, given, code, text) => {
    const ran = await pulling.run(given());
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(text)]);
    if (code === 0) {
      expect(ran.stdout).toContain('cannot be undone');
      for (const id of [source, target]) expect(ran.stdout).toContain(name(id).slice(0, 12));
    }
    expect(sandbox.stats().routes.merge_people).toBeUndefined();
    expect(journal()).toEqual([]);
  });

  it('on a terminal the id of the one who stays has to be typed', async () => {
    const wrong = new Terminal(args(), { env: pulling.env });
    await wrong.until(/Type the id of the person who stays/);
    await wrong.enter(source, /Nothing was sent/);
    expect(await wrong.ended).toBe(3);
    expect(sandbox.stats().routes.merge_people).toBeUndefined();
    const right = new Terminal(args(), { env: pulling.env });
    await right.until(/Type the id of the person who stays/);
    await right.enter(target, /Merged/);
    expect(await right.ended).toBe(0);
    expect(applied()).toEqual({ [source]: 1 });
  });
});

describe('is refused, with the reason', () => {
  it.each<[string, () => void, RegExp]>([
    [
      'when one was merged into somebody else',
      () => sandbox.change({ kind: 'mergePeople', sourceIds: [source], targetId: other }),
      /was merged into \S+ already/,
    ],
  ])('%s', async (_, before, reason) => {
    before();
    const { code, report } = await merge();
    expect([code, report.outcome, report.error]).toEqual([3, 'failed', expect.stringMatching(reason)]);
    expect(sandbox.stats().routes.merge_people).toBeUndefined();
  });

  it('when a person is not known, or is the same', async () => {
    for (const [one, two] of [
      [source, source],
      [source, '999999'],
      ['nobody', target],
    ] as const) {
      const { code, stderr } = await pulling.run(of(one, two));
      expect([code, stderr]).toEqual([2, expect.stringMatching(/is the same person|there is no person/)]);
    }
    expect(sandbox.stats().requests).toBe(0);
  });
});

describe('an answer that does not come', () => {
  it('of a merge that is not shown yet: it is in doubt, and the same command finds out under the same key', async () => {
    const fault = { kind: 'status', status: 500, match: { route: 'merge_people' } } as const;
    sandbox.addFaults([fault]);
    const first = await merge();
    expect([first.code, first.report.outcome]).toEqual([3, 'waiting']);
    expect(last()).toMatchObject({ status: 'sending', idempotencyKey: expect.any(String) });
    const back = await pulling.run([...of(target, other), '--confirm', `${target}:${other}`]);
    expect([back.code, back.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringContaining('is still open: run signalhouse push first'),
    ]);
    sandbox.clearFaults();
    const second = await merge();
    expect([second.code, second.report.outcome, second.report.id]).toEqual([0, 'merged', first.report.id]);
    expect(new Set(journal().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(applied()).toEqual({ [source]: 1 });
  });

  it('for longer than the API remembers the key: what is read decides, and a new merge has a new key', async () => {
    sandbox.addFaults([{ kind: 'status', status: 500, match: { route: 'merge_people' } }]);
    const first = await merge();
    sandbox.clearFaults();
    const old = new Date(Date.now() - 25 * 3_600_000).toISOString();
    appendFileSync(
      join(pulling.dataDir, 'changes.journal'),
      `${JSON.stringify({ ...last(), firstSentAt: old, revision: (last()?.revision ?? 0) + 1 })}\n`,
    );
    expect((await merge()).report).toMatchObject({ outcome: 'failed', id: first.report.id });
    const second = await merge();
    expect([second.code, second.report.outcome]).toEqual([0, 'merged']);
    expect(second.report.id).not.toBe(first.report.id);
    expect(await ask("SELECT outcome FROM audit WHERE action = 'merge' ORDER BY audit_id")).toEqual([
      { outcome: 'superseded' },
      { outcome: 'applied' },
    ]);
    expect(applied()).toEqual({ [source]: 1 });
  });

  it.each([
    ['before the API got it', false],
    ['after the API did it', true],
  ])('because the process was killed %s: the next command asks the API first', async (_, commit) => {
    sandbox.addFaults([{ kind: 'hang', match: { route: 'merge_people' }, commit }]);
    const { child, ended } = start(confirmed(), { env: pulling.env });
    while (sandbox.stats().faults.hang === undefined) await delay(20);
    expect(last()?.status).toBe('sending');
    child.kill('SIGKILL');
    await ended;
    sandbox.clearFaults();
    const { code, report } = await merge();
    expect([code, report.outcome]).toEqual([0, 'merged']);
    expect(last()).toMatchObject({ id: report.id, status: 'applied', requestedBy: 'kim' });
    expect(applied()).toEqual({ [source]: 1 });
    expect(await ask(`SELECT outcome FROM audit WHERE audit_id = '${report.id}'`)).toEqual([
      { outcome: 'applied' },
    ]);
  });
});
