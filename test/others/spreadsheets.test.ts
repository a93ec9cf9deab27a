import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { strFromU8, unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWarehouse } from '../../src/load/open.js';
import type { PlanReport } from '../../src/push/plan.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { columnLetters, type Grid, type SheetSpec } from '../../src/sheet/grid.js';
import { readSheet } from '../../src/sheet/read.js';
import { writeGrid, writeSheet } from '../../src/sheet/write.js';
import { putWarehouse } from '../support/migrated.js';
import { Pulling, startTown } from '../support/pulling.js';
import { changeable, other, push } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';
import { table } from '../unit/sheet/support.js';

let sandbox: Sandbox;
let pulling: Pulling;
beforeAll(async () => {
  sandbox = await startTown();
  pulling = await Pulling.filled(sandbox);
});
afterAll(() => sandbox.stop());

/** Where LibreOffice is, on a machine that has it (Debian: libreoffice-calc-nogui). */
function soffice(): string | undefined {
  try {
    return execFileSync('which', ['soffice'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** LibreOffice without a window, with a profile of its own. */
class Office {
  readonly dir = testFolder();

  /** Opens a file and saves it in another format; gives the folder. */
  saved(file: string, format: string, ...more: string[]): string {
    const out = join(this.dir, 'out');
    this.#run(['--convert-to', format, '--outdir', out, ...more, file]);
    return out;
  }

  /** Opens a workbook, types into cells of its first sheet with data, and saves it: .xlsx or .ods, by its name. */
  edit(file: string, to: string, sheet: string, edits: Readonly<Record<string, string>>): void {
    const folder = join(this.dir, 'profile', 'user', 'basic', 'Standard');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'Module1.xba'), macro);
    const filter = to.endsWith('.ods') ? 'calc8' : 'Calc MS Excel 2007 XML';
    const cells = Object.entries(edits).map(([cell, text]) => `${cell}~${text}`);
    const texts = [pathToFileURL(file).href, pathToFileURL(to).href, filter, sheet, cells.join('|')];
    this.#run([`macro:///Standard.Module1.Edit(${texts.map((one) => `"${one}"`).join(',')})`]);
  }

  /** A macro with an error shows a dialog that nobody can close, so it does not run for ever. */
  #run(args: readonly string[]): void {
    const own = `-env:UserInstallation=${pathToFileURL(join(this.dir, 'profile')).href}`;
    const env = { ...process.env, HOME: this.dir };
    execFileSync(soffice() ?? '', ['--headless', '--norestore', own, ...args], {
      stdio: 'ignore',
      env,
      timeout: 120_000,
    });
  }
}

const macro = `<?xml version="1.0" encoding="UTF-8"?>
<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">
Sub Edit(from As String, target As String, filter As String, sheet As String, edits As String)
  Dim hidden(0) As New com.sun.star.beans.PropertyValue
  hidden(0).Name = "Hidden"
  hidden(0).Value = True
  book = StarDesktop.loadComponentFromURL(from, "_blank", 0, hidden())
  For Each one In Split(edits, "|")
    parts = Split(one, "~")
    book.Sheets.getByName(sheet).getCellRangeByName(parts(0)).setFormula(parts(1))
  Next
  Dim format(0) As New com.sun.star.beans.PropertyValue
  format(0).Name = "FilterName"
  format(0).Value = filter
  book.storeToURL(target, format())
  book.close(True)
End Sub
</script:module>
`;

const spec: SheetSpec = {
  name: 'Topics',
  columns: [
    { key: 'topic_id', type: 'text' },
    { key: 'title', type: 'text', wrap: true },
    { key: 'priority', type: 'text', allowed: ['high', 'low'], edited: { base: 'base_priority' } },
    { key: 'archived', type: 'boolean', edited: { base: 'base_archived' } },
    { key: 'base_priority', type: 'text', hidden: true },
    { key: 'base_archived', type: 'boolean', hidden: true },
    { key: 'base_updated_at', type: 'time', hidden: true },
  ],
  rows: [
    ['t1', '=1+1', 'high', false, 'low', false, new Date('2026-03-04T05:06:07.891Z')],
    ['t2', "'-5 °C\nnext line", 'high', true, 'high', false, new Date('2026-03-04T05:06:07.999Z')],
    ['007', '+49 30 – <b>', null, false, null, false, new Date('2026-03-04T05:06:00.000Z')],
  ],
  howTo: ['How to use', 'Edit.'],
};

describe.skipIf(soffice() === undefined)('LibreOffice', () => {
  const office = new Office();
  // It sets up its profile when it starts for the first time, and would remove the macro.
  beforeAll(() => {
    const file = join(office.dir, 'first.csv');
    writeFileSync(file, 'a');
    office.saved(file, 'ods');
  });

  const rowOf = (grid: Grid, { id }: StoredTopic) =>
    grid.rows.find(({ cells }) => cells.includes(id))?.number;
  const cellOf = (grid: Grid, topic: StoredTopic, column: string) =>
    `${columnLetters(grid.columns.indexOf(column))}${rowOf(grid, topic)}`;
  const priorityOf = ({ id }: StoredTopic) => sandbox.world.topics.get(id)?.priority;

  test.each(['xlsx', 'ods'])(
    'edits a sheet and saves it as .%s; it is imported, pushed, and comes back',
    async (ending) => {
      const [sheet, edited, done] = ['sheet.xlsx', `edited.${ending}`, `done-${ending}.xlsx`].map((name) =>
        join(office.dir, name),
      ) as [string, string, string];
      expect((await pulling.run(['changes', 'sheet', '--out', sheet, '--force'])).code).toBe(0);
      const grid = await readSheet({ path: sheet });
      const [first, second] = changeable(sandbox).filter(
        (topic) => priorityOf(topic) !== 'high' && rowOf(grid, topic),
      ) as [StoredTopic, StoredTopic];
      const wanted = ['high', 'high'];
      // A cell that refers to another one: what the formula gives is stored with it.
      office.edit(sheet, edited, 'Topics', {
        [cellOf(grid, first, 'priority')]: 'high',
        [cellOf(grid, second, 'priority')]: `=${cellOf(grid, first, 'priority')}`,
      });
      // LibreOffice changes nothing else, but keeps only hundredths of seconds in an .ods file, and booleans as numbers.
      const before = table(grid);
      const differences = table(await readSheet({ path: edited })).flatMap((cells, row) =>
        cells.filter((cell, column) => {
          const one = before[row]?.[column] ?? null;
          const isTime = cell instanceof Date && one instanceof Date;
          if (isTime) return Math.abs(cell.getTime() - one.getTime()) > 10;
          return typeof one === 'boolean' ? Number(cell) !== Number(one) : cell !== one;
        }),
      );
      expect(differences).toEqual(wanted);
      const imported = await pulling.run(['changes', 'import', edited, '--yes']);
      expect(imported).toMatchObject({ code: 0, stderr: '' });
      const pushed = await push(pulling, ['--result', done]);
      expect(pushed).toMatchObject({ code: 0, report: { applied: 2 } });
      expect([first, second].map(priorityOf)).toEqual(wanted);
      const result = await readSheet({ path: join(office.saved(done, 'ods'), `done-${ending}.ods`) });
      const at = result.columns.indexOf('result');
      expect(result.columns.slice(0, 4)).toEqual(['topic_id', 'title', 'result', 'reason']);
      expect(result.rows.map(({ cells }) => cells[at]).filter((one) => one === 'applied')).toHaveLength(2);
      // It keeps the notes and colours of the result, and what it saves is accepted again, without a change.
      const again = join(office.saved(done, 'xlsx'), `done-${ending}.xlsx`);
      const notes = strFromU8(unzipSync(readFileSync(again))['xl/comments2.xml'] ?? new Uint8Array());
      expect(notes.match(/Before: /g)).toHaveLength(2);
      const resent = await pulling.run(['changes', 'import', again, '--yes']);
      expect(resent).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing new to queue') });
    },
  );

  test('opens our files, and what it saves is read as it was', async () => {
    const { dir } = office;
    const book = join(dir, 'book.xlsx');
    await writeSheet(book, spec, { overwrite: true });
    const again = join(office.saved(book, 'xlsx'), 'book.xlsx');
    // It saves a boolean with a format as 0 or 1, which the import takes for FALSE and TRUE.
    const numbered = table(await readSheet({ path: book })).map((row) =>
      row.map((cell) => (typeof cell === 'boolean' ? Number(cell) : cell)),
    );
    expect(table(await readSheet({ path: again }))).toEqual(numbered);
    const sheet = strFromU8(unzipSync(readFileSync(again))['xl/worksheets/sheet2.xml'] ?? new Uint8Array());
    expect(sheet).toContain('<autoFilter ref="A1:G4"');
    expect(sheet).toMatch(/<dataValidation [^>]*sqref="C2:C4" type="list"><formula1>&quot;high,low&quot;/);
    expect(sheet).toMatch(/<conditionalFormatting sqref="C2:C4"><cfRule type="expression"/);
  });

  test('makes no formulas of our CSV file, and its apostrophes go again', async () => {
    const { dir } = office;
    const text = join(dir, 'text.csv');
    await writeSheet(text, spec);
    // Comma, quote, UTF-8: without a window nobody is asked.
    const again = join(office.saved(text, 'xlsx', '--infilter=CSV:44,34,76'), 'text.xlsx');
    const titles = (await readSheet({ path: again })).rows.map(({ cells }) => cells[1]);
    expect(titles).toEqual(['=1+1', "'-5 °C\nnext line", '+49 30 – <b>']);
  });

  test('colours the cells that differ from their base, and only them', async () => {
    const { dir } = office;
    const book = join(dir, 'book.xlsx');
    await writeSheet(book, spec, { overwrite: true });
    const page = readFileSync(join(office.saved(book, 'html'), 'book.html'), 'utf8');
    const coloured = [...page.matchAll(/<td[^>]*bgcolor="#FFAB40"[^>]*>(.*?)<\/td>/gis)];
    expect(coloured.map(([, inner = '']) => inner.replace(/<[^>]*>/g, ''))).toEqual(['high', 'TRUE']);
  });
});

test('a sheet of 20,000 rows is imported within 300 MB', async () => {
  const topics = changeable(sandbox);
  const text = 'What the customer says about it, and what they would like to have instead. '.repeat(5);
  const path = join(testFolder(), 'large.xlsx');
  await writeSheet(path, {
    name: 'Topics',
    columns: ['topic_id', 'title', 'summary', 'priority', 'lifecycle_state', 'votes', 'seen'].map((key) => ({
      key,
      type: 'text' as const,
    })),
    rows: Array.from({ length: 20_000 }, (_, row) => {
      const { id, title, priority, lifecycleState } = topics[row % topics.length] as StoredTopic;
      return [id, title, `${row} ${text}`, other(priority), lifecycleState, row / 7, new Date(row * 1e9)];
    }),
  });
  const { report, megabytes } = await metered(pulling, ['changes', 'import', path, '--yes', '--json']);
  expect(report.rows).toHaveLength(20_000);
  expect(megabytes).toBeLessThan(300);
});

/** Runs a command that prints JSON, and the most memory that it took. */
async function metered(
  pulling: Pulling,
  args: readonly string[],
): Promise<{ report: PlanReport; megabytes: number }> {
  const meter = join(testFolder(), 'meter.mjs');
  writeFileSync(meter, `process.on('exit', () => console.error('maxRSS', process.resourceUsage().maxRSS));`);
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(meter).href}` };
  const { code, stdout, stderr } = await pulling.start(args, env).ended;
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/maxRSS \d+/) });
  return {
    report: JSON.parse(stdout) as PlanReport,
    megabytes: Number(/maxRSS (\d+)/.exec(stderr)?.[1]) / 1024,
  };
}

test('20,000 changes are queued within 350 MB', async () => {
  const large = Pulling.into(sandbox);
  await putWarehouse(large.dataDir);
  const warehouse = await openWarehouse({ dataDir: large.dataDir, memoryLimit: '256MB', threads: 1 });
  await warehouse.transaction((tx) =>
    tx.run(
      `INSERT INTO topics BY NAME SELECT uuid()::VARCHAR AS id, 'Topic ' || i AS title, 'low' AS priority,
         'open' AS lifecycle_state, 'active' AS graph_status, now() AS synced_at FROM range(20000) r(i)`,
    ),
  );
  await warehouse.publish();
  await warehouse.close();
  const path = join(testFolder(), 'all.xlsx');
  expect((await large.run(['changes', 'sheet', '--out', path])).code).toBe(0);
  const grid = await readSheet({ path });
  const at = grid.columns.indexOf('priority');
  const rows = grid.rows.map(({ number, cells }) => ({ number, cells: cells.with(at, 'high') }));
  await writeGrid(path, { ...grid, rows }, { overwrite: true });
  const { report, megabytes } = await metered(large, ['changes', 'import', path, '--yes', '--json']);
  expect(report.queued).toHaveLength(20_000);
  // All in one statement, the queue alone took 560 MB.
  expect(megabytes).toBeLessThan(350);
});
