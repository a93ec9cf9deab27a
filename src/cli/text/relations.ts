import { cut, widthOf } from '../../base/display-width.js';
import type { DescribedRelation, ListedRelation } from '../../read/sql-session.js';
import { pad, printable, rowLines, wrap } from '../../view/text.js';

const titles = { view: 'Views', macro: 'Table macros: FROM name(…)', table: 'Tables' } as const;

/** Every table, view and macro with its purpose, a line each, cut to `columns`. */
export function relationList(
  relations: readonly ListedRelation[],
  columns = Number.POSITIVE_INFINITY,
): string {
  const width = Math.max(0, ...relations.map(({ label }) => widthOf(label)));
  const parts = (['view', 'macro', 'table'] as const).map((kind) => {
    const lines = relations
      .filter((one) => one.kind === kind)
      .map(({ label, summary }) =>
        cut(`  ${pad(printable(label), width)}  ${printable(summary)}`.trimEnd(), columns),
      );
    return lines.length === 0 ? '' : `${[titles[kind], ...lines].join('\n')}\n`;
  });
  return parts.filter((part) => part !== '').join('\n');
}

/** The room for a comment, at least. */
const leastComment = 24;

/** The purpose of a table, view or macro, and its columns with types and comments. */
export function relationDescription(
  { label, kind, comment, columns }: DescribedRelation,
  width: number,
): string {
  const head = wrap(
    printable(`${label} (${kind === 'macro' ? 'table macro' : kind}): ${comment ?? ''}`),
    width,
  ).join('\n');
  if (kind === 'macro') return `${head}\n`;
  const rows = columns.map(({ name, type, comment: meaning }) => ({
    name: printable(name),
    type: printable(type.replace('TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ')),
    meaning: printable(meaning ?? ''),
  }));
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));
  const nameWidth = widest(['column', ...rows.map(({ name }) => name)]);
  const typeWidth = Math.min(24, widest(['type', ...rows.map(({ type }) => type)]));
  const room = Math.max(leastComment, width - nameWidth - typeWidth - 4);
  const rule = [nameWidth, typeWidth, Math.min(room, 24)].map((one) => '-'.repeat(one));
  const lines = rows.flatMap(({ name, type, meaning }) => rowLines([[name], [type], wrap(meaning, room)]));
  const cells = [['column', 'type', 'meaning'], rule, ...lines];
  const texts = cells.map(([name = '', type = '', meaning = '']) =>
    `${pad(name, nameWidth)}  ${pad(type, typeWidth)}  ${meaning}`.trimEnd(),
  );
  return `${[head, '', ...texts].join('\n')}\n`;
}
