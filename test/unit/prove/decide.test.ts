import { describe, expect, it } from 'vitest';
import { readList } from '../../../src/api/page.js';
import { resources } from '../../../src/contract/resources.js';
import { decide, sections } from '../../../src/prove/assumptions.js';
import { deciders } from '../../../src/prove/decide.js';
import type { Observations, Observed } from '../../../src/prove/observe.js';

type Answer = Partial<Observed> & Pick<Observed, 'purpose'>;

/** What was observed, made by hand: `{purpose, body}`, and the rest as usual. */
function observed(answers: readonly Answer[], more: Partial<Observations> = {}): Observations {
  const whole = answers.map((one): Observed => {
    const child = resources.children.find(({ name }) => name === one.purpose) ?? null;
    const list = readList(one.body, `/${one.purpose.split(' ')[0]}`);
    return { child, item: {}, status: 200, headers: {}, body: undefined, list, ...one };
  });
  const budget = { requests: 120, windowMs: 60_000 };
  const now = Date.parse('2026-11-25T12:00:00Z');
  return {
    answers: whole,
    requests: whole.length,
    limitedAfter: null,
    clockAheadMs: [0],
    budget,
    now,
    ...more,
  };
}

function proofOf(id: string, answers: readonly Answer[], more?: Partial<Observations>) {
  return decide(observed(answers, more)).find((one) => one.id === id);
}

const items = (many: number, fields = {}) =>
  Array.from({ length: many }, (_, index) => ({ id: `t${index}`, ...fields }));
const page = (data: readonly unknown[], totalCount: number, number = 1) => {
  return { data, page: number, limit: 100, totalCount };
};
const topic = (listed: object, own: object): Answer => {
  return { purpose: 'topic', item: { id: 't', ...listed }, body: { id: 't', ...own } };
};

it('each decision is that of an assumption, and each assumption has a statement', () => {
  const proof = decide(observed([]));
  expect(proof.map(({ id }) => id)).toEqual(expect.arrayContaining(Object.keys(deciders)));
  for (const { statement, evidence, section } of proof)
    for (const text of [statement, evidence, section]) expect(text).toMatch(/^\w|^`/);
  for (const { unhandled = [], settings = {}, points } of sections)
    expect(Object.keys(points)).toEqual(expect.arrayContaining([...unhandled, ...Object.keys(settings)]));
});

it('where nothing was answered, nothing is decided', () => {
  const answers = [
    { purpose: 'topics first', status: 0 },
    { purpose: 'topic', status: 0 },
  ];
  const decided = decide(observed(answers, { clockAheadMs: [] })).filter(
    ({ verdict }) => verdict !== 'undecidable',
  );
  expect(decided).toEqual([]);
});

describe('what other people change meanwhile is no contradiction', () => {
  it('a total that is off by two', () => {
    const listed = (total: number) => [{ purpose: 'topics first', body: page(items(20), total) }];
    expect(proofOf('total_true', listed(22))?.verdict).toBe('confirmed');
    expect(proofOf('total_true', listed(23))?.verdict).toBe('contradicted');
    expect(proofOf('total_true', listed(18))?.verdict).toBe('confirmed');
    expect(proofOf('total_true', listed(17))?.verdict).toBe('contradicted');
  });

  it('one topic of three that was changed', () => {
    const same = topic({ priority: 'low' }, { priority: 'low' });
    const other = topic({ priority: 'low' }, { priority: 'high' });
    expect(proofOf('list_current', [same, same, other])?.verdict).toBe('confirmed');
    expect(proofOf('list_current', [same, other, other])).toMatchObject({
      verdict: 'contradicted',
      evidence: 'topics priority: 2 of 3',
    });
  });

  it('one topic that moved to the front', () => {
    const [moved, ...rest] = items(10).reverse();
    const body = (data: readonly unknown[]) => page(data, 10);
    const answers = [
      { purpose: 'topics first', body: body([...rest, moved]) },
      { purpose: 'topics again', body: body([moved, ...rest]) },
    ];
    expect(proofOf('list_order', answers)?.verdict).toBe('confirmed');
  });

  it('a topic that the migration archived', () => {
    const data = { reason: 'archived_in_v1_to_v2_migration' };
    const body = { code: 'NOT_FOUND', message: 'm', status: 404, defined: true, data };
    expect(proofOf('listed_answered', [{ purpose: 'topic', status: 404, body }])?.verdict).toBe(
      'undecidable',
    );
    const longer = { purpose: 'topic_groups', status: 404, body, item: { totalGroupCount: 30 } };
    const shown = { purpose: 'topic_groups', body: { data: items(2) }, item: { totalGroupCount: 2 } };
    expect(proofOf('whole_answers', [longer, shown])?.verdict).toBe('confirmed');
    expect(proofOf('whole_answers', [{ ...longer, status: 200, body: shown.body }, shown])?.verdict).toBe(
      'contradicted',
    );
    const { data: _, ...other } = body;
    expect(proofOf('listed_answered', [{ purpose: 'topic', status: 404, body: other }])).toMatchObject({
      verdict: 'contradicted',
      handled: false,
    });
  });
});

it('names of fields that nobody documented, and values, are no evidence', () => {
  const strange = { 'jane.doe@example.com': 'Jane Doe', priority: 'Jane Doe', updatedAt: 'Jane Doe' };
  const proof = decide(observed([{ purpose: 'topics first', body: page(items(20, strange), 20) }]));
  expect(proof.filter(({ verdict }) => verdict === 'contradicted').length).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(proof)).not.toMatch(/jane/i);
});

it('histories of which several end at the same round number are cut, others may end anywhere', () => {
  const history = (many: number) => {
    return { purpose: 'topic_history', body: { history: items(many), totalCount: many } };
  };
  expect(proofOf('history_complete', [20, 20, 3].map(history))?.verdict).toBe('contradicted');
  expect(proofOf('history_complete', [20, 21, 20].map(history))?.verdict).toBe('confirmed');
  expect(proofOf('history_complete', [7, 7].map(history))?.verdict).toBe('confirmed');
});

it('the setting that follows says the limit that was met', () => {
  expect(proofOf('rate_limit', [], { limitedAfter: 30, requests: 40 })).toMatchObject({
    verdict: 'contradicted',
    evidence: '30',
    setting: 'rateLimit.requests',
    handled: true,
  });
});
