import { UsageError } from '../base/errors.js';
import type { SheetColumn } from '../sheet/grid.js';
import { writeSheet } from '../sheet/write.js';
import type { Snapshot } from '../warehouse/read/query.js';
import { sqlFile } from '../warehouse/sql.js';
import { cellsOf, type EditSheet, lastReadSql } from './edit-sheet.js';
import { pairNames } from './import/header.js';

export interface DuplicatesSheetOptions {
  readonly out: string;
  readonly overwrite?: boolean;
}

export const duplicatesName = 'Duplicates';

const pairsSql = sqlFile('push/duplicates_sheet');
const peopleSql = sqlFile('push/duplicate_people_sheet');
const measuredSql = "SELECT sentence FROM probable_duplicates_precision WHERE entity_type = 'topic'";

const text = (key: string, width: number): SheetColumn => ({ key, type: 'text', width, wrap: true });
const both = (of: (n: 1 | 2) => SheetColumn): SheetColumn[] => [of(1), of(2)];

/** What is decided stays in view; then why, and what tells the two apart. The query returns them in this order. */
const columns: readonly SheetColumn[] = [
  { key: pairNames.keep, type: 'text', width: 10, allowed: ['1', '2', 'both'], edited: {} },
  ...pairNames.titles.map((key) => text(key, 36)),
  { key: 'score', type: 'number', width: 8 },
  text('reasons', 44),
  ...both((n) => text(`summary_${n}`, 40)),
  ...both((n) => text(`priority_${n}`, 12)),
  ...both((n) => text(`lifecycle_state_${n}`, 12)),
  ...both((n) => ({ key: `messages_${n}`, type: 'count', width: 10 })),
  ...both((n) => text(`ticket_${n}`, 12)),
  ...pairNames.ids.map((key) => ({ key, type: 'text', width: 10, faint: true }) as const),
  { key: 'base_updated_at', type: 'time', width: 20, hidden: true },
];

const ofPeople: readonly SheetColumn[] = [
  { key: 'score', type: 'number', width: 8 },
  text('reasons', 44),
  ...['name', 'email', 'company'].flatMap((name) => both((n) => text(`${name}_${n}`, 24))),
  ...both((n) => ({ key: `messages_${n}`, type: 'count', width: 10 })),
  ...both((n) => ({ key: `person_id_${n}`, type: 'text', width: 10, faint: true })),
  text('command', 60),
];

/**
 * Writes the sheet in which people decide which of two topics stays where two are probably the same: a row for each of the
 * 200 most probable pairs. A workbook has the people who are probably the same on a second sheet, for information. Reads
 * only the published file. Raises UsageError when there are no pairs of topics, and what `writeSheet` raises.
 */
export async function writeDuplicatesSheet(
  snapshot: Snapshot,
  { out, overwrite = false }: DuplicatesSheetOptions,
): Promise<EditSheet> {
  const [counted] = await snapshot.all<{ rows: number; oldest: string | null }>(
    `SELECT count(*) AS rows, (${lastReadSql('topics')}) AS oldest FROM (${pairsSql})`,
  );
  const [measured] = await snapshot.all<{ sentence: string }>(measuredSql);
  const { rows = 0, oldest = null } = counted ?? {};
  if (rows === 0)
    throw new UsageError('There are no pairs for the sheet: no two topics are probably the same.', [], {
      hint: 'Pairs are found with each sync: run signalhouse sync first.',
    });
  const pairs = { columns, rows: cellsOf(snapshot, pairsSql, columns), frozenColumns: 1 };
  const people = { columns: ofPeople, rows: cellsOf(snapshot, peopleSql, ofPeople), frozenColumns: 0 };
  const sentence = measured?.sentence ?? null;
  const howTo = howToDecide(sentence);
  await writeSheet(out, { name: duplicatesName, ...pairs, howTo }, { overwrite }, [
    { name: 'People', ...people },
  ]);
  const keys = columns.map(({ key }) => key);
  return { path: out, entityType: 'topic', rows, leftOut: 0, columns: keys, oldest, measured: sentence };
}

/** The sheet "How to use" of it; `measured` says how good such a list was in the past. */
export function howToDecide(measured: string | null): string[] {
  return [
    'How to decide which topics are the same',
    `1. Each row has two topics that are probably the same, the most probable first. The score ranks them and is no probability.${measured === null ? '' : ` ${measured}`}`,
    '2. Where they are the same, write into the yellow column "keep" which of them stays: 1 or 2. The other one is archived, with a reason that names the one that stays. Archiving can be undone.',
    '3. Where both stay, leave the cell empty, or write both.',
    '4. Save the file, and send it: upload it at /sheets, put it into the drop folder "inbox", or run signalhouse changes import FILE, then signalhouse push --result done.xlsx.',
    '5. The sheet "People" lists people who are probably the same, for information. Merging people cannot be undone, so no sheet does it: who runs Signalhouse merges one pair at a time, with the command in its column "command". The other direction is the same command with the two ids exchanged.',
    '6. You get this sheet back with the result of each row. If somebody else archived the topic in the meantime, nothing is overwritten.',
  ];
}
