import { groupBy } from '../../base/group-by.js';
import type { Grid, GridRow } from '../../sheet/grid.js';
import { archivedReason } from '../change.js';
import { blockedReason, named, type Store, type StoredEntity, storedEntities } from '../stored.js';
import { idOf, textOf, textProblem } from './cells.js';
import type { Header, PairColumns, Place } from './header.js';
import { emptyRow, type ParsedRow, problemAt, timeOf } from './rows.js';
import { isSameTitle, titleKey } from './titles.js';

/** A row of a sheet of pairs in which somebody has decided which of the two stays. */
interface Decision {
  readonly row: GridRow;
  readonly kept: string;
  readonly loser: string;
  readonly keptTitle: string | null;
  readonly loserTitle: string | null;
  /** What is in the cell. */
  readonly text: string;
  readonly baseAt: string | null;
}

/** What people write where both stay. */
const keepBoth: readonly string[] = ['both', 'no', 'none', '0'];

/** Whether a row of a sheet of pairs asks for nothing: nobody has decided, or both stay. */
export function isUndecided({ keep }: PairColumns, { cells }: GridRow): boolean {
  const text = textOf(cells[keep.at]);
  return text === null || keepBoth.includes(text.toLowerCase());
}

/**
 * The rows of a sheet of pairs as rows that archive a topic each, with a reason that names the one that stays; rows without a
 * decision are left out. The one that stays has to be there, and may not be archived by another row: where A stays of A and B,
 * and B of B and C, the reason of both names A.
 */
export async function parsePairs(
  store: Store,
  pair: PairColumns,
  { baseAt }: Pick<Header, 'baseAt'>,
  { rows }: Grid,
): Promise<ParsedRow[]> {
  const read = rows.flatMap((row) => (isUndecided(pair, row) ? [] : [decisionOf(pair, row, baseAt)]));
  const decisions = read.flatMap((one) => ('kept' in one ? [one] : []));
  const ids = new Set(decisions.flatMap(({ kept, loser }) => [kept, loser]));
  const stored = await storedEntities(store, 'topic', [...ids]);
  const losers = groupBy(decisions, ({ loser }) => loser);
  return read.map((one): ParsedRow => {
    if (!('kept' in one)) return one;
    const last = lastKept(one, losers);
    // The two may have become one already.
    const isOne = stored.get(one.loser)?.survivor?.id === one.kept;
    const problem =
      last === null
        ? 'goes around in a circle with other rows, so that none would stay: empty one of them'
        : (problemOf(one.kept, one.keptTitle, stored, 'would stay') ??
          (isOne ? null : problemOf(one.loser, null, stored, 'would be archived')) ??
          (last === one.kept ? null : problemOf(last, null, stored, 'would stay')));
    const own = emptyRow(one.row.number, one.baseAt);
    if (problem !== null || last === null)
      return { ...own, problems: [problemAt(one.row, pair.keep, problem ?? '')] };
    const from = { fromFile: true, row: own.row, header: pair.keep.header, text: one.text };
    const reason = `Duplicate of ${named(last, stored.get(last)?.title ?? null)}`;
    // Archives a topic that was not archived when the sheet was written.
    const edits = {
      archived: { value: true, base: false, ...from },
      [archivedReason]: { value: reason, base: null, ...from },
    };
    const baseValues = { archived: false };
    return { ...own, id: one.loser, title: one.loserTitle, edits: isOne ? {} : edits, baseValues };
  });
}

/** What a row decides, or the row with what is wrong in it. */
function decisionOf(pair: PairColumns, row: GridRow, baseAt: number | null): Decision | ParsedRow {
  const cell = (place: Place | null) => (place === null ? null : textOf(row.cells[place.at]));
  const [one, other] = pair.ids.map(({ at: column }) => idOf(row.cells[column]));
  const [title, otherTitle] = pair.titles.map(cell);
  const text = cell(pair.keep) ?? '';
  const at = baseAt === null ? null : timeOf(textOf(row.cells[baseAt]));
  const wrong = (place: Place, problem: string): ParsedRow => ({
    ...emptyRow(row.number, at),
    problems: [problemAt(row, place, problem)],
  });
  for (const place of pair.ids) {
    const id = idOf(row.cells[place.at]);
    const problem = id ? textProblem(id) : 'is empty: the id is missing';
    if (problem !== null) return wrong(place, problem);
  }
  if (!one || !other || one === other) return wrong(pair.ids[1], 'is the same as the other id');
  const isFirst = means(text, '1', one, title ?? null);
  const isSecond = means(text, '2', other, otherTitle ?? null);
  if (isFirst === isSecond)
    return wrong(
      pair.keep,
      'does not say which of the two stays: write 1 or 2, its id, or both where both stay',
    );
  const [kept, loser] = isFirst ? [one, other] : [other, one];
  const [keptTitle = null, loserTitle = null] = isFirst ? [title, otherTitle] : [otherTitle, title];
  return { row, kept, loser, keptTitle, loserTitle, text, baseAt: at };
}

function means(text: string, number: string, id: string, title: string | null): boolean {
  return (
    text === number ||
    text.toLowerCase() === id.toLowerCase() ||
    (title !== null && titleKey(text) === titleKey(title))
  );
}

/** The topic that stays when every row is followed; null when they go around in a circle. */
function lastKept({ kept }: Decision, losers: ReadonlyMap<string, readonly Decision[]>): string | null {
  const seen = new Set<string>();
  let last = kept;
  for (let next = losers.get(last)?.[0]; next; next = losers.get(last)?.[0]) {
    if (seen.has(last)) return null;
    seen.add(last);
    last = next.kept;
  }
  return last;
}

/** Why a topic cannot stay, or be archived; null when it can. `title` is what the row has beside its id. */
function problemOf(
  id: string,
  title: string | null,
  stored: ReadonlyMap<string, StoredEntity>,
  fate: 'would stay' | 'would be archived',
): string | null {
  const entity = stored.get(id);
  const blocked = blockedReason(entity);
  if (blocked !== null) return `cannot be done: ${id}, which ${fate}, ${blocked}`;
  if (fate === 'would stay' && entity?.values.archived === true)
    return `cannot be done: ${named(id, entity.title)}, which would stay, is archived itself. Take it out of the archive first, or keep the other one`;
  const own = entity?.title ?? null;
  return title !== null && own !== null && !isSameTitle(title, own)
    ? `cannot be done: the title beside ${id} is not its title, which is "${own}": put each id back beside its title`
    : null;
}
