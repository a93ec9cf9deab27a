import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Pulling, startTown } from '../support/pulling.js';
import { queueOf } from '../support/pushing.js';
import { signalhouse } from '../support/signalhouse.js';

// Our workbooks as another implementation of the format reads them, and edits them.

function python(code: string, ...args: string[]): string {
  return execFileSync('python3', ['-c', code, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function hasOpenpyxl(): boolean {
  try {
    python('import openpyxl, pandas');
    return true;
  } catch {
    return false;
  }
}

const describeSheet = `
import json, sys, openpyxl
book = openpyxl.load_workbook(sys.argv[1])
sheet = book.active
columns = {cell.value: sheet.column_dimensions[cell.column_letter] for cell in sheet[1]}
fills = {cell.value: sheet.cell(2, cell.column).fill.fgColor.rgb for cell in sheet[1]}
print(json.dumps({
  'sheets': book.sheetnames, 'active': sheet.title, 'steps': [cell.value for cell in book.worksheets[0]['B'] if cell.value],
  'freeze': sheet.freeze_panes, 'filter': sheet.auto_filter.ref, 'size': sheet.dimensions, 'titles': sheet.print_title_rows,
  'page': [sheet.page_setup.orientation, sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight, sheet.sheet_properties.pageSetUpPr.fitToPage],
  'columns': list(columns), 'hidden': [name for name, one in columns.items() if one.hidden],
  'narrow': [name for name, one in columns.items() if one.width < len(name) + 3],
  'colours': {name: fills[name] for name in columns},
  'lists': {str(one.sqref): one.formula1 for one in sheet.data_validations.dataValidation},
  'rules': [str(one.sqref) for one in sheet.conditional_formatting],
  'wraps': {cell.value: sheet.cell(2, cell.column).alignment.wrap_text for cell in sheet[1]},
  'types': [sheet.cell(2, cell.column).data_type for cell in sheet[1]],
}))`;

const editSheet = `
import sys, openpyxl
book = openpyxl.load_workbook(sys.argv[1])
sheet = book.active
at = {cell.value: cell.column for cell in sheet[1]}
cell = sheet.cell(2, at['priority'])
cell.value = 'low' if cell.value != 'low' else 'high'
sheet.cell(1, sheet.max_column + 1).value = 'my notes'
book.save(sys.argv[2])
print(sheet.cell(2, at['topic_id']).value, cell.value)`;

const describeResult = `
import json, sys, openpyxl, pandas
book = openpyxl.load_workbook(sys.argv[1])
sheet = book['Topics']
at = {cell.value: cell.column for cell in sheet[1]}
cells = {name: sheet.cell(2, column) for name, column in at.items()}
frame = pandas.read_excel(sys.argv[1], sheet_name='Topics')
print(json.dumps({
  'sheets': book.sheetnames, 'first': list(at)[:6], 'own': list(at)[-1], 'freeze': sheet.freeze_panes,
  'result': cells['result'].value, 'colours': [cells[name].fill.fgColor.rgb for name in ('result', 'priority')],
  'note': cells['priority'].comment.text, 'notes': sum(1 for row in sheet.iter_rows() for cell in row if cell.comment),
  'lists': sheet.data_validations.count, 'pandas': [str(frame['result'][0]), str(frame['title'][0]) == cells['title'].value],
}))`;

const editResult = `
import sys, openpyxl
book = openpyxl.load_workbook(sys.argv[1])
sheet = book['Topics']
at = {cell.value: cell.column for cell in sheet[1]}
sheet.cell(2, at['priority']).value = 'default'
book.save(sys.argv[2])`;

import { testFolder } from '../support/test-folders.js';

describe.skipIf(!hasOpenpyxl())('a sheet in openpyxl', () => {
  let town: Awaited<ReturnType<typeof startTown>>;
  let pulling: Pulling;
  let cwd: string;
  beforeAll(async () => {
    town = await startTown({ sizes: { topics: 24, people: 12, messages: 80, stories: 1 } });
    pulling = Pulling.into(town);
    cwd = testFolder();
    const { code } = await pulling.sync(['--only', 'topics,companies']);
    if (code !== 0) throw new Error('the warehouse of this test could not be filled');
  });
  afterAll(async () => {
    await town?.stop();
  });
  const run = (...args: string[]) => signalhouse(args, { cwd, env: pulling.env });

  it('has what a person needs to edit it', async () => {
    const { code, stdout } = await run('changes', 'sheet', '--out', 'topics.xlsx', '--json');
    expect(code).toBe(0);
    const { rows } = JSON.parse(stdout) as { rows: number };
    const seen = JSON.parse(python(describeSheet, join(cwd, 'topics.xlsx')));
    const [last, all] = [rows + 1, seen.columns.length];
    const right = String.fromCharCode(64 + all);
    expect(seen).toMatchObject({
      ...{ sheets: ['How to use', 'Topics'], active: 'Topics', freeze: 'C2', titles: '$1:$1' },
      ...{ filter: `A1:${right}${last}`, size: `A1:${right}${last}`, narrow: [] },
      page: ['landscape', 1, 0, true],
      lists: {
        [`C2:C${last}`]: '"very_low,low,default,high,very_high"',
        [`D2:D${last}`]: '"open,in_progress,completed,dismissed"',
        [`E2:E${last}`]: '"TRUE,FALSE"',
      },
      rules: ['C', 'D', 'E', 'F'].map((letter) => `${letter}2:${letter}${last}`),
      wraps: { title: true, summary: true },
    });
    expect(seen.steps).toHaveLength(6);
    expect(seen.columns.slice(0, 6)).toEqual([
      ...['topic_id', 'title', 'priority', 'lifecycle_state', 'archived', 'archived_reason'],
    ]);
    expect(seen.hidden).toEqual(seen.columns.filter((name: string) => name.startsWith('base_')));
    const { priority, archived_reason: reason, title, summary } = seen.colours;
    expect(priority).toBe(reason);
    expect(title).toBe(summary);
    expect(priority).not.toBe(title);
    // Text, number and boolean; no formula.
    expect(new Set(seen.types)).toEqual(new Set(['s', 'b', 'n', 'd']));
  });

  it('an edit is imported, and nothing else', async () => {
    const made = await run('changes', 'sheet', '--out', 'mine.xlsx');
    expect(made.code).toBe(0);
    const printed = python(editSheet, join(cwd, 'mine.xlsx'), join(cwd, 'edited.xlsx')).trim();
    const imported = await run('changes', 'import', 'edited.xlsx', '--yes');
    expect({ code: imported.code, stderr: imported.stderr }).toMatchObject({ code: 0 });
    const queue = await queueOf(pulling.dataDir);
    expect(queue.map(({ entityId, wanted }) => `${entityId} ${wanted.priority}`)).toEqual([printed]);
    expect(queue.map(({ wanted }) => Object.keys(wanted))).toEqual([['priority']]);
  });

  it('its result has colours, notes and lists, and another edit of the same cell is sent', async () => {
    const [queued] = await queueOf(pulling.dataDir);
    expect((await run('push', '--result', 'done.xlsx')).code).toBe(0);
    const seen = JSON.parse(python(describeResult, join(cwd, 'done.xlsx')));
    expect(seen).toEqual({
      ...{ sheets: ['How to use', 'Topics'], own: 'my notes', freeze: 'D2', lists: 3, notes: 1 },
      first: ['topic_id', 'title', 'result', 'reason', 'priority', 'lifecycle_state'],
      ...{ result: 'applied', colours: ['FFD3EFD7', 'FFD3EFD7'], note: `Before: ${queued?.base.priority}` },
      pandas: ['applied', true],
    });
    python(editResult, join(cwd, 'done.xlsx'), join(cwd, 'again.xlsx'));
    expect((await run('changes', 'import', 'again.xlsx', '--yes')).code).toBe(0);
    expect((await run('push')).code).toBe(0);
    expect(town.world.topics.get(queued?.entityId ?? '')?.priority).toBe('default');
  });
});
