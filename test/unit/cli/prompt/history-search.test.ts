import { expect, test } from 'vitest';
import { HistorySearch } from '../../../../src/cli/prompt/history.js';

const entries = ['SELECT 3 FROM topics;', 'FROM people;', 'SELECT 2 FROM Topics;', 'SELECT 1;'];

test('a search grows with each key, goes further back, and stays on its last match when there is none', () => {
  const search = new HistorySearch(entries, 'unfinished');
  expect([search.prompt, search.line]).toEqual(["(reverse-i-search)`': ", 'unfinished']);
  const shown: [string, string][] = [];
  const look = () => shown.push([search.prompt, search.line]);
  search.type('s');
  look();
  search.type('elect 2');
  look();
  for (let at = 0; at < 7; at++) search.erase();
  search.further('');
  look();
  search.further('');
  search.further('');
  look();
  search.erase();
  look();
  expect(shown).toEqual([
    ["(reverse-i-search)`s': ", entries[0]],
    ["(reverse-i-search)`select 2': ", entries[2]],
    ["(reverse-i-search)`s': ", entries[2]],
    ["(failed reverse-i-search)`s': ", entries[3]],
    ["(reverse-i-search)`': ", 'unfinished'],
  ]);
});

test('capital letters are searched as they are, and an empty search takes the last one', () => {
  const search = new HistorySearch(entries, '');
  search.type('Top');
  expect([search.line, search.column]).toEqual([entries[2], 14]);
  const again = new HistorySearch(entries, '');
  again.further('people');
  expect([again.line, again.prompt]).toEqual([entries[1], "(reverse-i-search)`people': "]);
});
