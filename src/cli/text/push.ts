import { bytes, count, counted, duration } from '../../base/units.js';
import type { InboxFile } from '../../push/inbox.js';
import type { ChangeResult, PushReport } from '../../push/run.js';
import { decisionSections, placeOf } from './changes.js';
import { countsTable, type Fact, list, pairs, sections, some } from './layout.js';
import { costText, nameOf, outcomeText } from './sync.js';

/** Not every conflict is about a colleague: what each one met, it says itself. */
const conflictHeading = 'Conflicts (a person decides)';

export function pushSummary(report: PushReport): string {
  const { changes, failed, notes } = report;
  return sections([
    [`Push ${report.runId}: ${outcomeText(report, 'with failures or conflicts')}`, pairs(facts(report))],
    ['Failed, by reason', countsTable('reason', 'changes', failed.byReason, { largestFirst: true })],
    [conflictHeading, conflictsText(changes)],
    ['Failed', changesText(changes, 'failed')],
    ['Sent without an answer (the next push reads what became of them)', changesText(changes, 'sending')],
    ['Notes', list(notes)],
    ...decisionSections(changes),
    ['Next steps', list(nextSteps(report))],
  ]);
}

function facts(report: PushReport): Fact[] {
  const { organization, requests, left, published, failed } = report;
  return [
    ['organization', nameOf(organization)],
    ['took', `${duration(report.minutes * 60_000)}, ${counted(requests.total, 'request')}`],
    ['applied', report.applied],
    ['unchanged', `${count(report.unchanged)} (already up to date)`],
    ['conflict', report.conflict],
    ['failed', failed.total],
    ['left', left.queued + left.sending === 0 ? 'nothing' : leftText(left)],
    [
      'published',
      published === null ? 'nothing has changed' : `${published.path} (${bytes(published.bytes)})`,
    ],
    ['result', report.result],
  ];
}

function leftText({ queued, sending, ...cost }: PushReport['left']): string {
  const open = sending === 0 ? '' : `, ${count(sending)} sent without an answer`;
  return `${count(queued)} queued${open} (${costText(cost)})`;
}

function changesText(changes: readonly ChangeResult[], status: ChangeResult['status']): string {
  return list(some(changes.filter((change) => change.status === status).map(changeText)));
}

/** What a change is about and where it comes from (title, id and row), and why it did not go through. */
function changeText(change: ChangeResult): string {
  const { entityType, entityId, title, error } = change;
  const place = placeOf(change);
  const name =
    title === null
      ? `${entityType} ${entityId} (${place})`
      : `${title} (${entityType} ${entityId}, ${place})`;
  return `${name}: ${error ?? 'no reason given'}`;
}

/** Each conflict with both values, and its id for the commands that decide it. */
function conflictsText(changes: readonly ChangeResult[]): string {
  const found = changes.filter(({ status }) => status === 'conflict');
  return list(some(found.map((change) => `${changeText(change)}. Id: ${change.id}`)));
}

function nextSteps({ failed, left }: PushReport): string[] {
  return [
    ...(failed.total > 0 ? ['List what failed: `signalhouse changes list --status failed`.'] : []),
    ...(left.queued + left.sending > 0 ? ['The rest stays queued: run push again.'] : []),
  ];
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
  ]);
}
