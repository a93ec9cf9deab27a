import { z } from 'zod';
import type { LakeAccess } from '../../app/lake.js';
import { ExitCode, UsageError } from '../../base/errors.js';
import { type Context, command, type Group } from '../command.js';
import { toggle } from '../flags.js';
import { canAsk, confirmed, print, printJson } from '../output.js';
import { type CommandSetup, setUpLake } from '../setup.js';
import { interruption } from '../signals.js';
import { lakeDroppedText, lakeReportText, lakeStatusText } from '../text/lake.js';

/** Loaded only now, so that --help does not load a database. */
const app = () => import('../../app/lake.js');

const init = command({
  name: 'init',
  summary: 'Create the namespace of this organization and its tables',
  examples: [
    ['signalhouse lake init', 'Also checks the catalog, the object store and their credentials'],
    ['signalhouse lake init --json', 'What was created, as JSON'],
  ],
  flags: z.object({}),
  run: (_flags, context) =>
    onLake(context, async (access, signals) => {
      const { lakeInit } = await app();
      const report = await lakeInit(access, signals);
      if (context.json) printJson(report);
      else print(lakeReportText(report, 'init'));
      return ExitCode.done;
    }),
});

const publish = command({
  name: 'publish',
  summary: 'Make the lake equal to the published file, in one transaction',
  options: {
    compare: { type: 'boolean', describe: 'Compare every row with the lake, not with the last publication' },
  },
  examples: [
    ['signalhouse lake publish', 'What has changed since the last publication'],
    ['signalhouse lake publish --compare', 'Also finds what others changed in the lake'],
    ['signalhouse lake publish --json', 'Rows by table, as JSON'],
  ],
  flags: z.object({ compare: toggle.default(false) }),
  run: ({ compare }, context) =>
    onLake(context, async (access, signals) => {
      const { lakePublish } = await app();
      const report = await lakePublish(access, { compare }, signals);
      const { finishForgettingInLake } = await import('../../app/forget-lake.js');
      await finishForgettingInLake(access, signals);
      if (context.json) printJson(report);
      else print(lakeReportText(report, 'publish'));
      return ExitCode.done;
    }),
});

const status = command({
  name: 'status',
  summary: 'Show rows by table, the last publication, and whether the lake is behind',
  examples: [
    ['signalhouse lake status', 'What the lake has of this organization'],
    ['signalhouse lake status --json | jq .behind', 'Whether the published file is newer than the lake'],
  ],
  flags: z.object({}),
  run: (_flags, context) =>
    onLake(context, async (access, signals) => {
      const { lakeStatus } = await app();
      const found = await lakeStatus(access, signals);
      if (context.json) printJson(found);
      else print(lakeStatusText(found));
      return ExitCode.done;
    }),
});

const drop = command({
  name: 'drop',
  summary: 'Remove this organization from the lake: its tables, or its rows in a shared namespace',
  options: { yes: { type: 'boolean', describe: 'Do not ask' } },
  examples: [
    ['signalhouse lake drop', 'Asks before'],
    ['signalhouse lake drop --yes --json', 'Does not ask, for scripts'],
  ],
  flags: z.object({ yes: toggle.default(false) }),
  run: ({ yes }, context) =>
    onLake(context, async (access, signals) => {
      const { lakeDrop } = await app();
      const { kind, namespace, catalog } = access.config.lake;
      const where = `${namespace} of the ${kind} lake at ${(catalog ?? '').replace(/\/\/[^/?#]*@/, '//')}`;
      if (!yes && (context.json || !canAsk())) throw notAsked(where);
      if (!yes && !(await confirmed(`Remove this organization from ${where}?`))) {
        print('Nothing was removed.');
        return ExitCode.done;
      }
      const dropped = await lakeDrop(access, signals);
      if (context.json) printJson(dropped);
      else print(lakeDroppedText(dropped));
      return ExitCode.done;
    }),
});

export const lake: Group = {
  name: 'lake',
  summary: 'Publish the tables to Iceberg or DuckLake, for Spark, Trino and others',
  commands: [init, publish, status, drop],
  examples: [
    ['signalhouse lake init', 'Create the tables, and check the settings'],
    ['signalhouse lake publish', 'Publish what has changed'],
    ['signalhouse sync --lake', 'Pull, and publish to the lake at the end'],
  ],
};

function notAsked(where: string): UsageError {
  const problem = 'is required where nobody can be asked (with --json, or without a terminal)';
  return new UsageError(
    `This would remove this organization from ${where}.`,
    [{ setting: '--yes', problem }],
    {
      hint: 'Nothing was removed. Pass --yes to go ahead without a question.',
    },
  );
}

/** Seconds that a commit may take after the first signal. */
const shutdownMs = 60_000;

/** Sets up a command of the lake: the first signal rolls back what is not committed, the second ends the process that writes. */
async function onLake(
  context: Context,
  work: (
    access: CommandSetup<LakeAccess>,
    signals: { stop: AbortSignal; kill: AbortSignal },
  ) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { lakeSettingsProblems } = await app();
  const access = await setUpLake(context, lakeSettingsProblems);
  const signals = interruption(shutdownMs, (text) => access.log.warn(text));
  try {
    return await work(access, signals);
  } finally {
    signals.release();
    access.progress?.close();
  }
}
