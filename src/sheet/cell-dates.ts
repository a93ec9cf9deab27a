import type { Cell } from './grid.js';

/** The day of a time without a date, such as 12:30: day 0 of spreadsheets. */
const dayZero = '1899-12-30';

/** Days since the last day of 1899, or since the first of 1904; rounded, because 10:20:30 is not an exact fraction. */
export function dateOfSerial(days: number, from1904: boolean): Cell {
  const since1900 = from1904 ? days + 1462 : days;
  // Spreadsheets have a 29 February 1900, which never existed: the days before it count one less.
  const since1970 = since1900 - (since1900 < 60 && since1900 >= 1 ? 25_568 : 25_569);
  return dateOr(new Date(Math.round(since1970 * 86_400_000)), days);
}

/**
 * The date of `2026-01-02`, `2026-01-02T03:04:05.678` or `03:04:05`; the text itself when it is none. Without a zone it
 * is a wall clock, whatever the zone of this computer.
 */
export function dateOfIso(text: string): Cell {
  const [, day, time, zone] =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})?T?([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$/.exec(
      text.trim(),
    ) ?? [];
  if (day === undefined && time === undefined) return text;
  // Three decimals: more are cut by Date, and 59.9999999 would become another second than the one that is shown.
  const [whole = '00:00', decimals = '0'] = (time ?? '00:00').split('.');
  const date = new Date(`${day ?? dayZero}T${whole}${zone ?? 'Z'}`);
  return dateOr(new Date(date.getTime() + Math.round(Number(`0.${decimals}`) * 1000)), text);
}

/** The time of `PT12H30M05.5S`, a duration of OpenDocument, as the day and time that a workbook would store. */
export function dateOfDuration(text: string): Cell {
  const parts = /^(-?)P(?:([0-9]+)D)?T?(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:[.,][0-9]+)?)S)?$/.exec(
    text.trim(),
  );
  if (!parts || !/[0-9]/.test(text)) return text;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts
    .slice(2)
    .map((part) => Number((part ?? '0').replace(',', '.')));
  const sum = days + hours / 24 + minutes / 1440 + seconds / 86_400;
  return dateOfSerial(parts[1] === '-' ? -sum : sum, false);
}

function dateOr(date: Date, otherwise: Cell): Cell {
  return Number.isNaN(date.getTime()) ? otherwise : date;
}

/** The formats that a workbook may use without defining them; 27 to 36 and 50 to 58 are the East Asian dates. */
export function isBuiltInDate(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

/** Whether a format such as `dd/mm/yyyy` or `[h]:mm:ss.0` shows a date or time, and not `0.00 "days"`. */
export function isDateFormat(code: string): boolean {
  const [positive = ''] = code
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/s\.0+/gi, 's')
    .split(';');
  return /[ymdhs]/i.test(positive) && !/[#?0]|general|standard/i.test(positive);
}
