import { z } from 'zod';
import type { Status } from '../../../push/change.js';
import { names } from '../../flags.js';

/** The states of a change; a missing one does not compile. */
const all: Readonly<Record<Status, true>> = {
  queued: true,
  sending: true,
  applied: true,
  unchanged: true,
  conflict: true,
  failed: true,
  superseded: true,
  cancelled: true,
};
const allStatuses = Object.keys(all) as Status[];

/** States by name, as `a,b` or by repeating the flag. */
export const statuses = names.pipe(z.array(z.enum(allStatuses, `must be one of ${allStatuses.join(', ')}`)));

/** A day, a time, or how long ago: `2026-11-20`, `2026-11-20T10:00Z`, `36h`, `7d`. */
export const since = z.string('is given more than once').transform((value, context): Date => {
  const [, amount, unit] = /^(\d+)([mhdw])$/.exec(value.trim()) ?? [];
  const ms = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }[unit ?? ''];
  const at = ms === undefined ? Date.parse(value) : Date.now() - Number(amount) * ms;
  if (Number.isNaN(at) || (ms === undefined && !/^\d{4}-\d\d-\d\d/.test(value))) {
    context.addIssue('must be a date such as 2026-11-20, or how long ago such as 7d or 36h');
    return z.NEVER;
  }
  return new Date(at);
});
