import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { systemClock } from '../base/clock.js';
import { ExitCode, messageOf, type Problem, UsageError } from '../base/errors.js';
import { osUser } from '../base/os-user.js';
import { count, counted } from '../base/units.js';
import { confirmed, print } from '../cli/output.js';
import { forEach, type Outcome, outcomesText, worstOf } from '../cli/perform.js';
import type { ForgetPlan, Selection } from '../privacy/forget.js';
import type { Request } from '../privacy/records.js';
import { textOfBytes } from '../sheet/read.js';
import { countsTable, printable } from '../view/text.js';
import { all, type Context, command, text, toggle, wait, words } from './command.js';
import { cleanFiles, finishForgetting, placesNotReached } from './forget-files.js';
import { forgetInLake } from './lake.js';
import {
  type CommandSetup,
  eachOrganization,
  type LakeAccess,
  type Setup,
  setUp,
  setUpLake,
} from './setup.js';
import { asRun, hasWarehouse, type WorkerOptions, withWarehouse } from './worker.js';

const types = ['person', 'conversation', 'company'] as const;

export const forget = command({
  usage: '<type> [ids..]',
  examples: [
    ['signalhouse forget person 90210', 'Show what is held, and ask'],
    ['signalhouse forget person 90210 --yes --reason "request 17"', 'No question'],
    ['signalhouse forget person --list requests.txt --dry-run', 'Only show it'],
    ['signalhouse forget person --email kim@example.com --all', 'In all organizations'],
    ['signalhouse forget conversation 3f2b9c1e-0000', 'A conversation'],
  ],
  input: {
    type: z
      .enum(types, 'must be person, conversation or company')
      .meta({ description: 'What to forget', choices: types }),
    ids: words.default([]).describe('Their ids in the API'),
    email: words.default([]).describe('People with this e-mail address'),
    list: text.optional().describe('A file with an id or e-mail address on each line'),
    by: text.optional().describe('Requester, for the audit log (default: the user of this machine)'),
    reason: text.optional().describe('Why, for the audit log; nothing personal'),
    dryRun: toggle.describe('Only show what is held'),
    yes: toggle.describe('Skip confirmation (required when non-interactive)'),
    wait,
    all,
  },
  async run({ type, ids, email, list, by, reason, all: isAll, ...options }, context): Promise<Forgotten> {
    const listed = list === undefined ? [] : readList(list);
    const named = [...ids, ...listed.filter((one) => !one.includes('@'))];
    const emails = [...email, ...listed.filter((one) => one.includes('@'))];
    refuseNothing(type, named, emails);
    const selection = { type, ids: [...new Set(named)], emails: [...new Set(emails)] };
    const request = { requestedBy: by ?? osUser(), reason: reason ?? null };
    if (isAll) return forgetInAll(context, selection, request, options);
    const confirm = async (preview: ForgetReport) => {
      if (!context.json) print(heldLines(preview).join('\n'));
      return isAgreed(context, `forget ${entitiesText(type, preview.entities)}`);
    };
    return forgetOne(await setUpWithLake(context), selection, request, options, confirm);
  },
  show(done, { yes }) {
    if (!Array.isArray(done)) return reportText(done, yes);
    return outcomesText(done, (report: ForgetReport) => reportText(report, yes));
  },
  exitCode(done) {
    if (!Array.isArray(done)) return exitCodeOf([done]);
    const worst = worstOf(done);
    return worst === ExitCode.done ? exitCodeOf(done.flatMap(({ report }) => report ?? [])) : worst;
  },
});

/** The result in one organization, or with --all in each. */
type Forgotten = ForgetReport | Outcome<ForgetReport>[];

type Options = Readonly<Record<'wait' | 'dryRun' | 'yes', boolean>>;

/**
 * Previews every organization, asks once, and forgets where something is held. One that fails does not stop the others: its error
 * is reported with its name, and decides the exit code.
 */
