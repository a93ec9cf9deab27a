import { bytes, count, counted, duration } from '../../base/units.js';
import type { InboxFile } from '../../push/inbox.js';
import type { ChangeResult, PushPreview, PushReport } from '../../push/report.js';
import { list, pairs, sections, table } from './layout.js';
import { some, wide } from './sync-summary.js';

/** What a push did, for people, in 80 columns. */
export function pushSummary(report: PushReport): string {
  return sections([
    [`Push ${report.runId}: ${outcomeText(report)}`, pairs(facts(report))],
    ['Failed, by reason', reasonsText(report)],
    ['Conflicts (somebody else changed the same field)', changesText(report.changes, 'conflict')],
    ['Failed', changesText(report.changes, 'failed')],
    ['Sent without an answer (the next push sends them again)', changesText(report.changes, 'sending')],
    ['Notes', list(report.notes)],
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
    ['published', published === null ? 'nothing' : `${published.path} (${bytes(published.bytes)})`],
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

function changeText({ entityType, entityId, source, sourceRow, error }: ChangeResult): string {
  const row = sourceRow === null ? source : `${source} row ${sourceRow}`;
  return `${entityType} ${entityId} (${row}): ${error ?? 'no reason given'}`;
}

function nextSteps({ conflict, failed, left }: PushReport): string[] {
  return [
    ...(conflict > 0
      ? [
          'Decide the conflicts: `signalhouse changes retry ID --overwrite`, `signalhouse changes cancel ID`, or import a new sheet.',
        ]
      : []),
    ...(failed.total > 0 ? ['List what failed: `signalhouse changes list --status failed`.'] : []),
    ...(left.queued + left.sending > 0 ? ['The rest stays queued: run push again.'] : []),
  ];
}

/** What a push would send, for people. Every request is printed. */
export function previewSummary(preview: PushPreview): string {
  const { requests, conflicts, failures, unchanged, spent } = preview;
  const lines = requests.map(({ method, path, body, again }) => {
    const before = again ? '  (sent before, without an answer)' : '';
    return `${method} ${path} ${JSON.stringify(body)}${before}`;
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
    ['Conflicts (somebody else changed the same field)', changesText(conflicts, 'conflict')],
    ['Would fail', changesText(failures, 'failed')],
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
    rejected: ({ problems, path }: InboxFile) =>
      `rejected for ${counted(problems, 'problem')}; moved to ${path}, with the reasons beside it`,
    waiting: ({ queued }: InboxFile) =>
      `${counted(queued, 'change')}; it stays here until all of them are settled`,
    being_written: () => 'is still being written; the next run imports it',
  };
  return sections([
    ['Drop folder', list(files.map((file) => `${file.name}: ${describe[file.outcome](file)}`))],
  ]);
}
