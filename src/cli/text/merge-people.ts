import { moment } from '../../base/units.js';
import type { KnownPerson, MergeReport, Pair } from '../../push/merge-people.js';
import { tableWidth } from '../output.js';
import { list, printable, table, wide, wrap } from './layout.js';

/** Both people side by side, why they are probably the same, and what a merge does. */
export function pairText({ source, target, score, reasons }: Pair): string {
  const row = (name: string, of: (one: KnownPerson) => string | number | null) => [
    name,
    of(source),
    of(target),
  ];
  const at = (iso: string | null) => (iso === null ? null : moment(new Date(iso)));
  const facts = table(
    ['', 'goes', 'stays'],
    [
      row('id', ({ id }) => id),
      row('name', ({ name }) => name),
      row('e-mail', ({ email }) => email),
      row('company', ({ company, companyId }) => company ?? companyId),
      row('accounts', ({ accounts, accountNames }) => accountNames.join(', ') || accounts),
      row('messages', ({ messages }) => messages),
      row('conversations', ({ conversations }) => conversations),
      row('last seen', ({ lastSeenAt }) => at(lastSeenAt)),
      row('is', ({ role }) => role),
      row('as of', ({ syncedAt }) => at(syncedAt)),
    ],
    tableWidth() ?? wide,
  );
  const why =
    score === null
      ? 'Nothing says that they are the same: they are not in probable_duplicates.'
      : `Probably the same (score ${score}): ${reasons.join('; ')}.`;
  const what = `Every account, e-mail address, company and conversation of ${nameOf(source)} moves to ${nameOf(target)}, and ${nameOf(source)} is gone. This cannot be undone: neither here nor through the API.`;
  return [facts, ...[why, what].map((one) => wrap(printable(one), wide).join('\n'))].join('\n\n');
}

function nameOf({ id, name }: KnownPerson): string {
  return name === null ? id : `${name} (${id})`;
}

/** The second confirmation. */
export function mergeQuestion(
  { target }: Pair,
  { isAgain, isNameEnough }: { readonly isAgain: boolean; readonly isNameEnough: boolean },
): string {
  const again = isAgain
    ? 'It was sent before and got no answer; the API shows that it is not done yet. It is sent again under the same key, and done once.\n'
    : '';
  return `${again}Type the ${isNameEnough ? 'id or the name' : 'id'} of the person who stays (${printable(nameOf(target))}) to merge them for good: `;
}

export function mergeSummary(report: MergeReport): string {
  const { source, target, outcome, problems, error, id } = report;
  const pair = `${nameOf(source)} into ${nameOf(target)}`;
  const same = `signalhouse changes merge-people ${source.id} --into ${target.id}`;
  const why = problems.length === 0 ? '' : `\n${list(problems)}`;
  const texts: Readonly<Record<MergeReport['outcome'], string>> = {
    merged: `Merged ${pair}. The record of it is ${id ?? ''}; the next sync shows it.`,
    already_merged:
      id !== null
        ? `Merged ${pair}, by the request that got no answer: nothing was sent again. The record of it is ${id}; the next sync shows it.`
        : `Nothing was sent: the API shows that ${pair} was merged already. The next sync shows it.`,
    declined: 'Nothing was sent: what was typed does not name the person who stays.',
    dry_run:
      problems.length === 0
        ? 'Nothing was sent: --dry-run. They may be merged.'
        : `Nothing was sent: --dry-run. They would not be merged:${why}`,
    refused: `Nothing was sent: they must not be merged.${why}`,
    failed: `Not merged: ${error ?? ''}`,
    in_doubt: `Sent, and nobody knows yet whether it was done: ${error ?? ''}\nRun the same command again, which asks the API first: ${same}`,
  };
  return `\n${texts[outcome].split('\n').map(printable).join('\n')}`;
}
