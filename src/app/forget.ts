import { readFileSync } from 'node:fs';
import { systemClock } from '../base/clock.js';
import { messageOf, UsageError } from '../base/errors.js';
import { droppedBy } from '../run/lifecycle.js';
import { textOfBytes } from '../sheet/read.js';
import { Fingerprints } from '../warehouse/forget/fingerprints.js';
import { ageParams, expiredSql, type ForgetPlan, type Selection } from '../warehouse/forget/forget.js';
import type { Request } from '../warehouse/forget/records.js';
import { cleanFiles, finishForgetting, placesNotReached } from './forget-files.js';
import { forgetInLake, type LakeAccess } from './lake.js';
import type { Setup } from './setup.js';
import { withFullSnapshot } from './snapshot.js';
import { type WorkerOptions, withWarehouse } from './worker.js';

/** `signalhouse forget`: what is held, its removal, and what cannot be reached. */

export interface ForgetReport {
  readonly outcome: 'forgotten' | 'declined' | 'nothing_held' | 'preview';
  readonly type: ForgetPlan['type'];
  readonly entities: number;
  readonly merged: number;
  readonly unknown: readonly string[];
  /** Rows by table that were changed, or would be. */
  readonly rows: Readonly<Record<string, number>>;
  /** Files of the data directory that were changed or deleted, or would be. */
  readonly files: readonly string[];
  /** Steps that could not be done yet; the next command tries them again. */
  readonly pending: readonly string[];
  /** Where else there may be copies, one sentence each. */
  readonly notReached: readonly string[];
}

/**
 * Previews, asks through `confirm`, and forgets. Without `confirm` it goes ahead; with `dryRun` it only previews. `shared` is
 * how many names and addresses somebody else has too: they are only removed where it is clear whose they are.
 */
export async function forget(
  setup: Setup & Partial<Pick<LakeAccess, 'lake'>>,
  selection: Selection,
  request: Request,
  options: WorkerOptions & { readonly dryRun: boolean },
  confirm?: (preview: ForgetReport, shared: number) => Promise<boolean>,
): Promise<ForgetReport> {
  const { config, clock = systemClock, log } = setup;
  return withWarehouse(setup, options, async (warehouse) => {
    const plan = await warehouse.planForget(selection);
    const { type, merged, unknown, held: rows, shared } = plan;
    const { salt } = warehouse.forgotten;
    const trial = new Fingerprints(salt, [...warehouse.forgotten.rows(), ...plan.fingerprints]);
    const report: ForgetReport = {
      ...{ outcome: 'preview', type, entities: plan.ids.length + plan.accounts, merged, unknown, rows },
      files: await cleanFiles(config, trial, log, { dryRun: true }),
      ...{ pending: [], notReached: await placesNotReached(config, trial) },
    };
    if (report.entities + plan.inAdvance === 0) return { ...report, outcome: 'nothing_held' };
    if (options.dryRun) return report;
    if (confirm && !(await confirm(report, shared))) return { ...report, outcome: 'declined' };
    const removed = await warehouse.forget(plan, request, new Date(clock.now()));
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
export function readList(path: string): string[] {
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

/**
 * What the next sync would drop by the settings of `retention`, or by other months: how many messages would lose their
 * content, how many people their personal fields, and before when each kind is too old, null where it never is. Writes
 * nothing. Throws StorageError when nothing is published.
 */
export async function previewRetention(
  setup: Setup,
  asked: { readonly messagesMonths?: number | undefined; readonly peopleMonths?: number | undefined },
) {
  const { config, clock = systemClock } = setup;
  const { messagesMonths = config.retention.messagesMonths, peopleMonths = config.retention.peopleMonths } =
    asked;
  const retention = { ...config.retention, messagesMonths, peopleMonths };
  const age = droppedBy(retention, config.publish.keep, new Date(clock.now()));
  const rows = await withFullSnapshot(setup, (snapshot) =>
    snapshot.rows<{ kind: string; found: number }>(
      `SELECT kind, count(DISTINCT id)::INTEGER AS found FROM (${expiredSql()}) GROUP BY kind`,
      ageParams(age),
    ),
  );
  const found = (kind: string) => rows.find((row) => row.kind === kind)?.found ?? 0;
  const iso = (at: Date | null) => at?.toISOString() ?? null;
  return {
    before: { deleted: iso(age.deleted), messages: iso(age.messages), people: iso(age.people) },
    ...{ messages: found('message'), people: found('person') },
  };
}