async function forgetInAll(
  context: Context,
  selection: Selection,
  request: Request,
  { wait, dryRun, yes }: Options,
): Promise<Outcome<ForgetReport>[]> {
  const { contexts } = await eachOrganization(context, { all: true, withKeys: false });
  const forgetIn = (chosen: readonly Context[], isPreview: boolean) =>
    forEach(
      chosen,
      async (one) => {
        const setup = await setUpWithLake(one);
        // An organization that was never pulled holds nothing.
        if (!hasWarehouse(setup.config.dataDir)) return nothing(selection);
        return forgetOne(setup, selection, request, { wait, dryRun: isPreview, yes: true });
      },
      { exitCodeOf: ({ pending }) => (pending.length > 0 ? ExitCode.incomplete : ExitCode.done) },
    );
  const previews = await forgetIn(contexts, true);
  const held = previews.filter(({ report }) => report?.outcome === 'preview').map((one) => one.organization);
  if (dryRun || held.length === 0) return previews;
  if (!yes && !context.json) print(shownAll(previews));
  if (yes || (await isAgreed(context, `forget this in ${held.join(', ')}`))) {
    const rest = contexts.filter(({ sources }) => held.includes(sources.organization ?? ''));
    const done = new Map((await forgetIn(rest, false)).map((one) => [one.organization, one]));
    return previews.map((one) => done.get(one.organization) ?? one);
  }
  const declined = (report: ForgetReport) => ({ ...report, outcome: 'declined' as const });
  return previews.map((one) => ({ ...one, report: one.report && declined(one.report) }));
}

function shownAll(previews: readonly Outcome<ForgetReport>[]): string {
  return previews
    .flatMap(({ organization, report }) =>
      report?.outcome === 'preview' ? [`${organization}:`, ...heldLines(report), ''] : [],
    )
    .join('\n');
}

function nothing({ type, ids, emails }: Selection): ForgetReport {
  return {
    outcome: 'nothing_held',
    type,
    entities: 0,
    merged: 0,
    unknown: [...ids, ...emails],
    rows: {},
    files: [],
    pending: [],
    notReached: [],
  };
}

function isAgreed(context: Context, what: string): Promise<boolean> {
  const how = 'Pass --yes to go ahead without a question, or --dry-run for the preview only.';
  const question = 'Remove all of this? It cannot be undone.';
  return confirmed(context, what, question, `Nothing was removed. ${how}`);
}

/** With the secrets of the lake where one is set. */
async function setUpWithLake(context: Context): Promise<CommandSetup<Setup> & Partial<LakeAccess>> {
  const setup = await setUp(context);
  return setup.config.lake.catalog === undefined ? setup : setUpLake(context);
}

function refuseNothing(type: string, ids: readonly string[], emails: readonly string[]): void {
  const problems: Problem[] = [];
  if (ids.length + emails.length === 0)
    problems.push({ setting: 'ids', problem: 'are missing: pass ids, --email or --list' });
  if (emails.length > 0 && type !== 'person')
    problems.push({ setting: '--email', problem: `is for people, not for a ${type}` });
  if (problems.length > 0) throw new UsageError('Cannot tell what to forget.', problems);
}

/** Of one organization or several: whether the named entities are stored anywhere, and all are forgotten. */
function exitCodeOf(reports: readonly ForgetReport[]): ExitCode {
  if (reports.every(({ outcome }) => outcome === 'nothing_held')) return ExitCode.failed;
  const isUnknown = (id: string) => reports.every(({ unknown }) => unknown.includes(id));
  const isIncomplete =
    reports.some(({ outcome, pending }) => outcome === 'declined' || pending.length > 0) ||
    reports[0]?.unknown.some(isUnknown) === true;
  return isIncomplete ? ExitCode.incomplete : ExitCode.done;
}

function entitiesText(type: ForgetReport['type'], number: number): string {
  const plural = { person: 'people', conversation: 'conversations', company: 'companies' }[type];
  return counted(number, type, plural);
}

/** A person who was named in another way may still be stored. */
export function notHeldText(type: ForgetReport['type'], unknown: readonly string[]): string {
  const by = type === 'person' ? 'id or e-mail address' : 'id';
  return `No ${type} with the ${by} ${unknown.map(printable).join(', ')} is held. Names are not looked for.`;
}

