import { cut, oneLine } from '../base/display-width.js';
import { leftDue } from '../base/facts.js';
import type { Json } from '../base/json.js';
import { ago, count, counted, duration, moment } from '../base/units.js';
import type { DueCode, ExplainedChild } from '../sync/why.js';
import { decisionCommands, decisionHeading } from '../view/changes.js';
import type { Block, Fact, Table, View } from '../view/view.js';
import type { Explanation, TimelineEvent } from './explain.js';

/** The most lines of a section; `--json` has all of them. */
const maxLines = 12;
const maxRequests = 8;

/** The view of one explained entity. */
export function explanationView(explanation: Explanation): View {
  const { kind, id, name, rejected, children, conflicts } = explanation;
  const isAnyDue = children.some(({ isDue }) => isDue);
  const open = rejected.filter(({ resolvedAt }) => resolvedAt === null);
  const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${id}`;
  const heading = cut(`${title}${name === null ? '' : `: ${oneLine(name)}`}`, 80);
  return [
    { id: 'entity', heading, blocks: [{ facts: facts(explanation) }] },
    { id: 'latest', heading: 'Latest messages', blocks: [{ facts: latestMessages(explanation) }] },
    { id: 'due', heading: 'What a sync requests next, and why', blocks: [childrenBlock(explanation)] },
    {
      id: 'fetch',
      heading: 'Fetch what is due',
      blocks: [{ commands: isAnyDue ? ['signalhouse sync'] : [] }],
    },
    {
      id: 'rejected',
      heading: 'Rejected records (ops.rejected_records)',
      blocks: [{ list: open.map(rejectedText) }],
    },
    {
      id: 'decide',
      heading: decisionHeading,
      blocks: [{ commands: conflicts.length === 0 ? [] : decisionCommands(conflicts.join(' ')) }],
    },
    { id: 'timeline', heading: 'Timeline, newest first', blocks: timelineBlocks(explanation) },
    { id: 'requests', heading: 'Requests, newest first', blocks: requestBlocks(explanation) },
    { id: 'runs', heading: 'Runs that requested or changed it', blocks: runBlocks(explanation) },
  ];
}

function facts(explanation: Explanation): Fact[] {
  const { row, presence, publishedAt, holder, now, lastSync, children } = explanation;
  const at = Date.parse(now);
  const newer = holder ? `; ${holder.command} (process ${holder.pid}) is working on a newer one` : '';
  const noDetail = presence?.detailUnavailableReason ?? null;
  const due = lastSync?.leftDue ?? 0;
  const left = lastSync && leftDue({ due, complete: lastSync.complete }, counted(due, 'fetch', 'fetches'));
  const failed = (lastSync?.failedResources ?? []).filter((one) =>
    children.some(({ resource }) => resource === one),
  );
  return [
    row === null ? ['row', 'none: its record was rejected (below)'] : ['state', stateOf(row)],
    ['companies', whoText(explanation, 'company')],
    ['people', whoText(explanation, 'person')],
    ['in its list', presence && presenceText(presence, row, at)],
    ['no detail', noDetail && `listed, but answered 404 by id: ${noDetail}`],
    ['as published', `${ago(publishedAt, at)}${newer}`],
    ['last sync', lastSync?.stoppedBy ? `stopped (${lastSync.stoppedBy}); left due: ${left}` : null],
    [
      'gave up',
      failed.length === 0
        ? null
        : `the last sync stopped asking for ${failed.join(', ')}: see signalhouse status`,
    ],
  ];
}

/** The people or companies that write most about it, with their messages. */
function whoText({ around }: Explanation, wanted: 'company' | 'person'): string | null {
  const found = around.filter(({ what }) => what === wanted);
  if (found.length === 0) return null;
  return found
    .map(({ name, messages }) => `${oneLine(name ?? '(no name)')} (${count(messages ?? 0)})`)
    .join(', ');
}

function latestMessages({ around }: Explanation): Fact[] {
  const messages = around.filter(({ what }) => what === 'message');
  return messages.map(({ at, name, text }) => [
    at === null ? 'no time' : moment(at),
    `${oneLine(name ?? 'unknown')}: ${valueText(text)}`,
  ]);
}

/** The most informative columns of a row. */
const telling =
  `lifecycle_state priority graph_status is_vip is_org_company primary_domain primary_email company_id topic_id
  total_group_count conversation_count person_count message_count updated_at last_seen_at start_timestamp end_timestamp
  archived_at archived_reason merged_into_id synced_at`.split(/\s+/);

function stateOf(row: NonNullable<Explanation['row']>): string {
  return telling
    .flatMap((column) => {
      const value = row[column];
      return value === null || value === undefined || value === false
        ? []
        : `${column.replaceAll('_', ' ')} ${valueText(value)}`;
    })
    .join(', ');
}

function presenceText(
  presence: NonNullable<Explanation['presence']>,
  row: Explanation['row'],
  now: number,
): string {
  const { deletedAt, deletedReason, unlistedSince, itemAt, evidence, scanAt, scanVerified, scanIds } =
    presence;
  if (deletedAt === null && unlistedSince === null)
    return itemAt === null ? 'no list had it yet' : `yes; its item last changed ${ago(itemAt, now)}`;
  const merged = row?.merged_into_id ? `, merged into ${row.merged_into_id}` : '';
  const what =
    deletedAt === null
      ? `no, since ${moment(unlistedSince ?? now)}, but it is answered by id`
      : `no: deleted, found ${moment(deletedAt)} (${deletedReason ?? 'no reason given'})${merged}`;
  const proofs: string[] = [];
  if (evidence) {
    const { method, path, status, at } = evidence;
    proofs.push(`${method} ${path} answered ${status} at ${moment(at)}`);
  }
  if (scanAt !== null) {
    const scan = `${scanVerified ? 'verified ' : ''}scan of ${moment(scanAt)}`;
    proofs.push(`the ${scan} (${counted(scanIds ?? 0, 'id')}) did not have it`);
  }
  return proofs.length === 0 ? what : `${what}. Evidence: ${proofs.join('; ')}`;
}

function childrenBlock({ kind, children, now }: Explanation): Block {
  if (children.length === 0) return { sentence: 'nothing: no topic, company or person has it any more' };
  const at = Date.parse(now);
  const facts = children.map((child): Fact => {
    const parent = kind === 'conversation' ? `(of ${child.entityId}) ` : '';
    return [child.resource, `${parent}${childText(child, at)}`];
  });
  return { facts };
}

type AskedChild = ExplainedChild & Partial<Pick<Explanation['children'][number], 'lastRequest'>>;

/** Whether a child is due, and why, in a sentence. */
export function childText(child: AskedChild, now: number): string {
  const { isDue, why, mayBeExplained, last, sweepAt, maxAgeDays, measured, resource } = child;
  const state = isDue ? 'DUE' : sweepAt === null ? 'not requested' : 'not due';
  const asked = last === null ? '' : askedText(child, last, now);
  const days = Number(maxAgeDays.toFixed(1));
  const reason =
    measured === null
      ? ''
      : `: ${resource} changes unannounced once in ${count(Math.round(measured.daysBetween))} days by ${counted(measured.checks, 'check')}, so it is read every ${days} days`;
  const latest = sweepAt === null ? '' : `; again at the latest ${moment(sweepAt)}${reason}`;
  const texts: Record<DueCode, string> = {
    never_requested: 'it was never requested',
    no_answer: `the last request failed, ${asked}`,
    removed: `nothing of it is stored (${last?.reason ?? 'removed'}), ${asked}`,
    changed: `${changesText(child)} since it was fetched, ${asked}${mayBeExplained ? '; not requested where changed topics, which are read before, bring all that is counted' : ''}`,
    explained: `${changesText(child)}, and all that is counted came with topics; fetched ${asked}${latest}`,
    touched: `a merge, a move or a deletion concerns it since it was fetched, ${asked}`,
    asked_again: `the last answer was in doubt, or not all of it could be stored (${last?.reason?.replace('again: ', '') ?? 'unconfirmed'}), so it is requested again at growing intervals; fetched ${asked}${latest}`,
    old: `older than its ${days} days allow, ${asked}; it was due ${moment(sweepAt ?? now)}${reason}`,
    unchanged: `its list shows no change since it was fetched, ${asked}${latest}`,
    only_a_message: `${changesText(child)}, but the last message explains that; fetched ${asked}${latest}`,
    refused: `refused ${asked}; requested again when it changes${latest}`,
    too_large: `${asked}; requested again when it changes${latest}`,
    id_not_valid: `its id is not valid in a path${latest}`,
    not_listed: 'no list has it, and only listed items are asked about',
    deleted: 'it is deleted',
    unlisted: 'it is not in its list any more, and asked for by id less and less often',
    id_not_digits: 'the API takes ids of digits only',
    in_list: 'the list item has every field of it',
    migrated: 'archived in the v1 to v2 migration: the API answers 404',
    setting: 'sync.personGroups is never',
    with_company: 'the conversations of the company have it (sync.personGroups)',
    company_unknown: 'the detail has to say first whether there is a company',
  };
  return `${state}: ${texts[why]}`;
}

function askedText(
  { lastRequest }: AskedChild,
  { at, status, error, reason, attempts }: NonNullable<ExplainedChild['last']>,
  now: number,
): string {
  const answeredAt = at ?? lastRequest?.at;
  const when = answeredAt ? ago(answeredAt, now) : 'at an unknown time';
  const answer = status === null ? '' : ` (${[status, reason].filter((one) => one !== null).join(', ')})`;
  const isRefusal = status !== null && status < 500;
  if (error === null || isRefusal) return `${when}${answer}`;
  const tries = attempts > 1 ? `, ${count(attempts)} times` : '';
  // An earlier answer keeps its date, and the failure comes after it.
  return at === null
    ? `${when}${answer}${tries}: ${error}`
    : `${when}; the request after that failed${answer}${tries}: ${error}`;
}

function changesText({ changes, oneOf }: ExplainedChild): string {
  const known = changes.map(({ field, before, now, isKnown }) =>
    isKnown ? `${field} ${before ?? '(none)'} -> ${now ?? '(none)'}` : `${field} changed`,
  );
  if (oneOf.length > 0) known.push(`one of ${oneOf.join(', ')} changed (what they were is not stored)`);
  return known.length === 0 ? 'the fields that count were different' : known.join(', ');
}

const kindsOfEvent: Readonly<Record<TimelineEvent['kind'], string>> = {
  seen: 'sync',
  history: 'API history',
  change: 'our change',
  merge: 'merge',
  deleted: 'deleted',
  unlisted: 'unlisted',
  messages: 'messages',
};

function timelineBlocks({ timeline }: Explanation): Block[] {
  const shown = timeline.slice(0, maxLines);
  const facts = shown.map((event): Fact => [moment(event.at), eventText(event)]);
  return [{ facts }, moreThan(shown.length, timeline.length)];
}

function moreThan(shown: number, total: number): Block {
  return { sentence: total > shown ? `and ${count(total - shown)} more (--json has them all)` : null };
}

function eventText({ kind, by, text, fields }: TimelineEvent): string {
  const changes = fields.map(
    ({ field, before, now }) => `${field} ${valueText(before)} -> ${valueText(now)}`,
  );
  const what = [...(text === null ? [] : [text]), ...changes].join(', ');
  return `${kindsOfEvent[kind]}${by === null ? '' : ` by ${by}`}: ${what || 'nothing that is stored changed'}`;
}

function valueText(value: Json | undefined): string {
  if (value === null || value === undefined || value === '') return '(none)';
  const text = typeof value === 'string' ? oneLine(value) : JSON.stringify(value);
  return cut(/^\d{4}-\d\d-\d\dT/.test(text) ? moment(text) : text, 50);
}

function rejectedText({ endpoint, id, path, reason, lastSeenAt }: Explanation['rejected'][number]): string {
  const what = id === null ? endpoint : `${endpoint} ${id}`;
  return `${what}: ${path}: ${reason} (last seen ${moment(lastSeenAt)})`;
}

function requestBlocks({ requests, id }: Explanation): Block[] {
  const { newest, total } = requests;
  if (newest.length === 0) return [{ sentence: 'none is recorded (requests are kept for 30 days)' }];
  const rows = newest.slice(0, maxRequests).map(({ at, method, path, status, ms, error }) => [
    moment(at),
    // The id is above, and would push what follows it out of the line.
    `${method} ${path.replace(`/${encodeURIComponent(id)}`, '/{id}')}`,
    status === null ? (error ?? 'no answer') : String(status),
    ms,
  ]);
  const table: Table = { columns: ['at', 'request', 'status', 'ms#'], rows };
  return [table, moreThan(rows.length, total)];
}

function runBlocks({ runs, requests }: Explanation): Block[] {
  if (runs.length === 0) return [{ sentence: 'none is recorded (retention.recordsDays)' }];
  const rows = runs
    .slice(0, maxRequests)
    .map(({ runId, command, startedAt, endedAt, outcome, documents }) => [
      startedAt === null ? runId : moment(startedAt),
      command,
      outcome,
      startedAt === null || endedAt === null ? null : duration(Date.parse(endedAt) - Date.parse(startedAt)),
      requests.newest.filter((one) => one.runId === runId).length,
      documents,
    ]);
  const columns = ['started', 'command', 'outcome', 'took', 'requests#', 'documents#'];
  return [{ columns, rows }, moreThan(rows.length, runs.length)];
}
