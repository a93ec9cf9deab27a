import { readFileSync } from 'node:fs';
import { systemClock } from '../base/clock.js';
import { messageOf, UsageError } from '../base/errors.js';
import type { ForgetPlan, Selection } from '../privacy/forget.js';
import type { Request } from '../privacy/records.js';
import { textOfBytes } from '../sheet/read.js';
import { cleanFiles, finishForgetting, placesNotReached } from './forget-files.js';
import { forgetInLake, type LakeAccess } from './lake.js';
import type { Setup } from './setup.js';
import { asRun, type WorkerOptions, withWarehouse } from './worker.js';

/** `signalhouse forget`: what is held, its removal, and what cannot be reached. */

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

/** Previews, asks through `confirm`, and forgets. Without `confirm` it goes ahead; with `dryRun` it only previews. */
export async function forget(
  setup: Setup & Partial<Pick<LakeAccess, 'lake'>>,
  selection: Selection,
  request: Request,
  options: WorkerOptions & { readonly dryRun: boolean },
  confirm?: (preview: ForgetReport) => Promise<boolean>,
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
    if (confirm && !(await confirm(report))) return { ...report, outcome: 'declined' };
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
