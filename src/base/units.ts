/** Numbers for people, the same on every machine: no locale, no colour, plain ASCII. */

/** 1234567 as `1,234,567`. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 request`, `2 requests`; `plural` is for nouns that do not take an s. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** `3 of 37 items`, and `3 items` where the total is not known. */
export function countedOf(value: number, total: number | null, noun: string): string {
  return total === null ? counted(value, noun) : `${count(value)} of ${counted(total, noun)}`;
}

/** The first texts of a list, and how many more there are: `a, b and 3 more`. */
export function firstOf(texts: readonly (string | number)[], most: number): string {
  const more = texts.length - most;
  return `${texts.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Bytes as `512 B`, `1.5 MB` (powers of 1024). */
export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let amount = value;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  const digits = unit === 0 || amount >= 99.95 ? 0 : 1;
  return `${amount.toFixed(digits)} ${units[unit]}`;
}

/** Milliseconds as `0.4 s`, `42 s`, `3 min`, `1 h 05 min`, `2 d 3 h`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A point in time: ISO 8601, or milliseconds since the epoch. */
type Time = Date | string | number;

/** How long ago a moment was, as `3 min ago`; `never` for none. */
export function ago(at: Time | null, now: number): string {
  return at === null ? 'never' : `${duration(Math.max(0, now - new Date(at).getTime()))} ago`;
}

/** A value in a sentence: of a text or a yes-or-no, or none. */
export function valueText(value: string | boolean | null | undefined): string {
  if (value === undefined) return '(not known)';
  if (value === null || value === '') return '(none)';
  return typeof value === 'boolean' ? String(value).toUpperCase() : value;
}

/** A value of the API as words: `in progress`. */
export function plainWord(value: string | null): string {
  return value === null ? 'none' : value.replaceAll('_', ' ');
}

/** A moment as `2026-11-20 10:15:00Z`. */
export function moment(at: Time): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}
