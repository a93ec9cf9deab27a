import { describe, expect, it } from 'vitest';
import { kinds } from '../../../../src/push/fields.js';
import { parseCell } from '../../../../src/push/import/values.js';
import { type Cell, noResult } from '../../../../src/sheet/grid.js';

const field = (name: string) =>
  [...kinds.topic.fields, ...kinds.company.fields].find((one) => one.name === name)!;
const parsed = (name: string, cell: Cell) => parseCell(field(name), cell);

describe('a cell', () => {
  it.each<[string, Cell, unknown]>([
    ['priority', 'Very high', 'very_high'],
    ['priority', ' very-high ', 'very_high'],
    ['priority', 'VERYHIGH', 'very_high'],
    ['priority', 'ｈｉｇｈ', 'high'],
    ['lifecycle_state', 'In Progress', 'in_progress'],
    ['archived', true, true],
    ['archived', 'TRUE', true],
    ['archived', 'x', true],
    ['archived', 'Yes', true],
    ['archived', 1, true],
    ['archived', 'WAHR', true],
    ['archived', 0, false],
    ['archived', 'no', false],
    ['archived', 'FALSCH', false],
    ['archived_reason', '  a duplicate ', 'a duplicate'],
    ['connections_phone', 49301234, '49301234'],
    ['logo_url', 'https://acme.example/l.png', 'https://acme.example/l.png'],
    ['primary_domain', 'acme.co.example', 'acme.co.example'],
    ['primary_domain', 'müller.example', 'müller.example'],
    ['connections_email', 'Kim.O+x@acme.example', 'Kim.O+x@acme.example'],
  ])('%s %j is read as %j', (name, cell, value) => {
    expect(parsed(name, cell)).toEqual({ kind: 'value', value });
  });

  it.each<[string, Cell]>([
    ['priority', null],
    ['archived', '  '],
    ['archived_reason', '\t'],
  ])('%s %j is empty', (name, cell) => {
    expect(parsed(name, cell)).toEqual({ kind: 'nothing' });
  });

  it.each<[string, Cell, RegExp, boolean]>([
    ['priority', 'hihg', /^is not a priority; did you mean high\?$/, true],
    ['priority', 'urgent', /^is not a priority; did you mean very_high\?$/, true],
    ['priority', 'wichtig', /^is not a priority$/, true],
    ['priority', 3, /^is not a priority$/, true],
    ['priority', new Date('2026-03-04'), /^is not a priority$/, true],
    ['lifecycle_state', 'Unknown', /^can only be set by the service$/, true],
    ['lifecycle_state', 'complete', /did you mean completed\?/, true],
    ['archived', 'maybe', /neither TRUE nor FALSE/, true],
    ['archived', 2, /neither TRUE nor FALSE/, true],
    ['archived_reason', new Date('2026-03-04'), /^is a date; expected text/, false],
    ['archived_reason', '#REF!', /^is a formula error$/, false],
    ['priority', noResult, /^is a formula without a stored value/, false],
    ['archived', noResult, /^is a formula without a stored value/, false],
    ['name', noResult, /^is a formula without a stored value/, false],
    ['name', false, /^is a boolean; expected text/, false],
    ['connections_phone', 4.93012345678912e15, /lost digits/, false],
    ['logo_url', 'acme.example/l.png', /https:/, false],
    ['logo_url', 'javascript:alert(1)', /https:/, false],
    ['primary_domain', 'kim@acme.example', /^is not a domain: write it like acme.example$/, false],
    ['primary_domain', 'https://www.acme.example/path', /not a domain/, false],
    ['primary_domain', 'acme.example/path', /not a domain/, false],
    ['primary_domain', 'acme', /not a domain/, false],
    ['primary_domain', '10.0.0.1', /not a domain/, false],
    ['primary_domain', 'acme .example', /not a domain/, false],
    ['primary_domain', 'ftp://acme.example', /not a domain/, false],
    ['connections_email', 'acme.example', /^is not an e-mail address/, false],
    ['connections_email', 'kim@acme.example, bo@acme.example', /one/, false],
    ['connections_email', 'kim@acme.example/x', /not an e-mail/, false],
  ])('%s %j is a problem', (name, cell, problem, hasChoice) => {
    const result = parsed(name, cell);
    expect(result).toMatchObject({ kind: 'problem', problem: expect.stringMatching(problem) });
    expect('allowed' in result).toBe(hasChoice);
  });
});
