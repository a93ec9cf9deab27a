import { type DiffReport, isDifferent, keyText, noteOf } from '../../app/diff.js';
import { cut } from '../../base/display-width.js';
import { bytes, count, counted, moment } from '../../base/units.js';
import type { ChangedRow, ComparedFile } from '../../warehouse/read/compare-files.js';
import { textOf } from './answer.js';
import { list, pairs, printable, sections, table, wide } from './layout.js';

/** What changed between two files, for people, in 80 columns. */
export function diffText(report: DiffReport): string {
  const { tables, notes, onlyOld, onlyNew, out } = report;
  const differing = tables.filter(isDifferent);
  const equal = tables.length - differing.length;
  const only = [
    ...onlyOld.map((name) => `${name}: only the old file has this table`),
    ...onlyNew.map((name) => `${name}: only the new file has this table`),
    ...tables.flatMap((one) => {
      const note = noteOf(one);
      return note === '' ? [] : `${one.table}: ${note}`;
    }),
  ];
  return sections([
    [
      'Files',
      pairs([
        ['old', fileText(report.old)],
        ['new', fileText(report.new)],
      ]),
    ],
    ['Rows', rowsText(differing, equal)],
    ['Changed rows by column', columnsText(differing)],
    ['Rows that differ (--limit shows more)', examplesText(differing)],
    ['Not compared, or not by key', list(only)],
    ['Notes', list(notes)],
    ['Written', out],
  ]);
}

function fileText({ path, bytes: size, publishedAt, profile }: ComparedFile): string {
  const shows = profile === 'none' ? '' : `, profile ${profile ?? 'unknown'}`;
  return `${path} (${moment(publishedAt)}, ${bytes(size)}${shows})`;
}

function rowsText(differing: DiffReport['tables'], equal: number): string {
  const rest = `${counted(equal, 'table')} without a difference`;
  if (differing.length === 0) return `nothing differs: ${rest}`;
  const rows = differing.map(({ table: name, rows: { old, new: now }, added, removed, changed }) => {
    return [name, old, now, added, removed, changed];
  });
  const text = table(['table', 'old#', 'new#', 'added#', 'removed#', 'changed#'], rows, wide);
  return equal === 0 ? text : `${text}\n${rest}`;
}

function columnsText(differing: DiffReport['tables']): string {
  return list(
    differing.flatMap(({ table: name, columns }) => {
      const parts = Object.entries(columns).map(([column, rows]) => `${column} ${count(rows)}`);
      return parts.length === 0 ? [] : `${name}: ${parts.join(', ')}`;
    }),
  );
}

const signs = { added: '+', removed: '-', changed: '~' } as const;

function examplesText(differing: DiffReport['tables']): string {
  return differing
    .filter(({ examples }) => examples.length > 0)
    .map(({ table: name, examples }) => [name, ...examples.flatMap(exampleLines)].join('\n'))
    .join('\n');
}

function exampleLines(row: ChangedRow): string[] {
  const label = row.label === null ? '' : ` ${row.label}`;
  const line = (text: string) => cut(printable(text), wide - 2);
  return [
    line(`  ${signs[row.change]} ${keyText(row)}${label}`),
    ...Object.entries(row.columns).map(([column, { old, new: now }]) => {
      // Both values get their share of the line.
      const room = Math.max(8, Math.floor((wide - 2 - 6 - column.length - 6) / 2));
      return line(
        `      ${column}: ${cut(printable(textOf(old)), room)} -> ${cut(printable(textOf(now)), room)}`,
      );
    }),
  ];
}
