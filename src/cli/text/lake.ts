import type { LakeAfterSync, LakeDropped, LakeReport, LakeStatus } from '../../app/lake.js';
import { count, counted, duration } from '../../base/units.js';
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

/** What the lake has, for people. */
export function lakeStatusText(found: LakeStatus): string {
  const { namespace, kind, organization, exists, lastPublication: last, behind, snapshot } = found;
  const who = organization.name ?? organization.id;
  if (!exists) return `${namespace} (${kind}) has no tables yet. Run signalhouse lake publish.`;
  const rows = found.tables.map(({ table: name, rows: inLake, snapshotRows }) => [
    name,
    inLake === null ? '(none)' : count(inLake),
    count(snapshotRows),
  ]);
  const columns = [
    { name: 'table' },
    { name: 'in the lake', right: true },
    { name: 'published file', right: true },
  ];
  const published =
    last === null
      ? `${who} was not published to ${namespace} (${kind}) yet.`
      : `${who} was published to ${namespace} (${kind}) at ${last.publishedAt}, with run ${last.runId} and data up to ${last.watermark ?? '(nothing)'}.`;
  const state = behind
    ? `The lake is BEHIND the published file (run ${snapshot.runId}). Run signalhouse lake publish.`
    : 'The lake is up to date.';
  return `${sections([['Rows', table(columns, rows)]])}\n\n${published}\n${state}`;
}

/** What was removed, for people. */
export function lakeDroppedText({
  namespace,
  kind,
  organization,
  shared,
  tables,
  views,
  rows,
}: LakeDropped): string {
  const who = organization.name ?? organization.id;
  if (tables.length === 0) return `${namespace} (${kind}) has nothing of ${who}: nothing was removed.`;
  if (shared) return `${counted(rows, 'row')} of ${who} removed from ${namespace} (${kind}).`;
  const dropped = [
    counted(tables.length, 'table'),
    ...(views.length > 0 ? [counted(views.length, 'view')] : []),
  ];
  return `${dropped.join(' and ')} of ${who} dropped from ${namespace} (${kind}).`;
}

/** What became of the lake after a sync, for people. */
export function lakeAfterSyncText({ report, failure, skipped }: LakeAfterSync): string {
  if (report) return lakeReportText(report, 'publish');
  if (failure) {
    return `The lake is NOT published: ${failure.message}\n${failure.hint ?? ''}\nThe local warehouse is published. Once the lake works, run signalhouse lake publish.`;
  }
  return `The lake is not published: ${skipped ?? ''}.`;
}
