import type { Subject } from './state.js';

/** What is sent: Slack and what understands the same reads `text`, other programs the rest. */
export interface Message {
  readonly text: string;
  readonly event: 'failed' | 'incomplete' | 'stale' | 'recovered';
  readonly subject: string;
  readonly kind: Subject['kind'];
  readonly since: string;
  readonly detail: string;
}

const longest = 1_500;

/** One message about one change of state. `from` says which worker it is, e.g. the organization's name. */
export function messageAbout({ kind, name, level, since, detail }: Subject, from: string): Message {
  const event = level === 'ok' ? 'recovered' : level;
  const short = detail.length > longest ? `${detail.slice(0, longest)}…` : detail;
  const what = kind === 'job' ? `job ${name}` : name;
  const text = plain(`[${from}] ${what} ${phrases[event]}: ${short}`);
  return { text, event, subject: name, kind, since, detail: short };
}

const phrases = {
  failed: 'failed',
  incomplete: 'is incomplete',
  stale: 'is stale',
  recovered: 'has recovered',
} as const;

/** Slack reads three characters as markup: what an API's error says must not call a whole channel. */
function plain(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
