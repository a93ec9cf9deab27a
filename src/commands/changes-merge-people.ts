import { randomUUID } from 'node:crypto';
import { shellWord } from '../base/command-line.js';
import { widthOf } from '../base/display-width.js';
import { UsageError } from '../base/errors.js';
import { commandLine, osPerson } from '../base/os-user.js';
import { count, moment } from '../base/units.js';
import { answerTo, print, refuseUnlessAsked, tableWidth } from '../cli/output.js';
import type { Change } from '../push/change.js';
import { mergedInto } from '../push/fields.js';
import {
  type KnownPerson,
  type MergeReport,
  type MergeRequest,
  newMerge,
  type Pair,
  readPair,
} from '../push/merges.js';
import { Queue } from '../push/queue.js';
import { queueChanges } from '../push/queueing.js';
import { runPush } from '../push/run.js';
import { withFullSnapshot } from '../read/snapshot.js';
import { nameOf } from '../view/run.js';
import { printable, rowLines, table, wide, wrap } from '../view/text.js';
import { type Context, command, text, toggle, wait } from './command.js';
import { type Access, observed, setUpAccess } from './setup.js';
import { type ObservedOptions, withWorker } from './worker.js';

export const mergePeople = command({
  usage: '<source>',
  examples: [
    ['signalhouse changes merge-people 47 --into 12 --dry-run', 'Only show both'],
    ['signalhouse changes merge-people 47 --into 12', 'Ask who stays'],
    ['signalhouse changes merge-people 47 --into 12 --confirm 47:12', 'Ask nothing'],
  ],
  input: {
    source: text.describe('The id of the person who goes (people.id)'),
    into: text.describe('The id of the person who stays and gets everything'),
    confirm: text.optional().describe('SOURCE:TARGET once more (required when non-interactive)'),
    by: text.optional().describe('Requester, for the audit log (default: the user at the terminal)'),
    reason: text.optional().describe('Why, for the audit log'),
    dryRun: toggle.describe('Only show both people'),
    wait,
  },
  check({ source, into, confirm }) {
    if (confirm === undefined || confirm === `${source}:${into}`) return;
    const problem = `is ${confirm}, and this would merge ${source} into ${into}: nothing was sent`;
    throw new UsageError('The confirmation is of another merge.', [{ setting: '--confirm', problem }]);
  },
  async run({ source, into, confirm, by, reason, ...given }, context) {
    const requestedBy = by ?? osPerson() ?? commandLine;
    const options = { ...given, requestedBy, requestedReason: reason ?? null };
    return observed(setUpAccess(context), async (access, run) => {
      const pair = await withFullSnapshot(access, (snapshot) => readPair(snapshot, source, into));
      if (!context.json) print(pairText(pair));
      const nothing = { ...pair, id: null, error: null };
      if (given.dryRun) return { ...nothing, outcome: 'dry_run', exitCode: 0 } satisfies MergeReport;
      if (confirm === undefined && !(await isConfirmed(context, pair)))
        return { ...nothing, outcome: 'declined', exitCode: 3 } satisfies MergeReport;
      return merge(access, pair, { ...options, ...run });
    });
  },
  show: mergeSummary,
});

/** Asks for the second confirmation: the id of the person who stays. */
async function isConfirmed(context: Context, { source, target }: Pair): Promise<boolean> {
  const given = `--confirm ${shellWord(`${source.id}:${target.id}`)}`;
  const hint = `Nothing was sent. Pass ${given} to confirm it once more, or --dry-run to look only.`;
  refuseUnlessAsked(context, `merge ${source.id} into ${target.id}`, '--confirm', hint);
  const who = printable(nameOf(target));
  const typed = await answerTo(`Type the id of the person who stays (${who}) to merge them permanently: `);
  return typed.trim() === target.id;
}

