import { count, counted, duration } from '../../base/units.js';
import type { Budget } from '../facts.js';
import type { Iso } from '../iso.js';
import { type Html, html } from './html.js';

const width = 720;
const height = 120;

/** Requests over the last hours as bars, 429s marked; what it shows is said in words as well. */
export function budgetChart({ slices, sliceMinutes }: Budget): Html {
  const most = Math.max(1, ...slices.map(({ requests }) => requests));
  const step = width / Math.max(1, slices.length);
  const bars = slices.map(({ from, requests, rateLimited }, index) => {
    const [tall, refused] = [requests, Math.min(rateLimited, requests)].map((n) => (n / most) * height);
    const bar = (kind: string, size = 0) =>
      size === 0
        ? null
        : html`<rect class="${kind}" x="${shown(index * step + step * 0.1)}" y="${shown(height - size)}" width="${shown(step * 0.8)}" height="${shown(size)}"/>`;
    const told = `${hour(from)}: ${counted(requests, 'request')}, ${count(rateLimited)} refused`;
    return html`<g><title>${told}</title>${bar('requests', tall)}${bar('refused', refused)}</g>`;
  });
  const first = slices[0];
  const last = slices.at(-1);
  return html`<figure id="budget-chart" data-live>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${summary({ slices, sliceMinutes })}" preserveAspectRatio="none"><line class="base" x1="0" y1="${height}" x2="${width}" y2="${height}"/>${bars}</svg>
<figcaption><span>${first ? hour(first.from) : null}</span><span>highest bar: ${count(most)} in ${duration(sliceMinutes * 60_000)}</span><span>${last ? hour(last.from) : null}</span></figcaption>
</figure>`;
}

/** The chart in one sentence. */
export function summary({ slices, sliceMinutes }: Pick<Budget, 'slices' | 'sliceMinutes'>): string {
  if (slices.length === 0) return 'Nothing is known of the last hours.';
  const total = slices.reduce((sum, { requests }) => sum + requests, 0);
  const refused = slices.reduce((sum, { rateLimited }) => sum + rateLimited, 0);
  const span = duration(slices.length * sliceMinutes * 60_000);
  return `${counted(total, 'request')} in the last ${span}, ${count(refused)} of them refused with 429.`;
}

/** `10:05Z`: the day is clear from the few hours that are shown. */
function hour(at: Iso): string {
  return `${at.slice(11, 16)}Z`;
}

function shown(length: number): string {
  return length.toFixed(1);
}
