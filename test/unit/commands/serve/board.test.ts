import { expect, it } from 'vitest';
import { type Board, selected, withApplied } from '../../../../src/commands/serve/board.js';
import type { Change } from '../../../../src/push/change.js';
import { type TopicLine, topicFilterOf } from '../../../../src/serve/page/topics.js';

const acme = { id: 'c1', name: 'Acme Tools', isVip: true };
const globex = { id: 'c2', name: 'Globex', isVip: false };

const some: TopicLine = {
  id: 't0',
  title: 'Nothing special',
  priority: 'default',
  lifecycleState: 'open',
  isOpen: true,
  isArchived: false,
  companies: [],
  vipPeople: 0,
  conversations: 1,
  weeks: [],
  momentum: 0,
  sources: ['slack'],
  waitingSince: null,
  isDecided: false,
  attributes: [null],
};

const topics: TopicLine[] = [
  { ...some, id: 't1', title: 'Export to CSV', priority: 'high', companies: [globex], attributes: [70] },
  { ...some, id: 't2', title: 'Crème brûlée', priority: 'very_high', momentum: 3, isDecided: true },
  { ...some, id: 't3', companies: [acme, globex], waitingSince: '2026-11-01T00:00:00Z', attributes: [900] },
  { ...some, id: 't4', lifecycleState: 'completed', isOpen: false, vipPeople: 2, sources: ['email'] },
  { ...some, id: 't5', isArchived: true, isOpen: false, waitingSince: '2026-10-01T00:00:00Z' },
  { ...some, id: 't6', priority: null, lifecycleState: null, title: null },
];

const board: Board = {
  topics,
  byId: new Map(topics.map((topic) => [topic.id, topic])),
  companies: new Map(),
  attributes: ['arr'],
  sources: ['email', 'slack'],
  applied: new Set(['change-1']),
};

const idsOf = (given: Record<string, string>, found: ReadonlyMap<string, number> | null = null) =>
  selected(board, topicFilterOf(given), found).map(({ id }) => id);

it.for<[string, Record<string, string>, string[]]>([
  ['the backlog, the most urgent first', {}, ['t2', 't1', 't3', 't6']],
  ['what is completed', { state: 'completed' }, ['t4']],
  ['what is archived', { state: 'archived' }, ['t5']],
  ['one that was never assessed counts as unknown', { state: 'unknown' }, ['t6']],
  ['a priority', { priority: 'high' }, ['t1']],
  ['a company by a part of its name', { company: 'acme' }, ['t3']],
  ['a company by its id', { company: 'c2' }, ['t1', 't3']],
  ['VIPs: people and companies', { vip: '1', state: 'any' }, ['t4', 't3']],
  ['what grows', { growing: '1' }, ['t2']],
  ['where no person has set the priority', { unset: '1' }, ['t1', 't3', 't6']],
  ['a source', { source: 'email', state: 'any' }, ['t4']],
  ['a part of a title, in any case', { q: 'PORT to' }, ['t1']],
  ['an id', { q: 't2' }, ['t2']],
  [
    'the longest wait first, and last who does not wait',
    { sort: 'waiting', state: 'any', vip: '' },
    ['t5', 't3', 't2', 't1', 't4', 't6'],
  ],
  ['money, downwards', { sort: '-arr' }, ['t3', 't1', 't2', 't6']],
  ['a column that there is not sorts as usual', { sort: 'constructor' }, ['t2', 't1', 't3', 't6']],
])('%s', ([, given, expected]) => {
  expect(idsOf(given)).toEqual(expected);
});

it('has the company that was searched in front, where people look for it', () => {
  const [, topic] = selected(board, topicFilterOf({ company: 'globex' }), null);
  expect(topic?.companies).toEqual([globex, acme]);
});

it('topics whose messages fit come with those whose title does, the best first', () => {
  const found = new Map([
    ['t3', 2],
    ['t6', 7],
  ]);
  expect(idsOf({ q: 'export', in: 'messages' }, found)).toEqual(['t6', 't3', 't1']);
});

it('shows what was applied since the file was published, and nothing twice', () => {
  const change = (id: string, wanted: Change['wanted'], status = 'applied') =>
    ({ id, entityType: 'topic', entityId: 't3', status, wanted }) as Change;
  const later = withApplied(board, [
    change('change-1', { priority: 'low' }),
    change('change-2', { priority: 'high', archived: true }),
    change('change-3', { priority: 'very_low' }, 'queued'),
  ]);
  expect(later.byId.get('t3')).toMatchObject({ priority: 'high', isArchived: true, isOpen: false });
  expect(later.topics.find(({ id }) => id === 't3')).toBe(later.byId.get('t3'));
  expect(withApplied(board, [])).toBe(board);
});
