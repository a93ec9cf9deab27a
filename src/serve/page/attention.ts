import { type Facts, freshnessState } from '../../base/facts.js';
import { type Html, html } from '../../base/html.js';
import { counted } from '../../base/units.js';
import type { JobKind } from '../schedule/job.js';
import type { RunRecord } from '../schedule/record.js';
import type { ScheduleView } from '../schedule/view.js';
import { listed, section, type Times } from './html.js';
import { allRuns, otherHolder, type RunLine } from './runs.js';

/** Something that a person should do: what is wrong, why, and the commands that fix it or show more. */
export interface Attention {
  /** `bad`: something does not work; `warn`: it works, and somebody has to decide or look. */
  readonly tone: 'bad' | 'warn';
  readonly title: string;
  readonly reason: string;
  readonly commands: readonly string[];
  /** The run that it is about, when the page has one. */
  readonly runId?: string | undefined;
}

interface Known {
  readonly facts: Facts | null;
  readonly problem: string | null;
  readonly schedule: ScheduleView;
}

/** What needs attention, the worst first; empty when all is well. */
export function attention(known: Known, times: Times): Attention[] {
  const { facts, problem, schedule } = known;
  const runs = allRuns(facts, schedule);
  const items = [
    ...unreadable(problem),
    ...outage(schedule),
    ...failedJobs(schedule),
    ...failedCommands(runs),
    ...(facts === null ? [] : ofFacts(facts, schedule, times)),
  ];
  return items.toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
}

function unreadable(problem: string | null): Attention[] {
  if (problem === null) return [];
  const title = 'The warehouse cannot be read';
  return [{ tone: 'bad', title, reason: problem, commands: ['signalhouse doctor'] }];
}

function outage({ running }: ScheduleView): Attention[] {
  if (!running?.outage) return [];
  const { reason } = running.outage;
  const title = 'The API does not answer';
  return [
    {
      tone: 'bad',
      title,
      reason: `${running.job} waits for it: ${reason}`,
      commands: ['signalhouse doctor'],
    },
  ];
}

const commandOf: Readonly<Record<JobKind, string>> = {
  sync: 'signalhouse sync',
  push: 'signalhouse push',
  'sync+push': 'signalhouse sync --push',
  export: 'signalhouse doctor',
  lake: 'signalhouse lake publish',
};

function failedJobs({ jobs, history }: ScheduleView): Attention[] {
  return jobs.flatMap(({ name, run }): Attention[] => {
    const last = history.find(
      ({ job, outcome }) => job === name && outcome !== 'skipped' && outcome !== 'interrupted',
    );
    if (last === undefined) return [];
    const about = { reason: last.message, runId: last.runIds?.at(-1) };
    if (last.outcome === 'failed')
      return [{ tone: 'bad', title: `${name} failed`, ...about, commands: [remedy(last, commandOf[run])] }];
    return last.outcome === 'incomplete'
      ? [{ tone: 'warn', title: `${name} is incomplete`, ...about, commands: ['signalhouse status'] }]
      : [];
  });
}

/** A refused key or a wrong setting does not get better by itself; everything else is worth another run. */
function remedy({ exitCode }: RunRecord, again: string): string {
  return exitCode === 5 || exitCode === 2 ? 'signalhouse doctor' : again;
}

/** The last sync and the last push, where no job of serve made them. */
function failedCommands(runs: readonly RunLine[]): Attention[] {
  return (['sync', 'push'] as const).flatMap((command): Attention[] => {
    const last = runs.find(
      (run) => run.command === command && run.stored !== null && run.outcome !== 'running',
    );
    if (last === undefined || last.job !== null || last.id === null) return [];
    const about = { reason: last.message ?? 'Its page shows what happened.', runId: last.id };
    if (last.outcome === 'failed')
      return [{ tone: 'bad', title: `The last ${command} failed`, ...about, commands: [commandOf[command]] }];
    return last.outcome === 'incomplete'
      ? [
          {
            tone: 'warn',
            title: `The last ${command} is incomplete`,
            ...about,
            commands: ['signalhouse status'],
          },
        ]
      : [];
  });
}

function ofFacts(facts: Facts, schedule: ScheduleView, times: Times): Attention[] {
  if (facts.contents === null) {
    if (schedule.running !== null || otherHolder(facts) !== null) return [];
    return [
      {
        tone: 'warn',
        title: 'There is no data yet',
        reason:
          'No sync has ended yet. The first one fetches everything, which takes about an hour for 8,000 requests.',
        commands: ['signalhouse plan', 'signalhouse sync'],
      },
    ];
  }
  return [
    ...freshness(facts, times),
    ...fused(facts),
    ...changes(facts, schedule),
    ...rejected(facts),
    ...brokenViews(facts),
    ...foreignLogs(facts),
  ];
}

