import { describe, expect, it } from 'vitest';
import { completions } from '../../../../src/cli/prompt/completion.js';

const what = {
  relations: new Map([
    ['backlog', ['topic_id', 'title', 'priority']],
    ['backlog_as_of(day)', []],
    ['topics', ['id', 'title', 'Odd name']],
    ['people', ['id', 'phone']],
    ['raw.documents', ['body', 'kind']],
    ['ops.runs', ['run_id']],
  ]),
  commands: ['\\d', '\\dt', '.tables', '.mode'],
  commandsOnTables: ['\\d'],
  formats: ['csv', 'json'],
};
/** `|` is the cursor. */
const found = (text: string, before = '') => {
  const [line = '', after = ''] = text.split('|');
  return completions(before, line, after, what)[0];
};

describe('Tab completes', () => {
  it.each([
    ['SELECT * FROM back', ['backlog', 'backlog_as_of(']],
    ['SELECT * FROM topics JOIN peo', ['people']],
    ['SELECT * FROM topics t, PEO', ['people']],
    ['FROM raw.', ['raw.documents']],
    ['DESCRIBE ', ['backlog', 'backlog_as_of(', 'people', 'raw.documents', 'topics']],
    ['WITH mine AS (FROM topics) FROM mi', ['mine']],
    ['SELECT ti| FROM topics', ['title']],
    ['SELECT p| FROM people', ['people', 'phone', 'partition', 'pivot', 'positional'].sort()],
    ['SELECT pho', ['phone']],
    ['SELECT b.p| FROM backlog AS b', ['b.priority']],
    ['SELECT backlog.ti| FROM backlog', ['backlog.title']],
    ['SELECT d.| FROM raw.documents d', ['d.body', 'd.kind']],
    ['SELECT "od| FROM topics', ['"Odd name"']],
    ['SELECT 1; sel', ['select']],
    ['SEL', ['SELECT']],
    ["SELECT 'FROM back", []],
    ['SELECT 1 -- FROM back\nFROM back', ['backlog', 'backlog_as_of(']],
    ['\\d', ['\\d', '\\dt']],
    ['\\d top', ['topics']],
    ['.mode ', ['csv', 'json']],
    ['.t', ['.tables']],
  ])('%s', (text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it('in later lines of a statement as well', () => {
    expect(found('WHERE pri', 'SELECT *\nFROM backlog\n')).toEqual(['priority']);
    expect(found('and pri', "SELECT *\nFROM backlog WHERE x = 'a\n")).toEqual([]);
    expect(found('.mo', 'SELECT 1\n')).toEqual([]);
  });
});
