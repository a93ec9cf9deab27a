import type { LakeAccess, LakeAfterSync, LakeDropped, LakeReport, LakeStatus } from '../../app/lake.js';
import type { RunSignals } from '../../app/setup.js';
import { ExitCode } from '../../base/errors.js';
import { counted, duration } from '../../base/units.js';
import { sections, table } from '../../view/text.js';
import { type Context, command, type Group, toggle } from '../command.js';
import { answer, confirmed, print } from '../output.js';
import { setUpLake } from '../setup.js';
import { interruptible } from '../signals.js';

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
  summary: 'Create the namespace of this organization',
  examples: [['signalhouse lake init', 'Also checks the settings and the login at the catalog']],
  flags: {},
  async run(_flags, context) {
    const { runOnLake } = await app();
    const report = await onLake(context, (access, signals) => runOnLake(access, 'init', signals));
    return answer(context, report, lakeReportText);
  },
});

const publish = command({
  name: 'publish',
  summary: 'Make the lake equal to the published file, in one transaction',
  examples: [
    ['signalhouse lake publish', 'Tables and views that differ'],
    ['signalhouse lake publish --json', 'Rows by table, as JSON'],
  ],
  flags: {},
  async run(_flags, context) {
    const { publishLake } = await app();
    const report = await onLake(context, publishLake);
    return answer(context, report, lakeReportText);
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
    ['signalhouse lake drop --yes --json', 'Skips the question, for scripts'],
  ],
  flags: { yes: toggle.describe('Skip confirmation (required when non-interactive)') },
  async run({ yes }, context) {
    const dropped = await onLake(context, async (access, signals) => {
      const what = `the tables of this organization from the lake at ${access.config.lake.catalog}`;
      const hint = 'Nothing was removed. Pass --yes to go ahead without a question.';
      if (!yes && !(await confirmed(context, `remove ${what}`, `Remove ${what}?`, hint))) return null;
      return (await app()).runOnLake(access, 'drop', signals);
    });
    if (dropped !== null) return answer(context, dropped, lakeDroppedText);
    print('Nothing was removed.');
    return ExitCode.done;
  },
});

export const lake: Group = {
  name: 'lake',
  summary: 'Publish the tables and views to Iceberg, for Spark, Trino and others',
  commands: [init, publish, status, drop],
  examples: [
    ['signalhouse lake init', 'Create the namespace, and check the settings'],
    ['signalhouse lake publish', 'Publish what has changed'],
    ['signalhouse sync --lake', 'Pull, and publish to the lake at the end'],
  ],
};

function lakeReportText(report: LakeReport): string {
  const { namespace, organization, changed, views, leftOut } = report;
  const rows = Object.entries(report.tables)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { inserted, updated, deleted }]) => [name, inserted, updated, deleted]);
  const details = sections([
    ['Rows', rows.length > 0 ? table(['table', 'new#', 'changed#', 'deleted#'], rows) : null],
    ['Replaced views', views.join(', ')],
    ['Views left out', changed ? leftOut.join(', ') : null],
  ]);
  const who = organization.name ?? organization.id;
  const state = changed ? 'has everything of the published file' : 'was up to date';
  const what = report.publicationId === null ? 'is ready for the first publication' : state;
  return `${details}\n\n${namespace} (${who}) ${what}, after ${duration(report.seconds * 1000)}.`.trimStart();
}

function lakeStatusText(found: LakeStatus): string {
  const { namespace, organization, exists, lastPublication: last, behind, snapshot } = found;
  if (!exists) return `${namespace} has no tables yet. Run signalhouse lake publish.`;
  const rows = found.tables.map((one) => [one.table, one.rows ?? '(none)', one.snapshotRows ?? '(view)']);
  const numbers = sections([['Rows', table(['table', 'in the lake#', 'published file#'], rows)]]);
  const who = organization.name ?? organization.id;
  const published =
    last === null
      ? `${who} was not published to ${namespace} yet.`
      : `${who} was published to ${namespace} at ${last.publishedAt}, with run ${last.runId}.`;
  const state = behind
    ? `The lake is BEHIND the published file (run ${snapshot.runId}). Run signalhouse lake publish.`
    : 'The lake is up to date.';
  return `${numbers}\n\n${published}\n${state}`;
}

function lakeDroppedText({ namespace, organization, tables }: LakeDropped): string {
  const who = organization.name ?? organization.id;
  if (tables.length === 0) return `${namespace} has nothing of ${who}: nothing was removed.`;
  return `${counted(tables.length, 'table')} of ${who} dropped from ${namespace}.\nTheir files stay in the object store until you or the catalog's collector remove them (docs/lake.md, Maintenance).`;
}

export function lakeAfterSyncText({ report, failure, skipped }: LakeAfterSync): string {
  if (report) return lakeReportText(report);
  if (failure) {
    return `The lake is NOT published: ${failure.message}\n${failure.hint ?? ''}\nThe local warehouse is published. Once the lake works, run signalhouse lake publish.`;
  }
  return `The lake is not published: ${skipped ?? ''}.`;
}
