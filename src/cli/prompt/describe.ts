import type { DescribedRelation, ListedRelation } from '../../app/sql-session.js';
import { cut, widthOf } from '../../base/display-width.js';
import { pad, printable, wrap } from '../text/layout.js';

const titles = { view: 'Views', macro: 'Table macros: FROM name(…)', table: 'Tables' } as const;
export const kinds = ['view', 'macro', 'table'] as const;

/** Every table, view and macro with what it is for, a line each. */
export function relationList(relations: readonly ListedRelation[], columns: number): string {
  const width = Math.max(0, ...relations.map(({ label }) => widthOf(label)));
  return byKind(relations, (all) =>
    all.map(({ label, summary }) =>
      cut(`  ${pad(printable(label), width)}  ${printable(summary)}`.trimEnd(), columns),
    ),
  );
}

/** Their names alone, in as many columns as fit. */
export function relationNames(relations: readonly ListedRelation[], columns: number): string {
  const width = Math.max(0, ...relations.map(({ label }) => widthOf(label))) + 2;
  const across = Math.max(1, Math.floor((columns - 2) / width));
  return byKind(relations, (all) => {
    const down = Math.ceil(all.length / across);
    return Array.from({ length: down }, (_, row) =>
      `  ${all
        .filter((_one, index) => index % down === row)
        .map(({ label }) => pad(printable(label), width))
        .join('')}`.trimEnd(),
    );
  });
}

function byKind(
  relations: readonly ListedRelation[],
  lines: (all: readonly ListedRelation[]) => readonly string[],
): string {
  return kinds
    .map((kind) => ({ kind, all: relations.filter((one) => one.kind === kind) }))
    .filter(({ all }) => all.length > 0)
    .map(({ kind, all }) => [titles[kind], ...lines(all)].join('\n'))
    .join('\n\n');
}

const typeNames: Record<string, string> = {
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMPTZ',
  'TIMESTAMP WITH TIME ZONE[]': 'TIMESTAMPTZ[]',
};

/** The room for a comment, at least. */
const leastComment = 24;

/** What a table, view or macro is for, and its columns with types and comments. */
export function relationDescription(
  { label, kind, comment, columns }: DescribedRelation,
  width: number,
): string {
  const head = wrap(
    printable(`${label} (${kind === 'macro' ? 'table macro' : kind}): ${comment}`),
    width,
  ).join('\n');
  if (kind === 'macro') return head;
  const rows = columns.map(({ name, type, comment: meaning }) => ({
    name: printable(name),
    type: printable(typeNames[type] ?? type),
    meaning: printable(meaning ?? ''),
  }));
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));
  const nameWidth = widest(['column', ...rows.map(({ name }) => name)]);
  const typeWidth = Math.min(24, widest(['type', ...rows.map(({ type }) => type)]));
  const room = Math.max(leastComment, width - nameWidth - typeWidth - 4);
  const line = (name: string, type: string, meaning: string) =>
    `${pad(name, nameWidth)}  ${pad(type, typeWidth)}  ${meaning}`.trimEnd();
  const lines = rows.flatMap(({ name, type, meaning }) => {
    const [first = '', ...more] = wrap(meaning, room);
    return [line(name, type, first), ...more.map((text) => line('', '', text))];
  });
  const rule = line('-'.repeat(nameWidth), '-'.repeat(typeWidth), '-'.repeat(Math.min(room, 24)));
  return [head, '', line('column', 'type', 'meaning'), rule, ...lines].join('\n');
}
