import { ExitCode } from '../../../base/errors.js';
import { counted } from '../../../base/units.js';
import type { Context } from '../../command.js';
import { canAsk, confirmed, notAsked, print, printJson } from '../../output.js';

/** What a command that queues changes prints before its question and at its end. */
interface Texts<Prepared, Report> {
  preview(prepared: Prepared, isFull: boolean): string;
  /** Without the preview when that was printed before. */
  summary(report: Report, isPreviewShown: boolean, isFull: boolean): string;
  /** The number of changes that would be queued. */
  countOf(prepared: Prepared): number;
}

/**
 * Runs a command that queues changes: shows the preview, asks, and prints the report. With `--yes`, `work` gets no
 * `confirm` and goes ahead.
 */
export async function queueAfterPreview<Prepared, Report extends { readonly exitCode: number }>(
  { json }: Context,
  { full, yes }: { readonly full: boolean; readonly yes: boolean },
  { preview, summary, countOf }: Texts<Prepared, Report>,
  work: (confirm?: (prepared: Prepared) => Promise<boolean>) => Promise<Report>,
): Promise<ExitCode> {
  let isShown = false;
  const confirm = async (prepared: Prepared) => {
    if (!json) print(preview(prepared, full));
    isShown = true;
    const number = countOf(prepared);
    if (json || !canAsk()) throw notAsked(`queue ${counted(number, 'change')}`);
    return confirmed(`Queue ${number === 1 ? 'this change' : 'these changes'}?`);
  };
  const report = await work(yes ? undefined : confirm);
  if (json) printJson(report);
  else print(summary(report, isShown, full));
  return report.exitCode === 0 ? ExitCode.done : ExitCode.incomplete;
}