/** Both people side by side, why they are probably the same, and the effect of a merge. */
function pairText({ source, target, score, reasons }: Pair): string {
  const at = (iso: string | null) => (iso === null ? null : moment(iso));
  const facts: [string, (one: KnownPerson) => string | number | null][] = [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['e-mail', ({ email }) => email],
    ['company', ({ company, companyId }) => company ?? companyId],
    ['accounts', ({ accounts, accountNames }) => accountNames.join(', ') || accounts],
    ['messages', ({ messages }) => messages],
    ['conversations', ({ conversations }) => conversations],
    ['last seen', ({ lastSeenAt }) => at(lastSeenAt)],
    ['is', ({ role }) => role],
    ['as of', ({ syncedAt }) => at(syncedAt)],
  ];
  const room = Math.max(20, Math.floor(((tableWidth() ?? 120) - 17) / 2));
  const rows = facts.flatMap(([name, of]) => {
    return rowLines([[name], whole(of(source), room), whole(of(target), room)]);
  });
  const why =
    score === null
      ? 'Nothing says that they are the same: they are not in probable_duplicates.'
      : `Probably the same (score ${score}): ${reasons.join('; ')}.`;
  const what = `Every account, e-mail address, company and conversation of ${nameOf(source)} moves to ${nameOf(target)}, and ${nameOf(source)} is gone. This cannot be undone: the API has no way back.`;
  return [
    table(['', 'goes', 'stays'], rows),
    ...[why, what].map((one) => wrap(printable(one), wide).join('\n')),
  ].join('\n\n');
}

/** A value in lines of at most `room` columns. Nothing is cut off: the decision is final, so all of it is shown. */
function whole(value: string | number | null, room: number): string[] {
  const text = printable(typeof value === 'number' ? count(value) : (value ?? '-'));
  return wrap(text, room).flatMap((line) => {
    // Characters may take two columns.
    const most = widthOf(line) === line.length ? room : Math.floor(room / 2);
    return line.match(new RegExp(`.{1,${most}}`, 'gu')) ?? [''];
  });
}

function mergeSummary({ source, target, outcome, error, id }: MergeReport): string {
  const pair = `${nameOf(source)} into ${nameOf(target)}`;
  const texts: Readonly<Record<MergeReport['outcome'], string>> = {
    merged: `Merged ${pair} (change ${id}). The next sync shows it.`,
    already_merged: `Nothing was sent: the API shows that ${pair} was merged already. The next sync shows it.`,
    declined: 'Nothing was sent: what was typed is not the id of the person who stays.',
    dry_run: 'Nothing was sent: --dry-run.',
    failed: `Not merged: ${error ?? ''}`,
    waiting: `Not merged yet, and it may have been sent: ${error ?? ''}\nIt is change ${id}: the next signalhouse push, or this command again, settles it.`,
  };
  return `\n${texts[outcome].split('\n').map(printable).join('\n')}`;
}

/** Queues the merge and sends it at once. One that waits or is in doubt is sent instead. */
async function merge(
  access: Access,
  pair: Pair,
  options: MergeRequest & ObservedOptions,
): Promise<MergeReport> {
  return withWorker(access, options, async (parts, display) => {
    const { warehouse, config, clock, log } = parts;
    const queue = await Queue.open(warehouse, config, clock, log);
    const merged = newMerge(pair, options, randomUUID());
    refuseBesideOpenMerge(queue, merged);
    const { became } = queueChanges(queue, [merged]);
    const id = became[0]?.changeId ?? '';
    await runPush({ ...parts, queue, only: (change) => change.id === id }, options, display);
    const { status, error } = queue.get(id) as Change;
    const outcomes = { applied: 'merged', unchanged: 'already_merged', failed: 'failed', conflict: 'failed' };
    const outcome = (outcomes as Partial<Record<string, MergeReport['outcome']>>)[status] ?? 'waiting';
    const isDone = status === 'applied' || status === 'unchanged';
    return { ...pair, id, outcome, error, exitCode: isDone ? 0 : 3 };
  });
}

/** Throws where one of the two is in another merge that waits or is in doubt. */
function refuseBesideOpenMerge(
  queue: Queue,
  { entityId, wanted }: Pick<Change, 'entityId' | 'wanted'>,
): void {
  const ids = [entityId, wanted[mergedInto]];
  const other = queue
    .withStatus('queued', 'sending')
    .filter(({ entityType }) => entityType === 'person')
    .find(
      (one) =>
        ids.some((id) => id === one.wanted[mergedInto] || id === one.entityId) && one.entityId !== entityId,
    );
  if (!other) return;
  const problem = `change ${other.id} merges one of them and is still open: run signalhouse push first`;
  throw new UsageError('These people cannot be merged now.', [{ setting: '--into', problem }]);
}
