import { bytes, count, counted, duration } from '../../base/units.js';
import type { InboxFile } from '../../push/inbox.js';
import type { ChangeResult, PushPreview, PushReport } from '../../push/run.js';
import {
  changed,
  contestedCommands,
  contestedHeading,
  decisionHeading,
  followCommands,
  followHeading,
  isContested,
  nextCommands,
  whoText,
} from './changes-text.js';
import { list, pairs, printable, sections, table, wrap } from './layout.js';
import { some, wide } from './sync-summary.js';

/** What a push did, for people, in 80 columns. */
export function pushSummary(report: PushReport): string {
  return sections([
    [`Push ${report.runId}: ${outcomeText(report)}`, pairs(facts(report))],
    ['Failed, by reason', reasonsText(report)],
    ['Conflicts (somebody else changed the same field)', conflictsText(report.changes)],
    ['Failed', changesText(report.changes, 'failed')],
    [
      'Sent without an answer (the next push reads what became of them)',
      changesText(report.changes, 'sending'),
    ],
    ['Archived, superseded or merged in the meantime', list(some(happenedText(report.changes)))],
    ['Notes', list(report.notes)],
    [decisionHeading, nextCommands(report.changes)],
    [contestedHeading, contestedCommands(report.changes)],
    [followHeading, followCommands(report.changes)],
    ['Next steps', list(nextSteps(report))],
  ]);
}

function outcomeText({ outcome, stoppedBy }: PushReport): string {
  const done = {
    done: 'done',
    stopped: `stopped (${stoppedBy ?? 'on request'})`,
    incomplete: 'done, but with failures or conflicts',
    failed: 'FAILED',
  };
  return done[outcome];
}

function facts(report: PushReport): [string, string][] {
  const { organization, requests, left, published, failed, result } = report;
  return [
    ['organization', nameOf(organization)],
    ['took', `${duration(report.minutes * 60_000)}, ${counted(requests.total, 'request')}`],
    ['applied', count(report.applied)],
    ['unchanged', `${count(report.unchanged)} (already up to date)`],
    ['conflict', count(report.conflict)],
    ['failed', count(failed.total)],
    ['left', left.queued + left.sending === 0 ? 'nothing' : leftText(left)],
    // Null where nothing has changed, and a sync follows.
    ['published', published === null ? 'with the sync' : `${published.path} (${bytes(published.bytes)})`],
    ...(result === null ? [] : ([['result', result]] as [string, string][])),
  ];
}

function leftText({ queued, sending, requests, minutes }: PushReport['left']): string {
  const open = sending === 0 ? '' : `, ${count(sending)} sent without an answer`;
  return `${count(queued)} queued${open} (${counted(requests, 'request')}, about ${duration(minutes * 60_000)})`;
}

function reasonsText({ failed }: PushReport): string {
  const rows = Object.entries(failed.byReason).sort(([, a], [, b]) => b - a);
  return rows.length === 0
    ? ''
    : table(
        [{ name: 'reason' }, { name: 'changes', right: true }],
        rows.map(([reason, number]) => [reason, count(number)]),
        wide,
      );
}

function changesText(changes: readonly ChangeResult[], status: ChangeResult['status']): string {
  const those = changes.filter((change) => change.status === status);
  return list(some(those.map(changeText)));
}

function changeText({ error, ...change }: ChangeResult): string {
  return `${nameIn(change)}: ${error ?? 'no reason given'}`;
}

/** What a change is about and where it comes from: title, id and row. */
function nameIn(change: Omit<ChangeResult, 'error'>): string {
  const { entityType, entityId, title, source, sourceRow } = change;
  const row = sourceRow === null ? source : `${source} row ${sourceRow}`;
  return title === null
    ? `${entityType} ${entityId} (${row})`
    : `${title} (${entityType} ${entityId}, ${row})`;
}

