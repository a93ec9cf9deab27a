import { type Html, html, type Piece } from '../base/html.js';
import { count, counted } from '../base/units.js';
import type { PersonData, ShownRow } from '../warehouse/forget/person-data.js';
import { moment, quiet, table } from './elements.js';
import { documentPage } from './page.js';
import type { Section } from './sections.js';

/** Everything that is held about one person, as a page that the person can read. */

export interface PersonPageData extends Pick<PersonData, 'ids' | 'held' | 'tables' | 'kept' | 'leftOut'> {
  readonly who: string;
  readonly organization: string | null;
  readonly madeAt: string;
  /** The meaning of each table, by its name. */
  readonly comments: Readonly<Record<string, string>>;
  /** Files of the data directory that have something of the person. */
  readonly files: readonly string[];
  /** Exports that may have had the person in them: what each wrote, not for whom. */
  readonly exports: readonly { readonly at: string; readonly details: unknown }[];
}

export function personPage(data: PersonPageData, version: string): string {
  const { who, organization, madeAt, held, tables, kept, leftOut, files, exports } = data;
  const name = organization ?? 'this organization';
  const shownTables = Object.entries(tables).sort(([a], [b]) => placeOf(a) - placeOf(b));
  const where = [
    ...Object.entries(held)
      .sort(([a], [b]) => placeOf(a) - placeOf(b))
      .map(([one, rows]): Piece[] => [one, rows, 'yes']),
    ...Object.entries(kept).map(([one, rows]): Piece[] => [one, rows.length, 'no']),
  ];
  const sections: Section[] = [
    {
      id: 'where',
      heading: 'Where it is',
      content: table(
        'Rows by table',
        ['table', 'rows#', 'has something that forgetting would remove'],
        where,
      ),
    },
    ...shownTables.map(([one, rows]) => section(one, data.comments[one], rows)),
    ...Object.entries(kept).map(([one, rows]) =>
      section(
        one,
        data.comments[one],
        rows.map((values) => ({ isOwn: true, values, named: [] })),
        'kept-',
      ),
    ),
    {
      id: 'files',
      heading: 'Files and exports',
      content: html`${
        files.length === 0
          ? quiet('No file of the data directory names this person.')
          : table(
              'Files of the data directory that name this person',
              ['file'],
              files.map((one) => [one]),
            )
      }${
        exports.length === 0
          ? quiet('No export is recorded that may have this person in it.')
          : table(
              'Exports that may have this person in them',
              ['when', 'what'],
              exports.map(({ at, details }) => [moment(at), text(details)]),
            )
      }`,
    },
    {
      id: 'left-out',
      heading: 'What was left out',
      content:
        leftOut.length === 0
          ? quiet('Nothing.')
          : table(
              'Data of others, which this person has no right to see',
              ['table', 'column', 'rows#', 'why'],
              leftOut.map((one) => [one.table, one.column, one.rows, one.why]),
            ),
    },
  ];
  return documentPage({
    title: `Data about ${who}`,
    kind: 'Signalhouse person',
    heading: `Data about ${who}`,
    intro: html`What the copy of ${name} holds about one person${data.ids.length > 1 ? html` (ids ${data.ids.join(', ')})` : null} on ${moment(madeAt)}. data.json beside this page has the same.`,
    sections,
    footer: html`Made by Signalhouse ${version}. Times are UTC.`,
  }).html;
}

/** What says who the person is comes first, then what the person wrote; what the worker keeps of its own is last. */
function placeOf(name: string): number {
  const first = ['people', 'authors', 'messages'].indexOf(name);
  return first >= 0 ? first : name.includes('.') ? 100 : 10;
}

/** Columns of the worker, which data.json has. */
const workers: ReadonlySet<string> = new Set(['synced_at', 'run_id', 'fetched_at']);

/** So many rows stand side by side, a column each; more are a row each. */
const fewRows = 3;

function section(name: string, comment: string | undefined, rows: readonly ShownRow[], prefix = ''): Section {
  const own = rows.filter(({ isOwn }) => isOwn).map(({ values, named }) => withNamed(values, named));
  const others = rows.filter(({ isOwn }) => !isOwn).map(({ values, named }) => withNamed(values, named));
  return {
    id: `${prefix}${name.replaceAll('.', '-')}`,
    heading: `${name}: ${counted(rows.length, 'row')}`,
    content: html`${comment === undefined ? null : html`<p>${comment}</p>`}${shown(`${name}: about this person`, own)}${shown(
      `${name}: what names this person in rows about others`,
      others,
    )}`,
  };
}

function withNamed(values: ShownRow['values'], named: ShownRow['named']): Record<string, unknown> {
  if (named.length === 0) return values;
  return {
    ...values,
    'names the person': named.map(({ where, what }) => `${where}: ${text(what)}`).join('\n'),
  };
}

function shown(caption: string, rows: readonly Readonly<Record<string, unknown>>[]): Html | null {
  if (rows.length === 0) return null;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => !workers.has(name) && rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
  if (rows.length <= fewRows)
    return table(
      caption,
      ['column', ...rows.map((_, at) => (rows.length === 1 ? 'value' : `row ${count(at + 1)}`))],
      columns.map((name) => [name, ...rows.map((row) => text(row[name]))]),
    );
  return table(
    caption,
    columns,
    rows.map((row) => columns.map((name) => text(row[name]))),
  );
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
