import { literal } from './sql.js';

/** When an organization is at work: the setting analysis.businessHours. */
export interface BusinessHours {
  readonly timezone: string;
  readonly days: readonly ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[];
  /** Such as `09:00`. */
  readonly opens: string;
  readonly closes: string;
}

/** The file of the view that says when. It is SQL as it stands, with the default hours. */
export const businessHoursFile = /_business_hours\.sql$/;

const week = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** The view with other hours than the default ones. */
export function withBusinessHours(sql: string, { timezone, days, opens, closes }: BusinessHours): string {
  const numbers = [...new Set(days)].map((day) => 1 + week.indexOf(day)).sort();
  const values = {
    timezone: literal(timezone),
    days: `[${numbers.join(', ')}]`,
    opens: `TIME ${literal(opens)}`,
    closes: `TIME ${literal(closes)}`,
  };
  return Object.entries(values).reduce((text, [name, value]) => {
    const column = new RegExp(`^  .* AS ${name}(?=[,;]$)`, 'm');
    if (!column.test(text)) throw new Error(`the view of the business hours has no line for ${name}`);
    return text.replace(column, () => `  ${value} AS ${name}`);
  }, sql);
}
