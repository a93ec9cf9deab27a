import { oneLine } from '../base/display-width.js';
import { count, counted, plainWord } from '../base/units.js';
import { html, linked } from '../view/html.js';
import { day, wait } from './elements.js';
import { documentPage } from './page.js';
import type { ReportData } from './read.js';

/** A row as a sentence, and where it can be read by people who may. */
interface Line {
  readonly text: string;
  readonly url: string | null;
}

/** The news in a minute: each part has its number, a heading, and its first rows as sentences. */
interface Part {
  readonly heading: string;
  readonly found: number;
  readonly lines: readonly Line[];
}

export interface Digest {
  readonly title: string;
  /** For programs and people without HTML. */
  readonly text: string;
  readonly html: string;
}

/** Rows that a part shows. */
const maxListed = 5;

/**
 * The digest of a report's numbers since `data.header.since`: one short page as HTML and as plain text. It leaves the house: of
 * people it has initials only. `version` is that of the program; `site` is where its readers open the pages of serve, to which the
 * lines then link.
 */
export function digestOf(data: ReportData, version: string, site: string | null = null): Digest {
  const { organization, as_of: asOf, last_sync_at: synced, since } = data.header;
  const name = oneLine(organization ?? 'Signalhouse');
  const period = asOf === null ? 'no data yet' : `${day(since)} to ${day(asOf)}`;
  const title = `${name}: digest of ${period}`;
  // Lists are read first: of what happened during a sync, some comes with the next one only. The next digest begins here.
  const end = asOf !== null && synced !== null && synced < asOf ? synced : asOf;
  const upTo = `Data up to ${end ?? 'no time: there are none yet'}.`;
  const parts = partsOf(data, site);
  const shown = (heading: string, found: number) => `${heading}: ${found === 0 ? 'nothing' : count(found)}`;
  const text = [
    title,
    ...parts.map(({ heading, found, lines }) =>
      [
        shown(heading, found),
        ...lines.map(({ text, url }) => `  - ${text}${url === null ? '' : ` ${url}`}`),
        ...moreLine(found, lines),
      ].join('\n'),
    ),
    upTo,
  ].join('\n\n');
  const page = documentPage({
    title,
    kind: 'Signalhouse digest',
    heading: name,
    intro: html`Digest of ${period}`,
    sections: parts.map(({ heading, found, lines }, at) => ({
      id: `part-${at}`,
      heading: shown(heading, found),
      content:
        lines.length === 0
          ? null
          : html`<ul>${lines.map(({ text, url }) => html`<li>${linked(text, url)}</li>`)}</ul>${moreLine(found, lines).map((line) => html`<p class="quiet">${line.trim()}</p>`)}`,
    })),
    footer: html`${upTo} Made by Signalhouse ${version}.`,
  });
  return { title, text: `${text}\n`, html: page.html };
}

function moreLine(found: number, lines: readonly Line[]): string[] {
  return found > lines.length && lines.length > 0 ? [`  and ${count(found - lines.length)} more`] : [];
}

function partsOf(data: ReportData, site: string | null): Part[] {
  const part = <Row extends { readonly found: number }>(
    heading: string,
    rows: readonly Row[],
    line: (row: Row) => string,
    url: (row: Row) => string | null,
  ): Part => {
    const lines = rows.slice(0, maxListed).map((row) => {
      const address = url(row);
      return { text: oneLine(line(row)), url: address && oneLine(address) };
    });
    return { heading, found: rows[0]?.found ?? 0, lines };
  };
  const page = (path: string, id: string | null) =>
    site === null || id === null ? null : `${site}/${path}/${encodeURIComponent(id)}`;
  const ofTopic = ({ topic_id: id }: { readonly topic_id: string }) => page('topics', id);
  const of = (priority: string | null) => (priority === null ? '' : `${plainWord(priority)}, `);
  const companies = (number: number) => counted(number, 'company', 'companies');
  return [
    part(
      'New topics',
      data.newTopics,
      ({ title, topic_id: id, priority, companies: all }) => {
        return `${title ?? id} (${of(priority)}${companies(all)})`;
      },
      ofTopic,
    ),
    part(
      'Topics that grew',
      data.growing,
      ({ title, topic_id: id, messages, before }) => {
        return `${title ?? id}: ${counted(messages, 'message')} in 7 days, ${count(before)} in the 7 before`;
      },
      ofTopic,
    ),
    part(
      'Conversations that wait for us',
      data.longestWaiting,
      (row) => {
        const who = row.name === null ? '' : `, ${initials(row.name)}`;
        return `${row.title ?? `Conversation of ${day(row.last_message_at)}`} (for ${wait(row.hours)}${row.is_vip ? ', VIP' : ''}${who})`;
      },
      ({ url }) => url,
    ),
    part(
      'Decisions',
      data.latestChanges,
      (row) => {
        const by = row.changed_by === null ? '' : ` by ${initials(row.changed_by)}`;
        return `${row.title ?? row.topic_id}: ${row.field} from ${plainWord(row.before)} to ${plainWord(row.after)}${by}, ${day(row.changed_at)}`;
      },
      ofTopic,
    ),
    part(
      'Companies at risk',
      data.companies,
      (row) => {
        const waiting =
          row.waiting === 0 ? '' : `, ${counted(row.waiting, 'conversation waits', 'conversations wait')}`;
        return `${row.name ?? row.company_id}${row.is_vip ? ' (VIP)' : ''}: ${counted(row.messages, 'message')} in 28 days, ${count(row.before)} in the 28 before${waiting}`;
      },
      ({ company_id: id }) => page('companies', id),
    ),
    // Without a pair, a row still has what was measured.
    part(
      'Probably the same topics',
      data.duplicates.filter(({ entity_type: type, id_1: id }) => type === 'topic' && id !== null),
      ({ id_1, name_1, id_2, name_2 }) => `${name_1 ?? id_1} = ${name_2 ?? id_2}`,
      ({ id_1: id }) => page('topics', id),
    ),
  ];
}

function initials(name: string): string {
  const words = name.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu) ?? [];
  return words.map((word) => `${[...word][0]?.toUpperCase()}.`).join('');
}
