/**
 * Wall clocks. A wall time is what a local clock shows, written as milliseconds since the epoch as if it were UTC, so that
 * arithmetic on it needs no zone. A moment is real time.
 */
const dayMs = 86_400_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** The wall time of a zone at a moment. Throws RangeError for an unknown zone. */
export function wallAt(moment: number, zone: string): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(moment)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((moment % 1000) + 1000) % 1000);
}

/**
 * The one moment for a wall time: the first of two when clocks are set back over it, and the moment right after the gap
 * when they are set forward over it. It never decreases while the wall time increases.
 */
export function momentOf(wall: number, zone: string): number {
  const before = offsetAt(wall - dayMs, zone);
  const after = offsetAt(wall + dayMs, zone);
  const early = wall - Math.max(before, after);
  const late = wall - Math.min(before, after);
  if (wallAt(early, zone) === wall) return early;
  if (wallAt(late, zone) === wall) return late;
  return endOfGap(early, late, zone);
}

/** Every moment at which a clock of the zone shows a wall time, or jumps over it: two where clocks are set back over it. */
export function momentsOf(wall: number, zone: string): number[] {
  const first = momentOf(wall, zone);
  const second = wall - offsetAt(wall + dayMs, zone);
  return second > first && wallAt(second, zone) === wall ? [first, second] : [first];
}

/** The last wall time that any clock of the zone has shown up to a moment, also before it was set back. */
export function lastWallUntil(moment: number, zone: string): number {
  return Math.max(wallAt(moment, zone), moment + offsetAt(moment - dayMs, zone));
}

function offsetAt(moment: number, zone: string): number {
  return wallAt(moment, zone) - moment;
}

/** The moment, to the second, at which the offset of `until` begins. */
function endOfGap(from: number, until: number, zone: string): number {
  const offset = offsetAt(until, zone);
  let [low, high] = [Math.floor(from / 1000), Math.floor(until / 1000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000, zone) === offset) high = middle;
    else low = middle;
  }
  return high * 1000;
}

/** Cached: creating a format takes a thousand times as long as using it. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const cached = formats.get(zone);
  if (cached) return cached;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(zone, made);
  return made;
}
