import type { Iso } from '../base/clock.js';
import type { FreshnessEstimate } from '../base/freshness-estimate.js';
import type { Snapshot } from '../read/query.js';
import { sqlFile } from '../store/sql.js';

/** Everything that the report shows, as the views give it. Rows are in the order in which they are shown. */
export interface ReportData {
  readonly header: {
    readonly organization: string | null;
    /** Ages and trends count back from here; null when there is no data yet. */
    readonly as_of: Iso | null;
    readonly last_sync_at: Iso | null;
    readonly since: Iso | null;
  };
  readonly totals: Totals;
  readonly backlog: readonly BacklogCount[];
  readonly backlogWeeks: readonly BacklogWeek[];
  readonly growing: readonly GrowingTopic[];
  readonly newTopics: readonly NewTopic[];
  readonly waiting: readonly WaitingBucket[];
  readonly longestWaiting: readonly WaitingConversation[];
  readonly responseTimes: readonly ResponseMonth[];
  /** Empty without service levels. */
  readonly serviceLevels: readonly ServiceLevelWeek[];
  readonly serviceLevelPeople: readonly ServiceLevelPerson[];
  readonly companies: readonly CompanyAtRisk[];
  readonly duplicates: readonly DuplicatePair[];
  readonly sources: readonly SourceWeek[];
  readonly changes: readonly { readonly what: string; readonly times: number }[];
  readonly latestChanges: readonly TopicChange[];
  readonly pushed: readonly { readonly status: string; readonly changes: number }[];
  readonly latestPushed: readonly PushedChange[];
  /** How much is out of date by random checks; null before the first ones. */
  readonly freshness: FreshnessEstimate | null;
}

interface Totals {
  readonly open_topics: number;
  readonly urgent_topics: number;
  readonly waiting: number;
  readonly waiting_vip: number;
  /** Were answered before, and wrote again. */
  readonly waiting_again: number;
  readonly median_hours: number | null;
  readonly messages: number;
  readonly messages_before: number;
  readonly companies: number;
  /** How many are set. */
  readonly service_levels: number;
}

interface BacklogCount {
  readonly priority: string | null;
  readonly state: string;
  readonly topics: number;
}

interface BacklogWeek extends Omit<BacklogCount, 'topics'> {
  /** Its Monday. */
  readonly week: string;
  /** At the end of the week. */
  readonly open: number;
  readonly new: number;
  readonly reopened: number;
  readonly closed: number;
}

/** A list shows its first rows; `found` is how many there are. */
interface Found {
  readonly found: number;
}

interface NewTopic extends Found {
  readonly topic_id: string;
  readonly title: string | null;
  readonly priority: string | null;
  readonly companies: number;
}

interface GrowingTopic extends NewTopic {
  readonly messages: number;
  readonly before: number;
  readonly momentum: number;
}

interface WaitingBucket {
  /** 1 to 6, see sql/report/waiting.sql. */
  readonly bucket: number;
  readonly vip: number;
  readonly others: number;
}

interface WaitingConversation extends Found {
  readonly title: string | null;
  readonly last_message_at: string;
  /** The last author. */
  readonly name: string | null;
  readonly priority: string | null;
  readonly hours: number;
  readonly is_vip: boolean;
  readonly was_answered_before: boolean;
  readonly source: string | null;
  readonly url: string | null;
}

interface ResponseMonth {
  /** Its first day. */
  readonly month: string;
  readonly questions: number;
  readonly answered: number;
  /** Null when none was answered. */
  readonly median_hours: number | null;
  readonly p90_hours: number | null;
}

interface ServiceLevelWeek {
  /** Its Monday. */
  readonly week: string;
  readonly service_level: string;
  readonly in_time: number;
  readonly late: number;
  /** How many of those that are late were never answered. */
  readonly waiting: number;
}

interface ServiceLevelPerson {
  readonly name: string;
  readonly is_team: boolean;
  readonly answers: number;
  readonly late: number;
}

interface CompanyAtRisk extends Found {
  /** How many of those found write much less than before; the others are VIPs that wait. */
  readonly leaving: number;
  readonly company_id: string;
  readonly name: string | null;
  readonly is_vip: boolean;
  readonly trend: string;
  readonly messages: number;
  readonly before: number;
  readonly days_silent: number | null;
  readonly open_topics: number;
  readonly urgent_topics: number;
  readonly waiting: number;
}

/** One row without ids where there are no pairs. */
interface DuplicatePair extends Found {
  readonly entity_type: 'topic' | 'person';
  /** How good such a list was for what was merged in the past, as a sentence. */
  readonly measured: string;
  readonly score: number | null;
  readonly reasons: readonly string[] | null;
  readonly id_1: string | null;
  readonly name_1: string | null;
  readonly id_2: string | null;
  readonly name_2: string | null;
}

interface SourceWeek {
  /** Its Monday. */
  readonly week: string;
  readonly source: string | null;
  readonly messages: number;
}

interface ChangedField extends Found {
  readonly title: string | null;
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly changed_at: Iso;
}

interface TopicChange extends ChangedField {
  readonly topic_id: string;
  readonly changed_by: string | null;
}

interface PushedChange extends ChangedField {
  readonly entity_id: string;
  readonly status: string;
  readonly error: string | null;
  readonly requested_by: string | null;
}

/** Views that several queries read are computed once: with 200,000 messages, each of these views takes up to a second. */
const computedOnce = {
  report_waiting: 'awaiting_reply',
  report_backlog: 'backlog',
  report_service_levels: 'service_level_turns',
} as const;

/**
 * Reads the report's numbers from a snapshot. `since` is where "what changed" starts: by default seven days before the
 * end of the data.
 */
export async function readReport(snapshot: Snapshot, since: Iso | null): Promise<ReportData> {
  const rows = async <T extends object>(name: string, values?: { since: string | null }) =>
    (await snapshot.rows<T>(sqlFile(`report/${name}`), values)).map(withoutEmpty);
  for (const [table, view] of Object.entries(computedOnce))
    await snapshot.rows(`CREATE TEMP TABLE ${table} AS FROM ${view}`);
  const [header] = await rows<ReportData['header']>('header', { since });
  const [totals] = await rows<Totals>('totals');
  if (!header || !totals) throw new Error('the report has no header');
  const from = { since: header.since };
  const [freshness] = await snapshot.rows<FreshnessEstimate>(
    "FROM freshness_estimates WHERE resource = 'all' AND checks > 0",
  );
  return {
    header,
    totals,
    backlog: await rows('backlog'),
    backlogWeeks: await rows('backlog_weeks'),
    growing: await rows('growing'),
    newTopics: await rows('new_topics', from),
    waiting: await rows('waiting'),
    longestWaiting: await rows('longest_waiting'),
    responseTimes: await rows('response_times'),
    serviceLevels: await rows('service_levels'),
    serviceLevelPeople: await rows('service_level_people'),
    companies: await rows('companies'),
    duplicates: await rows('duplicates'),
    sources: await rows('sources'),
    changes: await rows('changes', from),
    latestChanges: await rows('latest_changes', from),
    pushed: await rows('pushed', from),
    latestPushed: await rows('latest_pushed', from),
    freshness: freshness ?? null,
  };
}

/** An empty title or name says as little as none: what has one is shown by its id. */
function withoutEmpty<T extends object>(row: T): T {
  const isEmpty = (value: unknown) => typeof value === 'string' && value.trim() === '';
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, isEmpty(value) ? null : value]),
  ) as T;
}
