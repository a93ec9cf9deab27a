import { describe, expect, test } from 'vitest';
import { landGroups } from '../../../../src/sync/landing/conversations.js';
import { Landing } from '../../../../src/sync/landing/landing.js';
import { Recent } from '../../../../src/sync/landing/recent.js';
import { Shapes } from '../../../../src/sync/landing/shapes.js';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

describe('Recent', () => {
  test('the same said again is said, other words are not, and are remembered instead', () => {
    const recent = new Recent();
    expect(recent.isSaid('g', ['a'], at(1))).toBe(false);
    expect(recent.isSaid('g', ['a'], at(2))).toBe(true);
    expect(recent.isSaid('h', ['a'], at(2))).toBe(false);
    expect(recent.isSaid('g', ['b'], at(3))).toBe(false);
    expect(recent.isSaid('g', ['a'], at(4))).toBe(false);
    expect(recent.isSaid('g', ['a'], at(4))).toBe(true);
  });

  test('an answer that was overtaken by a younger one is neither said nor remembered', () => {
    const recent = new Recent();
    recent.isSaid('g', ['young'], at(9));
    expect(recent.isSaid('g', ['old'], at(1))).toBe(false);
    expect(recent.isSaid('g', ['young'], at(1))).toBe(false);
    expect(recent.isSaid('g', ['young'], at(10))).toBe(true);
  });

  test('what is forgotten is not said', () => {
    const recent = new Recent();
    for (const id of ['g', 'h', 'i']) recent.isSaid(id, [], at(1));
    recent.forget(['g']);
    expect(['g', 'h', 'i'].map((id) => recent.isSaid(id, [], at(2)))).toEqual([false, true, true]);
    recent.forgetAll();
    expect(['g', 'h', 'i'].map((id) => recent.isSaid(id, [], at(3)))).toEqual([false, false, false]);
  });
});

test('a conversation that comes a second time lands without its messages, unless they differ', () => {
  const recent = new Recent();
  const message = (content: string) => ({ id: 'm1', content, author: { id: 'a1' } });
  const land = (second: number, endpoint: 'topic_groups' | 'company_groups', content: string) => {
    const landing = new Landing(at(second), new Shapes(), recent);
    landGroups(landing, endpoint, 'parent', [
      { group: { id: 'g1' }, messages: [message(content)], topic: {} },
    ]);
    const kinds = (rejected: { endpoint: string }[]) => rejected.map((it) => it.endpoint);
    expect(kinds(landing.rejections)).toEqual([]);
    return { documents: kinds(landing.documents), sets: kinds(landing.sets) };
  };
  const whole = (kind: string) => ({ documents: [kind, 'messages', 'authors'], sets: ['messages'] });
  expect(land(1, 'topic_groups', 'Hello')).toEqual(whole('topic_groups'));
  expect(land(2, 'company_groups', 'Hello')).toEqual({ documents: ['company_groups'], sets: [] });
  expect(land(3, 'company_groups', 'Hello!')).toEqual(whole('company_groups'));
});
