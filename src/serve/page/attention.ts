import { type Contents, type Facts, firstPullText, freshnessState } from '../../base/facts.js';
import { estimateText, isOverBound } from '../../base/freshness-estimate.js';
import { counted } from '../../base/units.js';
import type { Times } from '../../view/times.js';
import type { JobKind } from '../schedule/job.js';
import type { ScheduleView } from '../schedule/record.js';
import { allRuns, otherHolder, type RunLine } from './runs.js';

/** Something that a person should do: what is wrong, why, and the commands that fix it or show more. */
export interface Attention {
  /** `bad`: something does not work; `warn`: it works, and a person has to decide or look. */
  readonly tone: 'bad' | 'warn';
  readonly title: string;
  readonly reason: string;
  readonly commands: readonly string[];
  /** The run that it is about, when the page has one. */
  readonly runId?: string | undefined;
}

function bad(title: string, reason: string, ...commands: readonly string[]): Attention {
  return { tone: 'bad', title, reason, commands };
}

function warning(title: string, reason: string, ...commands: readonly string[]): Attention {
  return { tone: 'warn', title, reason, commands };
}

/**
 * Problems that need attention, the worst first; empty when all is well. `problem` is why the facts cannot be read, `organization` the
 * name in the settings that the commands have to give, where there are several.
 */
export function attention(
  known: { readonly facts: Facts | null; readonly problem: string | null; readonly schedule: ScheduleView },
  times: Times,
  organization?: string,
): Attention[] {
  const { facts, problem, schedule } = known;
  const items = [
    ...(problem === null ? [] : [bad('The warehouse cannot be read', problem, 'signalhouse doctor')]),
    ...outage(schedule),
    ...failedJobs(schedule),
    ...failedCommands(allRuns(facts, schedule)),
    ...(facts === null ? [] : ofFacts(facts, schedule, times)),
  ];
  const of = organization === undefined ? '' : ` --organization ${organization}`;
  return items
    .map((item) => ({ ...item, commands: item.commands.map((command) => `${command}${of}`) }))
    .toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
}

function outage({ running }: ScheduleView): Attention[] {
  if (!running?.outage) return [];
  const reason = `${running.job} waits for it: ${running.outage.reason}`;
  return [bad('The API does not answer', reason, 'signalhouse doctor')];
}

const commandOf: Readonly<Record<JobKind, string>> = {
  sync: 'signalhouse sync',
  push: 'signalhouse push',
  'sync+push': 'signalhouse sync --push',
  export: 'signalhouse doctor',
  digest: 'signalhouse report --digest',
  lake: 'signalhouse lake publish',
};

function failedJobs({ jobs, history }: ScheduleView): Attention[] {
  return jobs.flatMap(({ name, run, unavailableSince }) => {
    const last = history.find(
      ({ job, outcome }) => job === name && outcome !== 'skipped' && outcome !== 'interrupted',
    );
    if (last === undefined) return [];
    const { outcome, exitCode, message, runIds } = last;
    if (outcome === 'unavailable')
      return unavailableSince === null ? [] : [bad('The API does not answer', message, 'signalhouse doctor')];
    // A refused key or a wrong setting needs a person; everything else is worth another run.
    const again = exitCode === 5 || exitCode === 2 ? 'signalhouse doctor' : commandOf[run];
    return ended(name, outcome, message, again, runIds?.at(-1));
  });
}

/** The last sync and the last push, where no job of serve made them. */
function failedCommands(runs: readonly RunLine[]): Attention[] {
  return (['sync', 'push'] as const).flatMap((command) => {
    const last = runs.find(
      (run) => run.command === command && run.stored !== null && run.outcome !== 'running',
    );
    if (last === undefined || last.job !== null || last.id === null) return [];
    const reason = last.message ?? 'Its page shows what happened.';
    return ended(`The last ${command}`, last.outcome, reason, commandOf[command], last.id);
  });
}

/** A run that did not end well; `again` is the command that does its work again. */
function ended(
  what: string,
  outcome: string,
  reason: string,
  again: string,
  runId: string | undefined,
): Attention[] {
  if (outcome === 'failed') return [{ ...bad(`${what} failed`, reason, again), runId }];
  if (outcome !== 'incomplete') return [];
  return [{ ...warning(`${what} is incomplete`, reason, 'signalhouse status'), runId }];
}