/** Each conflict with both values and who set the other one; below it, its id for the commands that decide it. */
function conflictsText(changes: readonly ChangeResult[]): string {
  const items = changes
    .filter(({ status }) => status === 'conflict')
    .map((change) => {
      const who = whoText(change).map((text) => `. ${text[0]?.toUpperCase()}${text.slice(1)}`);
      return `${changeText(change)}${who}. Id: ${change.id}`;
    });
  return list(some(items));
}

function happenedText(changes: readonly ChangeResult[]): string[] {
  return changes.flatMap(({ title, entityType, entityId, note }) =>
    note === null ? [] : [`${title ?? entityType} (${entityId}) ${note}`],
  );
}

function nextSteps({ changes, failed, left }: PushReport): string[] {
  const isUnexplained = changes.some(
    (change) => change.status === 'conflict' && change.changedBy === null && !isContested(change),
  );
  return [
    ...(isUnexplained
      ? ['Who changed the other values is known after `signalhouse sync`: see `signalhouse changes list`.']
      : []),
    ...(failed.total > 0 ? ['List what failed: `signalhouse changes list --status failed`.'] : []),
    ...(left.queued + left.sending > 0 ? ['The rest stays queued: run push again.'] : []),
  ];
}

/** What a push would send, for people. Every request is printed. */
export function previewSummary(preview: PushPreview): string {
  const { requests, conflicts, failures, unchanged, spent } = preview;
  const lines = requests.map(({ method, path, body, again, changes }) => {
    const before = again ? '  (sent before, without an answer)' : '';
    const about = changes.flatMap(({ title, entityId, note, ...change }) => [
      ...wrap(printable(title ?? entityId), wide),
      ...wrap(printable(changed(change)), wide - 2).map((line) => `  ${line}`),
      ...(note === null ? [] : wrap(printable(`(${note})`), wide - 2).map((line) => `  ${line}`)),
    ]);
    return [...about, `  ${method} ${path} ${JSON.stringify(body)}${before}`].join('\n');
  });
  return sections([
    [
      'Nothing was sent. A push would send:',
      lines.length === 0 ? 'nothing: no change is queued' : lines.join('\n'),
    ],
    [
      'Total',
      pairs([
        ['organization', nameOf(preview.organization)],
        ['requests', `${count(requests.length)}, about ${duration(preview.minutes * 60_000)} at the budget`],
        ['unchanged', `${count(unchanged)} (already up to date)`],
        ['conflict', count(conflicts.length)],
        ['failed', count(failures.length)],
        ['spent on this preview', counted(spent, 'request')],
      ]),
    ],
    ['Conflicts (somebody else changed the same field)', list(some(conflicts.map(changeText)))],
    ['Would fail', list(some(failures.map(changeText)))],
    [
      'Next step: overwrite what others changed',
      conflicts.length > 0 ? 'signalhouse push --on-conflict overwrite' : '',
    ],
  ]);
}

function nameOf({ name, id }: { readonly name: string | null; readonly id: string }): string {
  return name === null ? id : `${name} (${id})`;
}

/** What became of the files of the drop folder; '' when there were none. */
export function inboxText(files: readonly InboxFile[]): string {
  const describe = {
    done: ({ queued, path }: InboxFile) =>
      `${counted(queued, 'change')}; moved to ${path}, with the result beside it`,
    rejected: ({ problems, reason, path }: InboxFile) =>
      `rejected for ${reason ?? counted(problems, 'problem')}; moved to ${path}, with the reasons beside it`,
    failed: ({ reason }: InboxFile) => `failed: ${reason}`,
    waiting: ({ queued }: InboxFile) =>
      `${counted(queued, 'change')}; it stays here until all of them are settled`,
    being_written: () => 'is still being written; the next run imports it',
  };
  return sections([
    ['Drop folder', list(files.map((file) => `${file.name}: ${describe[file.outcome](file)}`))],
    [followHeading, files.flatMap(({ next }) => next ?? []).join('\n')],
  ]);
}