function heldLines({ type, entities, merged, rows, files, unknown }: ForgetReport): string[] {
  const also = merged > 0 ? `, ${count(merged)} of them merged with what you named` : '';
  return [
    `${entitiesText(type, entities)}${also}`,
    ...(Object.keys(rows).length > 0 ? ['', countsTable('documents or table', 'rows', rows)] : []),
    ...(files.length > 0
      ? ['', 'Files that are rewritten or deleted:', ...files.map((name) => `  ${printable(name)}`)]
      : []),
    ...(unknown.length > 0 ? ['', notHeldText(type, unknown)] : []),
  ];
}

/** `isFirst`: no preview was printed before it. */
function reportText(report: ForgetReport, isFirst: boolean): string {
  const { outcome, type, entities, pending, notReached } = report;
  if (outcome === 'nothing_held') return heldLines(report).join('\n');
  if (outcome === 'declined') return 'Nothing was removed.';
  if (outcome === 'preview') return [...heldLines(report), '', 'Nothing was removed: --dry-run.'].join('\n');
  return [
    ...(isFirst ? [...heldLines(report), ''] : []),
    `Forgotten: ${entitiesText(type, entities)}. The published file is new, and worker.duckdb was rewritten.`,
    ...(pending.length > 0
      ? [`Not done yet: ${pending.join(', ')}. The next publication to the lake tries again.`]
      : []),
    '',
    'Not reached:',
    ...notReached.map((place) => `  ${printable(place)}`),
  ].join('\n');
}

/** `signalhouse forget`: the stored data of a person, its removal, and the copies that cannot be reached. */

export interface ForgetReport {
  readonly outcome: 'forgotten' | 'declined' | 'nothing_held' | 'preview';
  readonly type: ForgetPlan['type'];
  readonly entities: number;
  readonly merged: number;
  readonly unknown: readonly string[];
  /** Documents by kind and rows by other table that were changed, or would be. */
  readonly rows: Readonly<Record<string, number>>;
  /** Files of the data directory that were changed or deleted, or would be. */
  readonly files: readonly string[];
  /** Steps that could not be done yet; the next command tries them again. */
  readonly pending: readonly string[];
  /** Where else there may be copies, one sentence each. */
  readonly notReached: readonly string[];
}

/** Previews, asks through `confirm` unless `yes`, and forgets; with `dryRun` it only previews. */
async function forgetOne(
  setup: Setup & Partial<LakeAccess>,
  selection: Selection,
  request: Request,
  options: WorkerOptions & Pick<Options, 'dryRun' | 'yes'>,
  confirm: (preview: ForgetReport) => Promise<boolean> = async () => true,
): Promise<ForgetReport> {
  const { config, clock = systemClock, log } = setup;
  return withWarehouse(setup, options, async (warehouse) => {
    const plan = await warehouse.planForget(selection);
    const report: ForgetReport = {
      outcome: 'preview',
      type: plan.type,
      entities: plan.ids.length + plan.accounts.length,
      merged: plan.merged,
      unknown: plan.unknown,
      rows: plan.held,
      files: await cleanFiles(config, plan.found, log, { dryRun: true }),
      pending: [],
      notReached: placesNotReached(config),
    };
    if (report.entities === 0) return { ...report, outcome: 'nothing_held' };
    if (options.dryRun) return report;
    if (!options.yes && !(await confirm(report))) return { ...report, outcome: 'declined' };
    const removed = await asRun(warehouse, setup, 'forget', () =>
      warehouse.forget(plan, request, new Date(clock.now()), (found) =>
        cleanFiles(config, found, log, { dryRun: false }),
      ),
    );
    const { lake } = setup;
    const notReached = [...report.notReached];
    const forgetLake =
      lake &&
      (async () => {
        notReached.push(await forgetInLake({ ...setup, lake }, options));
      });
    await finishForgetting(warehouse, setup, forgetLake);
    const pending = await warehouse.pendingSteps();
    return { ...report, rows: removed, notReached, outcome: 'forgotten', pending };
  });
}

/** A list of ids or addresses, one a line; empty lines and lines that begin with # are skipped. Throws UsageError. */
function readList(path: string): string[] {
  let text: string;
  try {
    text = textOfBytes(readFileSync(path)).text;
  } catch (error) {
    throw new UsageError('The list cannot be read.', [{ setting: '--list', problem: messageOf(error) }]);
  }
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}
