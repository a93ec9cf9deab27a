import type { LakeAccess, LakeAfterSync, LakeDropped, LakeReport, LakeStatus } from '../../app/lake.js';
import type { RunSignals } from '../../app/setup.js';
import { ExitCode } from '../../base/errors.js';
import { count, counted, duration } from '../../base/units.js';
import { type Context, command, type Group, toggle } from '../command.js';
import { answer, confirmed, print } from '../output.js';
import { setUpLake } from '../setup.js';
import { interruptible } from '../signals.js';
import { sections, table } from '../text/layout.js';

/** Loaded only now, so that --help does not load a database. */
const app = () => import('../../app/lake.js');

/** Seconds that a commit may take after the first signal. */
const shutdownSeconds = 60;

/** Sets up a command of the lake: the first signal rolls back what is not committed, the second ends the process that writes. */
async function onLake<T>(
  context: Context,
  work: (access: LakeAccess, signals: RunSignals) => Promise<T>,
): Promise<T> {
  const access = await setUpLake(context);
  return interruptible(access, shutdownSeconds, (signals) => work(access, signals));
}

const init = command({
  name: 'init',
  summary: 'Create the namespace of this organization and its tables',
  examples: [
    ['signalhouse lake init', 'Also checks the credentials'],
    ['signalhouse lake init --json', 'What was created, as JSON'],
  ],
  flags: {},
  async run(_flags, context) {
    const { runOnLake } = await app();
    const report = await onLake(context, (access, signals) => runOnLake(access, 'init', signals));
    return answer(context, report, (one) => lakeReportText(one, 'init'));
  },
});

const publish = command({
  name: 'publish',
  summary: 'Make the lake equal to the published file, in one transaction',
  examples: [
    ['signalhouse lake publish', 'What has changed since the last one'],
    ['signalhouse lake publish --compare', 'Also finds what others changed in the lake'],
    ['signalhouse lake publish --json', 'Rows by table, as JSON'],
  ],
  flags: { compare: toggle.describe('Compare every row with the lake, not with the last publication') },
  async run({ compare }, context) {
    const { publishLake } = await app();
    const report = await onLake(context, (access, signals) => publishLake(access, signals, { compare }));
    return answer(context, report, (one) => lakeReportText(one, 'publish'));
  },
});

const status = command({
  name: 'status',
  summary: 'Show rows by table, and whether the lake is behind',
  examples: [
    ['signalhouse lake status', 'Rows and the last publication'],
    ['signalhouse lake status --json | jq .behind', 'Whether it is behind'],
  ],
  flags: {},
  async run(_flags, context) {
    const { runOnLake } = await app();
    const found = await onLake(context, (access, signals) => runOnLake(access, 'status', signals));
    return answer(context, found, lakeStatusText);
  },
});

const drop = command({
  name: 'drop',
  summary: 'Remove the tables of this organization from the lake',
  examples: [
    ['signalhouse lake drop', 'Asks before'],
    ['signalhouse lake drop --yes --json', 'Does not ask, for scripts'],
  ],
  flags: { yes: toggle.describe('Do not ask') },
  async run({ yes }, context) {
    const dropped = await onLake(context, async (access, signals) => {
      if (!yes && !(await isConfirmed(context, access))) return null;
      return (await app()).runOnLake(access, 'drop', signals);
    });
    if (dropped !== null) return answer(context, dropped, lakeDroppedText);
    print('Nothing was removed.');
    return ExitCode.done;
  },
});

function isConfirmed(context: Context, { config }: LakeAccess): Promise<boolean> {
  const { kind, namespace, catalog } = config.lake;
  const what = `this organization from ${namespace} of the ${kind} lake at ${(catalog ?? '').replace(/\/\/[^/?#]*@/, '//')}`;
  return confirmed(
    context,
    `remove ${what}`,
    `Remove ${what}?`,
    'Nothing was removed. Pass --yes to go ahead without a question.',
  );
}

export const lake: Group = {
  name: 'lake',
  summary: 'Publish tables to Iceberg or DuckLake, for Spark, Trino and others',
  commands: [init, publish, status, drop],
  examples: [
    ['signalhouse lake init', 'Create the tables, and check the settings'],
    ['signalhouse lake publish', 'Publish what has changed'],
    ['signalhouse sync --lake', 'Pull, and publish to the lake at the end'],
  ],
};

function lakeReportText(report: LakeReport, command: 'init' | 'publish'): string {
  const { namespace, kind, organization, created, addedColumns, views } = report;
  const rows = Object.entries(report.tables)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { inserted, updated, deleted }]) => [name, inserted, updated, deleted]);
  const leftOut = views.leftOut.join(', ') || 'none';
  const details = sections([
    ['Rows', rows.length > 0 ? table(['table', 'new#', 'changed#', 'deleted#'], rows) : null],
    ['Created tables', created.join(', ')],
    ['Added columns', addedColumns.join(', ')],
    ['Views', views.changed ? `${count(views.created.length)} (left out: ${leftOut})` : null],
  ]);
  const who = organization.name ?? organization.id;
  const what =
    command === 'init'
      ? `${who}: the tables of ${namespace} (${kind}) are ready`
      : report.changed
        ? `${who} is published to ${namespace} (${kind})`
        : `${namespace} (${kind}) is up to date: nothing was published since`;
  return `${details}\n\n${what}, after ${duration(report.seconds * 1000)}.`.trimStart();
}

function lakeStatusText(found: LakeStatus): string {
  const { namespace, kind, organization, exists, lastPublication: last, behind, snapshot } = found;
  const who = organization.name ?? organization.id;
  if (!exists) return `${namespace} (${kind}) has no tables yet. Run signalhouse lake publish.`;
  const rows = found.tables.map((one) => [one.table, one.rows ?? '(none)', one.snapshotRows]);
  const published =
    last === null
      ? `${who} was not published to ${namespace} (${kind}) yet.`
      : `${who} was published to ${namespace} (${kind}) at ${last.publishedAt}, with run ${last.runId} and data up to ${last.watermark ?? '(nothing)'}.`;
  const state = behind
    ? `The lake is BEHIND the published file (run ${snapshot.runId}). Run signalhouse lake publish.`
    : 'The lake is up to date.';
  const numbers = sections([['Rows', table(['table', 'in the lake#', 'published file#'], rows)]]);
  return `${numbers}\n\n${published}\n${state}`;
}

function lakeDroppedText(dropped: LakeDropped): string {
  const { namespace, kind, organization, shared, tables, views, rows, left } = dropped;
  const who = organization.name ?? organization.id;
  if (tables.length === 0) return `${namespace} (${kind}) has nothing of ${who}: nothing was removed.`;
  if (shared) return `${counted(rows, 'row')} of ${who} removed from ${namespace} (${kind}).\n${left}`;
  const withViews = views.length > 0 ? ` and ${counted(views.length, 'view')}` : '';
  return `${counted(tables.length, 'table')}${withViews} of ${who} dropped from ${namespace} (${kind}).\n${left}`;
}

export function lakeAfterSyncText({ report, failure, skipped }: LakeAfterSync): string {
  if (report) return lakeReportText(report, 'publish');
  if (failure) {
    return `The lake is NOT published: ${failure.message}\n${failure.hint ?? ''}\nThe local warehouse is published. Once the lake works, run signalhouse lake publish.`;
  }
  return `The lake is not published: ${skipped ?? ''}.`;
}
