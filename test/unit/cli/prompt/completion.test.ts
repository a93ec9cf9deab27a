import { describe, expect, it } from 'vitest';
import { completions } from '../../../../src/cli/prompt/completion.js';

const relations = new Map([
  ['backlog', ['topic_id', 'title', 'priority']],
  ['backlog_as_of(day)', []],
  ['topics', ['id', 'title']],
  ['people', ['id', 'phone']],
  ['raw.documents', ['body', 'kind']],
]);

describe('Tab completes', () => {
  it.each([
    ['SELECT * FROM back', ['backlog', 'backlog_as_of(']],
    ['SELECT * FROM topics JOIN peo', ['people']],
    ['FROM raw.', ['raw.documents']],
    ['DESCRIBE ', ['backlog', 'backlog_as_of(', 'people', 'raw.documents', 'topics']],
    ['SELECT ti| FROM topics', ['title']],
    ['SELECT p| FROM people', ['people', 'phone']],
    ['SELECT pho', ['phone']],
    ['SELECT b.p| FROM backlog AS b', ['b.priority']],
    ['SELECT d.| FROM raw.documents d', ['d.body', 'd.kind']],
    ['SELECT *\nFROM backlog\nWHERE pri', ['priority']],
    ['\\d top', ['topics']],
  ])('%s', (text, expected) => {
    const [statement = '', after = ''] = text.split('|');
    expect(completions(statement, after, relations)[0]).toEqual(expected);
  });
});