function ofFacts(facts: Facts, schedule: ScheduleView, times: Times): Attention[] {
  if (facts.contents === null) {
    if (schedule.running !== null || otherHolder(facts) !== null) return [];
    const reason =
      'No sync has ended yet. The first one fetches everything, which takes about an hour for 8,000 requests.';
    return [warning('There is no data yet', reason, 'signalhouse plan', 'signalhouse sync')];
  }
  const { contents, foreignLogs = [] } = facts;
  return [
    ...freshness(facts, times),
    ...firstPull(contents),
    ...outOfDate(contents),
    ...heldBack(contents),
    ...changes(facts, schedule),
    ...rejected(contents),
    ...contents.userViews.flatMap(({ file, error }) => {
      const reason = `${error}. Correct the file in views/ of the data directory; the next publish reads it again.`;
      return error === null
        ? []
        : warning(`The view file ${file} was left out`, reason, 'signalhouse status');
    }),
    ...foreignLogs.map((name) =>
      warning(
        `Another program left ${name}`,
        'It opened the published file for writing. Readers may see its changes, or fail, until the next publication removes the log.',
        'signalhouse sync',
      ),
    ),
  ];
}

function freshness(facts: Facts, times: Times): Attention[] {
  const inState = (state: 'stale' | 'never') =>
    facts.freshness.filter((one) => freshnessState(one, times.now) === state).map(({ resource }) => resource);
  const item = (names: readonly string[], is: string, are: string, reason: string) => {
    const title = `The ${listed(names)} ${names.length === 1 ? `list ${is}` : `lists ${are}`}`;
    return names.length === 0 ? [] : [bad(title, reason, `signalhouse sync --only ${names.join(',')}`)];
  };
  return [
    ...item(
      inState('stale'),
      'is stale',
      'are stale',
      'No scan was complete within the time that serve.freshness allows.',
    ),
    ...item(
      inState('never'),
      'was never read completely',
      'were never read completely',
      'No scan was complete yet; what was read is in the tables.',
    ),
  ];
}

function firstPull(contents: Contents): Attention[] {
  const missing = firstPullText(contents);
  const reason = `${missing}. Each sync goes on where the last one ended.`;
  return missing === null ? [] : [warning('The first pull is not complete', reason, 'signalhouse sync')];
}

function outOfDate({ estimates }: Contents): Attention[] {
  return estimates.filter(isOverBound).map((one) => {
    const reason = `${estimateText(one)}. It is fetched more often now; a smaller sync.recheck does more.`;
    return bad(`Too much of ${one.resource} is out of date`, reason, 'signalhouse status');
  });
}

function heldBack({ fused }: Contents): Attention[] {
  if (fused.length === 0) return [];
  return [
    warning(
      `Deletions of ${listed(fused.map(({ endpoint }) => endpoint))} are held back`,
      'The last sync missed more of them than sync.deletes allows. If they are really gone, accept the deletions.',
      'signalhouse sync --accept-deletes',
    ),
  ];
}

function changes({ queue }: Facts, { jobs }: ScheduleView): Attention[] {
  const items: Attention[] = [];
  const { conflict = 0, failed = 0, queued = 0 } = queue;
  if (conflict > 0) {
    const title = `${counted(conflict, 'change')} ${conflict === 1 ? 'is' : 'are'} in conflict`;
    const reason = 'The API has another value than the one that the change was based on. Decide each one.';
    items.push(warning(title, reason, 'signalhouse changes list --status conflict'));
  }
  if (failed > 0) {
    const reason = 'The API refused them, or did not show the wanted value afterwards.';
    const title = `${counted(failed, 'change')} failed`;
    items.push(warning(title, reason, 'signalhouse changes list --status failed'));
  }
  if (queued > 0 && !jobs.some(({ run }) => run === 'push' || run === 'sync+push')) {
    const title = `${counted(queued, 'change')} ${queued === 1 ? 'waits' : 'wait'} to be sent`;
    items.push(warning(title, 'No job sends changes.', 'signalhouse push'));
  }
  return items;
}

function rejected({ rejected: all }: Contents): Attention[] {
  const records = all.reduce((sum, one) => sum + one.records, 0);
  if (records === 0) return [];
  const places = listed(all.slice(0, 3).map(({ endpoint }) => endpoint));
  return [
    warning(
      `${counted(records, 'record')} of ${places} ${records === 1 ? 'is' : 'are'} rejected`,
      `The API returned them in an unexpected form, so the tables do not have them. Example: ${all[0]?.example ?? ''}`,
      'signalhouse sql "SELECT endpoint, id, path, reason FROM ops.rejected_records WHERE resolved_at IS NULL"',
    ),
  ];
}

/** `topics, people and companies`. */
function listed(names: readonly string[]): string {
  return new Intl.ListFormat('en-GB').format(names);
}
