import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/report/digest.js';
import { reportPage } from '../../../src/report/page.js';
import { emptyReport, someReport } from './some-report.js';

const { html, policy } = reportPage(someReport(), '1.2.3');

describe('the report', () => {
  it('has a table of the same numbers below each chart, and says what each chart shows', async () => {
    const figures = [...html.matchAll(/<figure>(.*?)<\/figure>/gs)].map(([, figure = '']) => figure);
    expect(figures).toHaveLength(11);
    for (const figure of figures) {
      const label = /role="img" aria-label="([^"]+)"/.exec(figure)?.[1];
      expect(label?.length).toBeGreaterThan(10);
      expect(figure).toMatch(/<details><summary>The same as a table<\/summary>.*<caption>/s);
      // For a laptop and for a phone.
      expect(figure.match(/<div class="(wide|narrow)"><svg/g)).toHaveLength(2);
    }
  });

  it('says at its end how much is out of date, once something was checked', async () => {
    const footer = (text: string) => /<footer>(.*?)<\/footer>/s.exec(text)?.[1];
    expect(footer(html)).toContain(
      'Checked at random: 0.4 % of all details is out of date (95 %: 0.2 to 0.9 %, 1,240 checks in 30 days).',
    );
    expect(footer(reportPage(emptyReport, '1.2.3').html)).not.toContain('Checked');
  });

  it('is one file: no script, nothing from elsewhere, and its policy knows its style sheet', async () => {
    expect(html).not.toMatch(/<script|<link|<img|@import|url\(|\sstyle="|\son\w+=/i);
    const style = /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'`);
    expect(html).toContain(`content="${policy.replaceAll("'", '&#39;')}"`);
  });

  it('shows text from outside as text, in charts as well', async () => {
    const hostile = `</style><script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;
    const { html } = reportPage(someReport(hostile), '1.2.3');
    expect(html).not.toMatch(/<script|<img/i);
    expect(html.match(/<\/style>/g)).toHaveLength(1);
    // In a table, and within an SVG.
    expect(html).toContain('&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img');
    expect(html).toMatch(/<text[^>]*>&lt;\/style&gt;&lt;script&gt;/);
  });

  it('says why each company is at risk, and what the reply times leave out', async () => {
    const [company] = someReport().companies;
    const grew = { ...company, name: 'Grown Ltd', trend: 'growing', messages: 9, before: 2, waiting: 1 };
    const data = someReport();
    const { html } = reportPage({ ...data, companies: [...data.companies, grew as never] }, '1.2.3');
    expect(html).toContain('data-name="why">3, was 20; 2 waiting</td>');
    expect(html).toContain('data-name="why">grew: 9, was 2; 1 waiting</td>');
    expect(html).toMatch(/Of the questions that were answered\. The \d+ conversations that still wait, for /);
  });

  it('says that no service level is set: without one, none is late', async () => {
    const { totals, ...data } = someReport();
    const none = { ...data, serviceLevels: [], totals: { ...totals, service_levels: 0 } };
    expect(reportPage(none, '1.2.3').html).toContain('No service level is set (analysis.serviceLevels)');
  });

  it('says no median where no conversation waits', async () => {
    const data = someReport();
    const tileOf = (text: string) => /href="#waiting">.*?<span>(.*?)<\/span>/s.exec(text)?.[1];
    expect(tileOf(html)).toMatch(/ with a VIP; for .* in the median$/);
    const totals = { ...data.totals, waiting: 0, waiting_vip: 0, median_hours: null };
    expect(tileOf(reportPage({ ...data, totals }, '1.2.3').html)).toBe('0 with a VIP');
  });

  it('shows the weeks up to that of the data, also those in which nobody wrote', async () => {
    const data = someReport();
    const { html } = reportPage({ ...data, sources: data.sources.slice(0, 1) }, '1.2.3');
    expect(html).toMatch(/ from outside in 26 weeks; /);
  });

  it('links topics and companies to their pages where there are any', () => {
    expect(html).not.toMatch(/href="\/(topics|companies)/);
    const { html: served } = reportPage(someReport(), '1.2.3', { base: '' });
    expect(served).toContain('<a href="/topics/t1">');
    expect(served).toContain('<a href="/topics?growing=1">');
    expect(served).toMatch(/<a href="\/companies\/[^"]+">/);
  });

  it('makes links only to web pages', async () => {
    expect(html).toContain('<a href="https://chat.example/1" rel="noreferrer">Boards load slowly</a>');
    expect(html).not.toContain('javascript:');
  });

  it('says so when there is nothing to show, with what to do', async () => {
    const { html } = reportPage(emptyReport, '1.2.3');
    expect(html).toContain('No data yet');
    expect(html).toContain('signalhouse sync');
    expect(html).not.toContain('<svg');
    const quiet = reportPage({ ...emptyReport, header: someReport().header }, '1.2.3');
    expect(quiet.html).not.toContain('<svg');
    for (const text of [
      'No topic is open.',
      'No conversation waits for a reply.',
      'Nothing changed.',
      'No changes were queued',
    ])
      expect(quiet.html).toContain(text);
  });
});

it('a digest has initials of people, and the link for whoever may see more; a title stays in its line', () => {
  const data = someReport('Ruth \r\n\u001b[31mWalter\u202e-Ng');
  const { text, html } = digestOf(data, '1.2.3');
  expect(text).toContain('for 12 h, VIP, R.3.N.) https://chat.example/1');
  expect(html).toContain('<a href="https://chat.example/1"');
  expect(text).toMatch(/ by R\.3\.N\., /);
  for (const one of [text, html].map((page) => page.replaceAll('\n', '')))
    expect(one).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
  expect(text).toContain('  - Ruth [31mWalter -Ng (');
});

it('a digest links to the pages of what it names, where it knows their address', () => {
  const { text, html } = digestOf(someReport(), '1.2.3', 'https://signals.example/o/acme');
  expect(html).toContain('<a href="https://signals.example/o/acme/topics/t1"');
  expect(text).toMatch(/https:\/\/signals\.example\/o\/acme\/companies\/\S+$/m);
  expect(digestOf(someReport(), '1.2.3').html).not.toContain('/topics/');
});

it('a digest without data names no period', () => {
  const header = { ...emptyReport.header, since: '2026-11-27T00:00:00.000Z' as const };
  const { title, html } = digestOf({ ...emptyReport, header }, '1.2.3');
  expect(title).toBe('Signalhouse: digest of no data yet');
  expect(html).toContain('Digest of no data yet');
});

it('the digest after one begins where the last sync did: what happened during it may come with the next', () => {
  const { header, ...data } = someReport();
  const upTo = (last_sync_at: typeof header.last_sync_at) =>
    /^Data up to .*$/m.exec(digestOf({ ...data, header: { ...header, last_sync_at } }, '1.2.3').text)?.[0];
  expect(upTo('2026-11-17T08:10:00.000Z')).toBe('Data up to 2026-11-17T08:10:00.000Z.');
  expect(upTo(header.last_sync_at)).toBe('Data up to 2026-11-17T09:00:00.000Z.');
});