function foreignLogs({ foreignLogs = [] }: Facts): Attention[] {
  return foreignLogs.map((name) => ({
    tone: 'warn',
    title: `Another program left ${name}`,
    reason:
      'It opened the published file for writing. Readers may see its changes, or fail, until the next publication removes the log.',
    commands: ['signalhouse sync'],
  }));
}

function brokenViews({ contents }: Facts): Attention[] {
  return (contents?.userViews ?? []).flatMap(({ file, error }): Attention[] =>
    error === null
      ? []
      : [
          {
            tone: 'warn',
            title: `The view file ${file} was left out`,
            reason: `${error}. Correct the file in views/ of the data directory; the next publish reads it again.`,
            commands: ['signalhouse status'],
          },
        ],
  );
}

function freshness(facts: Facts, times: Times): Attention[] {
  const inState = (state: 'stale' | 'never') =>
    facts.freshness.filter((one) => freshnessState(one, times.now) === state).map(({ resource }) => resource);
  const [stale, never] = [inState('stale'), inState('never')];
  const command = (names: readonly string[]) => [`signalhouse sync --only ${names.join(',')}`];
  const items: Attention[] = [];
  if (stale.length > 0) {
    items.push({
      tone: 'bad',
      title: `The ${listed(stale)} ${stale.length === 1 ? 'list is' : 'lists are'} stale`,
      reason: 'No scan was complete and verified within the time that serve.freshness allows.',
      commands: command(stale),
    });
  }
  if (never.length > 0) {
    items.push({
      tone: 'bad',
      title: `The ${listed(never)} ${never.length === 1 ? 'list was' : 'lists were'} never read completely`,
      reason: 'No scan was complete and verified yet; what was read is in the tables.',
      commands: command(never),
    });
  }
  return items;
}

function fused({ contents }: Facts): Attention[] {
  const names = (contents?.fused ?? []).map(({ endpoint }) => endpoint);
  if (names.length === 0) return [];
  return [
    {
      tone: 'warn',
      title: `Deletions of ${listed(names)} are held back`,
      reason:
        'The last sync missed more of them than the fuse allows. If they are really gone, accept the deletions.',
      commands: ['signalhouse sync --accept-deletes'],
    },
  ];
}

function changes({ queue }: Facts, { jobs }: ScheduleView): Attention[] {
  const items: Attention[] = [];
  const { conflict = 0, failed = 0, queued = 0 } = queue;
  const be = (number: number) => (number === 1 ? 'is' : 'are');
  if (conflict > 0) {
    items.push({
      tone: 'warn',
      title: `${counted(conflict, 'change')} ${be(conflict)} in conflict`,
      reason: 'The API has another value than the one that the change was based on. Decide each one.',
      commands: ['signalhouse changes list --status conflict'],
    });
  }
  if (failed > 0) {
    items.push({
      tone: 'warn',
      title: `${counted(failed, 'change')} failed`,
      reason: 'The API refused them, or did not show the wanted value afterwards.',
      commands: ['signalhouse changes list --status failed'],
    });
  }
  if (queued > 0 && !jobs.some(({ run }) => run === 'push' || run === 'sync+push')) {
    items.push({
      tone: 'warn',
      title: `${counted(queued, 'change')} ${queued === 1 ? 'waits' : 'wait'} to be sent`,
      reason: 'No job sends changes.',
      commands: ['signalhouse push'],
    });
  }
  return items;
}

function rejected({ contents }: Facts): Attention[] {
  const all = contents?.rejected ?? [];
  const records = all.reduce((sum, one) => sum + one.records, 0);
  if (records === 0) return [];
  return [
    {
      tone: 'warn',
      title: `${counted(records, 'record')} of ${listed(all.slice(0, 3).map(({ endpoint }) => endpoint))} ${records === 1 ? 'is' : 'are'} rejected`,
      reason: `The API returned them in an unexpected form, so the tables do not have them. Example: ${all[0]?.example ?? ''}`,
      commands: [
        'signalhouse sql "SELECT endpoint, id, path, reason FROM ops.rejected_records WHERE resolved_at IS NULL"',
      ],
    },
  ];
}

/** What needs attention, each with its commands; null when nothing does. `link` links to the page of a run. */
export function attentionSection(
  items: readonly Attention[],
  link: (runId: string) => Html | null,
): Html | null {
  if (items.length === 0) return null;
  const entries = items.map(
    ({ tone, title, reason, commands, runId }) => html`<li class="${tone}">
<h3>${title}</h3>
<p class="message">${reason}${runId === undefined ? null : html` ${link(runId)}`}</p>
${commands.map((command) => html`<div class="command"><code>${command}</code><button type="button" class="copy">Copy</button></div>`)}
</li>\n`,
  );
  return section('attention', 'What to do', html`<ol class="attention">${entries}</ol>`);
}
