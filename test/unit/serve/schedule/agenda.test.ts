import { describe, expect, it } from 'vitest';
import { Agenda } from '../../../../src/serve/schedule/agenda.js';
import { job } from './scheduling.js';

const at = (time: string) => Date.parse(`2026-05-20T${time}Z`);
const often = job('often', '*/5 * * * *');

describe('what is handed out', () => {
  it('is the last of several that went by, as late', () => {
    const agenda = new Agenda();
    agenda.begin(often, at('03:00:00'), at('03:00:00'));
    expect(agenda.take(often, at('04:02:00'))).toEqual({ due: at('04:00:00'), isLate: true });
    expect(agenda.take(often, at('04:02:01'))).toBeNull();
    expect(agenda.nextStart(often, at('04:02:01'))).toBe(at('04:05:00'));
  });

  it('is due all the same when what was settled lies far ahead', () => {
    const agenda = new Agenda();
    expect(agenda.begin(often, Date.parse('2099-01-01T00:00Z'), at('03:02:00'))).toBe(at('03:00:00'));
    expect(agenda.take(often, at('03:05:00'))).toEqual({ due: at('03:05:00'), isLate: false });
  });
});
