import { createHash } from 'node:crypto';
import { estimateText } from '../base/freshness-estimate.js';
import { documentOf, Html, html, type Piece, section, styleSheet } from '../view/html.js';
import { moment } from './elements.js';
import type { ReportData } from './read.js';
import { type Section, sectionsOf } from './sections.js';

/**
 * The report as one HTML file: it has no script and loads nothing. What it may do is in its policy as well, so that no
 * text from outside can change that. The generator tells it from other files (see app/report.ts).
 */
export function reportPage(
  data: ReportData,
  version: string,
  /** The server that shows it: where its pages are. */
  site: { readonly base: string } | null = null,
): Page {
  const { header } = data;
  const sections = sectionsOf(data, (text, path) =>
    site === null ? text : html`<a href="${site.base}${path}">${text}</a>`,
  );
  return documentPage({
    title: `${header.organization ?? 'Signalhouse'}: report`,
    kind: 'Signalhouse report',
    heading: header.organization ?? 'Signalhouse',
    intro: site === null ? dates(data) : html`<a href="${site.base}/">Status</a> · ${dates(data)}`,
    sections,
    footer: html`Made by Signalhouse ${version} from the published file. Dates and weeks are UTC; a week starts on Monday. Every
number comes from a view that you can query: see docs/schema.md.${data.freshness && html` Checked at random: ${estimateText(data.freshness)}.`}`,
  });
}

interface Page {
  readonly html: string;
  readonly policy: string;
}

/** A page of sections, in the look of the report. */
export function documentPage(page: {
  readonly title: string;
  /** The mark of a report among other files. */
  readonly kind: string;
  readonly heading: string;
  readonly intro: Piece;
  readonly sections: readonly Section[];
  readonly footer: Piece;
}): Page {
  const style = styleSheet();
  const policy = policyFor(style);
  const head = html`<meta name="generator" content="${page.kind}">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${new Html(style)}</style>`;
  const text = documentOf({
    title: page.title,
    head,
    attributes: html` class="report"`,
    header: html`<div><h1>${page.heading}</h1><p>${page.intro}</p></div>`,
    main: page.sections.map(({ id, heading, content }) => section(id, heading, content)),
    footer: html`<p>${page.footer}</p>`,
  });
  return { html: text, policy };
}

/** The browser may use the report's own style sheet, and nothing else. */
function policyFor(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
}

function dates({ header: { as_of, last_sync_at } }: ReportData): Piece {
  if (as_of === null) return 'Report';
  const synced = last_sync_at === null ? null : html` · last sync ${moment(last_sync_at)}`;
  return html`Report on the data up to ${moment(as_of)}${synced}`;
}
