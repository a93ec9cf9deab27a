import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../../../src/push/fields.js';
import { nearest } from '../../../../src/push/import/spelling.js';
import { read } from '../../../../src/push/import/values.js';
import type { Cell } from '../../../../src/sheet/grid.js';

const field = (name: string) => [...fieldsOf.topic, ...fieldsOf.company].find((one) => one.name === name)!;
const said = (name: string, cell: Cell) => read(field(name), cell);

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
  ])('%s %j says %j', (name, cell, value) => {
    expect(said(name, cell)).toEqual({ kind: 'value', value });
  });

  it.each<[string, Cell]>([
    ['priority', null],
    ['archived', '  '],
    ['archived_reason', '\t'],
  ])('%s %j says nothing', (name, cell) => {
    expect(said(name, cell)).toEqual({ kind: 'nothing' });
  });

  it.each<[string, Cell, RegExp, boolean]>([
    ['priority', 'hihg', /is no priority; is high meant\?/, true],
    ['priority', 'urgent', /^is no priority$/, true],
    ['priority', 3, /^is no priority$/, true],
    ['priority', new Date('2026-03-04'), /^is no priority$/, true],
    ['lifecycle_state', 'Unknown', /given by the service alone/, true],
    ['lifecycle_state', 'complete', /is completed meant\?/, true],
    ['archived', 'maybe', /neither TRUE nor FALSE/, true],
    ['archived', 2, /neither TRUE nor FALSE/, true],
    ['archived_reason', new Date('2026-03-04'), /is a date/, false],
    ['archived_reason', '#REF!', /error of a formula/, false],
    ['name', false, /is FALSE, and text/, false],
    ['connections_phone', 4.93012345678912e15, /lost digits/, false],
    ['logo_url', 'acme.example/l.png', /https:/, false],
    ['logo_url', 'javascript:alert(1)', /https:/, false],
  ])('%s %j cannot be meant', (name, cell, problem, hasChoice) => {
    const result = said(name, cell);
    expect(result).toMatchObject({ kind: 'problem', problem: expect.stringMatching(problem) });
    expect('allowed' in result).toBe(hasChoice);
  });
});

it('the nearest name is near, or there is none', () => {
  const names = ['very_low', 'low', 'default', 'high', 'very_high'];
  expect(['lwo', 'veryhihg', 'defualt', 'default!'].map((one) => nearest(one, names))).toEqual([
    'low',
    'very_high',
    'default',
    'default',
  ]);
  expect(['', '!!', 'critical', 'x'.repeat(100)].map((one) => nearest(one, names))).toEqual(
    Array(4).fill(undefined),
  );
});
