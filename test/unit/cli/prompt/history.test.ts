import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { History, historyPath } from '../../../../src/cli/prompt/history.js';
import { testFolder } from '../../../support/test-folders.js';

test('the history is in the state directory of the user', () => {
  expect(historyPath({ HOME: '/home/kim' })).toBe('/home/kim/.local/state/signalhouse/sql_history');
  expect(historyPath({ HOME: '/home/kim', XDG_STATE_HOME: '/state' })).toBe('/state/signalhouse/sql_history');
  expect(historyPath({ HOME: '/home/kim', XDG_STATE_HOME: 'state' })).toContain('/home/kim/.local');
});

test('statements are kept once each, in one line, for this user alone; what begins with a blank is not', () => {
  const path = join(testFolder(), 'new', 'sql_history');
  const history = new History(path);
  for (const text of [
    'SELECT 1;',
    'SELECT 2 -- two\n  FROM t;',
    ' SELECT 3;',
    'SELECT 1;',
    "SELECT 'a\nb';",
    '\\d topics',
    '\n',
  ])
    history.add(text);
  const newestFirst = ['\\d topics', "b';", "SELECT 'a", 'SELECT 1;', 'SELECT 2 FROM t;'];
  expect(history.entries).toEqual(newestFirst);
  expect(new History(path).entries).toEqual(newestFirst);
  expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
});

test('a long file is shortened, and gets the permissions that it should have', () => {
  const path = join(testFolder(), 'sql_history');
  const lines = Array.from({ length: 3_000 }, (_, at) => `SELECT ${at};`);
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o644 });
  expect(new History(path).entries).toEqual(lines.slice(2_000).reverse());
  expect(readFileSync(path, 'utf8')).toBe(`${lines.slice(2_000).join('\n')}\n`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('where nothing can be written, statements are kept for the session', () => {
  const path = join(testFolder(), 'sql_history');
  mkdirSync(path);
  const history = new History(path);
  history.add('SELECT 1;');
  expect(history.entries).toEqual(['SELECT 1;']);
});
