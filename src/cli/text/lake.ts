import type { LakeAfterSync, LakeDropped, LakeReport, LakeStatus } from '../../app/lake.js';
import { count, counted, duration } from '../../base/units.js';
import { sections, table } from './layout.js';

export function lakeReportText(report: LakeReport, command: 'init' | 'publish'): string {
  const { namespace, kind, organization, created, addedColumns, views } = report;
  const rows = Object.entries(report.tables)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { inserted, updated, deleted }]) => [name, inserted, updated, deleted]);
  const leftOut = views.leftOut.join(', ') || 'none';
  const details = sections([
    ['Rows', rows.length > 0 ? table(['table', 'new#', 'changed#', 'deleted#'], rows) : null],
    ['Created tables', created.join(', ')],
    ['Added columns', addedColumns.join(', ')],
    ['Views', views.changed ? `${count(views.created.length)} (left out: ${leftOut})` : null],
  ]);
  const who = organization.name ?? organization.id;
  const what =
    command === 'init'
      ? `${who}: the tables of ${namespace} (${kind}) are ready`
      : report.changed
        ? `${who} is published to ${namespace} (${kind})`
        : `${namespace} (${kind}) is up to date: nothing was published since`;
  return `${details}\n\n${what}, after ${duration(report.seconds * 1000)}.`.trimStart();
}

export function lakeStatusText(found: LakeStatus): string {
  const { namespace, kind, organization, exists, lastPublication: last, behind, snapshot } = found;
  const who = organization.name ?? organization.id;
  if (!exists) return `${namespace} (${kind}) has no tables yet. Run signalhouse lake publish.`;
  const rows = found.tables.map((one) => [one.table, one.rows ?? '(none)', one.snapshotRows]);
  const published =
    last === null
      ? `${who} was not published to ${namespace} (${kind}) yet.`
      : `${who} was published to ${namespace} (${kind}) at ${last.publishedAt}, with run ${last.runId} and data up to ${last.watermark ?? '(nothing)'}.`;
  const state = behind
    ? `The lake is BEHIND the published file (run ${snapshot.runId}). Run signalhouse lake publish.`
    : 'The lake is up to date.';
  const numbers = sections([['Rows', table(['table', 'in the lake#', 'published file#'], rows)]]);
  return `${numbers}\n\n${published}\n${state}`;
}

export function lakeDroppedText(dropped: LakeDropped): string {
  const { namespace, kind, organization, shared, tables, views, rows } = dropped;
  const who = organization.name ?? organization.id;
  if (tables.length === 0) return `${namespace} (${kind}) has nothing of ${who}: nothing was removed.`;
  if (shared) return `${counted(rows, 'row')} of ${who} removed from ${namespace} (${kind}).`;
  const withViews = views.length > 0 ? ` and ${counted(views.length, 'view')}` : '';
  return `${counted(tables.length, 'table')}${withViews} of ${who} dropped from ${namespace} (${kind}).`;
}

export function lakeAfterSyncText({ report, failure, skipped }: LakeAfterSync): string {
  if (report) return lakeReportText(report, 'publish');
  if (failure) {
    return `The lake is NOT published: ${failure.message}\n${failure.hint ?? ''}\nThe local warehouse is published. Once the lake works, run signalhouse lake publish.`;
  }
  return `The lake is not published: ${skipped ?? ''}.`;
}
