import { count, counted, duration } from '../../base/units.js';
import type { PlanReport } from '../../sync/report.js';
import { pairs, sections } from './sections.js';
import { scansText, wide } from './sync-summary.js';
import { table } from './table.js';

/** What a run would cost, for people, in 80 columns. */
export function planSummary(report: PlanReport): string {
  const { organization, requests, left } = report;
  const due = report.lines.filter((line) => line.due > 0);
  const name = organization.name === null ? organization.id : `${organization.name} (${organization.id})`;
  const facts: [string, string][] = [
    ['organization', name],
    ['lists', counted(requests.lists, 'request')],
    ['children', counted(requests.children, 'request')],
    [
      'in all',
      `${counted(requests.total, 'request')}, about ${duration(report.minutes * 60_000)} at the budget`,
    ],
    ['spent on this plan', counted(report.spent, 'request')],
  ];
  if (left !== null) {
    const text =
      left.requests === 0
        ? 'nothing'
        : `${counted(left.requests, 'request')}, about ${duration(left.minutes * 60_000)}`;
    facts.push(['left by the cap', text]);
  }
  const columns = ['never', 'changed', 'sweep', 'due', 'requests'].map((one) => ({ name: one, right: true }));
  return sections([
    ['A sync now', pairs(facts)],
    [
      'Due',
      due.length === 0
        ? 'nothing'
        : table(
            [{ name: 'endpoint' }, ...columns],
            due.map((line) => [
              line.endpoint,
              ...[line.never, line.changed, line.sweep, line.due, line.requests].map(count),
            ]),
            wide,
          ),
    ],
    ['Lists that did not hold still, or stopped early', scansText(report.lists)],
  ]);
}
