import type { LakeReport } from '../../app/lake.js';
import { count, duration } from '../../base/units.js';
import { sections, table } from './layout.js';

/** What `lake init` and `lake publish` did, for people. */
export function lakeReportText(report: LakeReport, command: 'init' | 'publish'): string {
  const { namespace, kind, organization, created, addedColumns, views } = report;
  const parts: [string, string][] = [];
  const rows = Object.entries(report.tables)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { inserted, updated, deleted }]) => [name, ...[inserted, updated, deleted].map(count)]);
  const numbers = ['new', 'changed', 'deleted'].map((name) => ({ name, right: true }));
  if (rows.length > 0) parts.push(['Rows', table([{ name: 'table' }, ...numbers], rows)]);
  if (created.length > 0) parts.push(['Created tables', created.join(', ')]);
  if (addedColumns.length > 0) parts.push(['Added columns', addedColumns.join(', ')]);
  if (views.changed)
    parts.push(['Views', `${count(views.created.length)} (left out: ${views.leftOut.join(', ') || 'none'})`]);
  const who = organization.name ?? organization.id;
  const what =
    command === 'init'
      ? `${who}: the tables of ${namespace} (${kind}) are ready`
      : report.changed
        ? `${who} is published to ${namespace} (${kind})`
        : `${namespace} (${kind}) is up to date: nothing was published since`;
  const last = `${what}, after ${duration(report.seconds * 1000)}.`;
  return parts.length === 0 ? last : `${sections(parts)}\n\n${last}`;
}
