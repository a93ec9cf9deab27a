import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, test } from 'vitest';
import { silentLog } from '../../../src/base/log.js';
import { cleanFiles } from '../../../src/commands/forget-files.js';
import { Forgotten, Texts } from '../../../src/privacy/forgotten.js';
import { testFolder } from '../../support/test-folders.js';

const forgotten = new Forgotten('salt', [], new Texts(['José Castellanos']));
forgotten.add([
  forgotten.of('email', 'jose.9@mail.example'),
  forgotten.of('person', 'p-9'),
  forgotten.of('company', 'c-9'),
]);
const found = { forgotten, written: ['Thanks!\nI could not log in since the last update, whatever I try.'] };

/** The files that would go, of these in a data directory. */
async function foundIn(files: Readonly<Record<string, string | Uint8Array>>): Promise<string[]> {
  const dataDir = testFolder();
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(dataDir, name)), { recursive: true });
    writeFileSync(join(dataDir, name), bytes);
  }
  const gone = await cleanFiles({ dataDir }, found, silentLog, { dryRun: false });
  for (const name of Object.keys(files)) {
    const isGone = gone.some((one) => one.replace('.file', '') === name.replace(/\.(file|json)$/, ''));
    expect([name, existsSync(join(dataDir, name))]).toEqual([name, !isGone && !gone.includes(name)]);
  }
  return gone;
}

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');

it.each<readonly [what: string, name: string, bytes: string | Uint8Array]>([
  ['UTF-8', 'inbox/done/a.csv', 'id,who\n1,José Castellanos\n'],
  ['UTF-16, as Excel writes "Unicode text"', 'inbox/done/a.txt', utf16('id\twho\n1\tjose.9@mail.example\n')],
  ['UTF-16 with the bytes in the other order', 'inbox/done/a.csv', utf16('1,José Castellanos\n').swap16()],
  ['UTF-16 without a mark, which cannot be told', 'inbox/rejected/a.csv', utf16('1,A\n').subarray(2)],
  ['Windows-1252', 'inbox/done/a.csv', Buffer.from('1,José Castellanos\n', 'latin1')],
  ['the copy of an import', 'imports/a.file', Buffer.from('1,José Castellanos\n', 'latin1')],
  ['JSON with a line break before the name', 'reports/a.ndjson', '{"content":"Hi\\nJosé Castellanos"}\n'],
  ['JSON with escapes', 'reports/a.json', '{"name":"Jos\\u00e9 Castellanos"}'],
  ['HTML with references', 'reports/a.html', '<p>Jos&#233; Castellanos</p>'],
  ['an upload that waits for a login', 'imports/a.late', 'id,who\n1,José Castellanos\n'],
  ['the beginning of a message', 'imports/a.json', '["I could not log in since the last update, what…"]'],
  ['a link', 'reports/a.html', '<a href="mailto:jose.9%40mail.example">Write</a>'],
  ['a compressed file', 'reports/a.csv.gz', gzipSync('1,Nobody')],
  ['a file of another kind', 'reports/a.bin', Uint8Array.of(0, 1, 2, 255)],
  [
    'a draft with an edit of the company',
    'imports/a.draft',
    '{"edits":[{"entityId":"c-9","field":"is_vip"}]}',
  ],
  ['a note that the person was told', 'imports/a.told', '{"topicId":"t1","personId":"p-9","by":"anna"}'],
  ['the name of the file', 'inbox/done/For José Castellanos.csv', 'id\n1\n'],
])('%s is searched, and the file is deleted', async (_, name, bytes) => {
  expect(await foundIn({ [name]: bytes, 'reports/other.csv': '1,Nobody\n' })).toEqual([name]);
});

test('the folder of somebody goes with what waits in it', async () => {
  const dataDir = testFolder();
  const folders = ['José Castellanos', 'Anna'].map((name) => join(dataDir, 'inbox', name));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  expect(await cleanFiles({ dataDir }, found, silentLog, { dryRun: false })).toEqual([
    'inbox/José Castellanos',
  ]);
  expect(folders.map(existsSync)).toEqual([false, true]);
});

test('files that have nothing of it stay', async () => {
  const files = {
    'reports/a.csv': Buffer.from('1,José Canseco\n', 'latin1'),
    'reports/b.csv': utf16('1,Jose\n'),
    'reports/c.html': '<p>Zebedee says boing, and 100 % of it</p>',
    'inbox/rejected/d.txt': 'A bad escape \\u00 and a bad link %zz',
  };
  expect(await foundIn(files)).toEqual([]);
});

test('both files of an import that hold it go at once', async () => {
  const [sheet, rows] = ['imports/a.file', 'imports/a.json'];
  const gone = await foundIn({ [sheet]: '1,José Castellanos', [rows]: '["José Castellanos"]' });
  expect(gone).toEqual([sheet]);
});

test('JSON of the worker is rewritten, and is still JSON', async () => {
  const dataDir = testFolder();
  const path = join(dataDir, 'schedule.json');
  writeFileSync(path, '{"lastError":"no\\nJosé Castellanos","runs":[1]}');
  await cleanFiles({ dataDir }, found, silentLog, { dryRun: false });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ lastError: 'no\n[forgotten]', runs: [1] });
});

it('a line of changes.journal that a kill cut off is redacted', async () => {
  const dataDir = testFolder();
  const path = join(dataDir, 'changes.journal');
  const whole = '{"id":"1","requestedBy":"José Castellanos"}';
  writeFileSync(path, `${whole}\n{"id":"2","requestedBy":"José Castellanos","sta`);
  expect(await cleanFiles({ dataDir }, found, silentLog, { dryRun: false })).toEqual(['changes.journal']);
  expect(readFileSync(path, 'utf8')).toBe(
    '{"id":"1","requestedBy":"[forgotten]"}\n{"id":"2","requestedBy":"[forgotten]","sta (cut off)\n',
  );
});
