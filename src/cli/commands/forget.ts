import { z } from 'zod';
import type { ForgetReport } from '../../app/forget.js';
import type { LakeAccess } from '../../app/lake.js';
import type { Setup } from '../../app/setup.js';
import { ExitCode, type Problem, UsageError } from '../../base/errors.js';
import { osUser } from '../../base/os-user.js';
import { count, counted } from '../../base/units.js';
import type { Selection } from '../../privacy/forget.js';
import type { Request } from '../../privacy/records.js';
import { countsTable, printable } from '../../view/text.js';
import { type Context, command, text, toggle, wait, words } from '../command.js';
import { all as allOrganizations, answerAll, forEach, type Outcome } from '../organizations.js';
import { answer, confirmed, print } from '../output.js';
import { type CommandSetup, eachOrganization, setUp, setUpLake } from '../setup.js';

const types = ['person', 'conversation', 'company'] as const;

export const forget = command({
  name: 'forget',
  usage: '<type> [ids..]',
  summary: 'Remove people, conversations or companies, after a preview',
  examples: [
    ['signalhouse forget person 90210', 'Show what is held, and ask'],
    ['signalhouse forget person 90210 --yes --reason "request 17"', 'No question'],
    ['signalhouse forget person --list requests.txt --dry-run', 'Only show it'],
    ['signalhouse forget person --email kim@example.com --all', 'In all organizations'],
    ['signalhouse forget conversation 3f2b9c1e-0000', 'A conversation'],
  ],
  flags: {
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
    all: allOrganizations,
  },
  async run({ type, ids, email, list, by, reason, dryRun, yes, wait, all: isAll }, context) {
    const { forget: run, readList } = await import('../../app/forget.js');
    const listed = list === undefined ? [] : readList(list);
    const all = [...ids, ...listed.filter((one) => !one.includes('@'))];
    const emails = [...email, ...listed.filter((one) => one.includes('@'))];
    refuseNothing(type, all, emails);
    const selection = { type, ids: [...new Set(all)], emails: [...new Set(emails)] };
    const request = { requestedBy: by ?? osUser(), reason: reason ?? null };
    if (isAll) return forgetInAll(context, selection, request, { wait, dryRun, yes });
    let isShown = false;
    const confirm = async (preview: ForgetReport) => {
      if (!context.json) print(heldLines(preview).join('\n'));
      isShown = true;
      return isAgreed(context, `forget ${entitiesText(type, preview.entities)}`);
    };
    const setup = await setUpWithLake(context);
    const report = await run(setup, selection, request, { wait, dryRun }, yes ? undefined : confirm);
    return answer(context, report, () => reportText(report, isShown), exitCodeOf([report]));
  },
});

/**
 * Previews every organization, asks once, and forgets where something is held. One that fails does not stop the others: what became
 * of it is told with its name, and decides the exit code.
 */
async function forgetInAll(
  context: Context,
  selection: Selection,
  request: Request,
  { wait, dryRun, yes }: Readonly<Record<'wait' | 'dryRun' | 'yes', boolean>>,
): Promise<ExitCode> {
  const { forget: run } = await import('../../app/forget.js');
  const { hasWarehouse } = await import('../../app/worker.js');
  const { contexts } = await eachOrganization(context, { all: true, withKeys: false });
  const forgetIn = (isPreview: boolean) => async (one: Context) => {
    const setup = await setUpWithLake(one);
    const { dataDir } = setup.config;
    // An organization that was never pulled holds nothing.
    if (!hasWarehouse(dataDir)) return { result: nothing(selection), exitCode: ExitCode.done };
    const result = await run(setup, selection, request, { wait, dryRun: isPreview });
    return { result, exitCode: result.pending.length > 0 ? ExitCode.incomplete : ExitCode.done };
  };
  const previews = await forEach(contexts, forgetIn(true));
  const held = previews.filter(({ report }) => report?.outcome === 'preview').map((one) => one.organization);
  let outcomes = previews;
  let isShown = false;
  if (!dryRun && held.length > 0) {
    if (!yes && !context.json) print(shownAll(previews));
    isShown = !yes;
    if (yes || (await isAgreed(context, `forget this in ${held.join(', ')}`))) {
      const rest = contexts.filter(({ organization }) => held.includes(organization));
      const done = new Map((await forEach(rest, forgetIn(false))).map((one) => [one.organization, one]));
      outcomes = previews.map((one) => done.get(one.organization) ?? one);
    } else {
      const declined = (report: ForgetReport) => ({ ...report, outcome: 'declined' as const });
      outcomes = previews.map((one) => ({ ...one, report: one.report && declined(one.report) }));
    }
  }
  const exitCode = answerAll(context, outcomes, (report: ForgetReport) => reportText(report, isShown));
  if (exitCode !== ExitCode.done) return exitCode;
  const reports = outcomes.flatMap(({ report }) => report ?? []);
  const code = exitCodeOf(reports);
  process.exitCode = code;
  return code;
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

/** Of one organization or several: whether what was named is held anywhere, and all of it is forgotten. */
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

/** A person who was named in another way may well be held. */
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

function reportText(report: ForgetReport, isShown: boolean): string {
  const { outcome, type, entities, pending, notReached } = report;
  if (outcome === 'nothing_held') return heldLines(report).join('\n');
  if (outcome === 'declined') return 'Nothing was removed.';
  if (outcome === 'preview') return [...heldLines(report), '', 'Nothing was removed: --dry-run.'].join('\n');
  return [
    ...(isShown ? [] : [...heldLines(report), '']),
    `Forgotten: ${entitiesText(type, entities)}. The published file is new, and worker.duckdb was rewritten.`,
    ...(pending.length > 0
      ? [`Not done yet: ${pending.join(', ')}. The next publication to the lake tries again.`]
      : []),
    '',
    'Not reached:',
    ...notReached.map((place) => `  ${printable(place)}`),
  ].join('\n');
}
