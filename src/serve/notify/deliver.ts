import { type Clock, systemClock } from '../../base/clock.js';
import { UsageError } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import type { Subject } from './state.js';

/** Sends a message; rejects with DeliveryError when it did not arrive. */
export type Deliver = (message: Message, stop: AbortSignal) => Promise<void>;

/** The other side did not take a message. Never names the address, which is a secret as a whole. */
export class DeliveryError extends Error {}

export interface WebhookOptions {
  readonly url: string;
  readonly clock?: Clock | undefined;
  /** One attempt; 10000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** 3 when absent. */
  readonly attempts?: number | undefined;
}

const waitMs = 2_000;

/** What is wrong with the address of a webhook, or undefined; never quotes it. */
export function webhookProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'must be an absolute URL';
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== '' || password !== '') return 'must not hold a user name or password';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined;
  return 'must be https: the address itself is the secret (http is for loopback only)';
}

/**
 * A webhook as Slack and its like have it: one POST of JSON a message. No redirect is followed; what may pass (no
 * answer, 429, 5xx) is tried again, twice. Throws UsageError for an address that webhookProblem objects to.
 */
export function webhook({
  url,
  clock = systemClock,
  timeoutMs = 10_000,
  attempts = 3,
}: WebhookOptions): Deliver {
  const problem = webhookProblem(url);
  if (problem !== undefined) {
    throw new UsageError('The webhook cannot be used.', [{ setting: 'serve.notify.webhook', problem }]);
  }
  return async (message, stop) => {
    for (let attempt = 1; ; attempt++) {
      const refused = await post(url, message, AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]));
      if (refused === null) return;
      stop.throwIfAborted();
      if (!refused.mayPass || attempt >= attempts) throw new DeliveryError(refused.reason);
      await clock.sleep(waitMs * 2 ** (attempt - 1), stop);
    }
  };
}

/** Null when it arrived. */
async function post(
  url: string,
  message: Message,
  signal: AbortSignal,
): Promise<{ reason: string; mayPass: boolean } | null> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      redirect: 'manual',
      signal,
    });
    // Nobody reads it, and an unread body would hold the connection.
    await answer.body?.cancel();
    if (answer.ok) return null;
    const { status } = answer;
    return { reason: `it answered ${status}`, mayPass: status === 429 || status >= 500 };
  } catch (error) {
    return { reason: `no answer (${codeOf(error)})`, mayPass: true };
  }
}

/** A code alone: messages of fetch quote addresses. */
function codeOf(error: unknown): string {
  const { name, cause } = error as Error & { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : name;
}

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
