import { type Clock, systemClock } from '../../base/clock.js';
import { UsageError } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import type { Subject } from './state.js';

/** Sends a message; rejects with DeliveryError when it did not arrive. */
export type Deliver = (message: Message, stop: AbortSignal) => Promise<void>;

/** A message was not delivered. Never names the address, which is a secret. */
export class DeliveryError extends Error {}

export interface WebhookOptions {
  readonly url: string;
  readonly clock?: Clock | undefined;
  /** Timeout of one attempt; default 10000. */
  readonly timeoutMs?: number | undefined;
  /** Default 3. */
  readonly attempts?: number | undefined;
}

const waitMs = 2_000;

/** What is wrong with the address of a webhook, or undefined; never quotes it. */
export function webhookProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'must be an absolute URL';
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== '' || password !== '') return 'must not contain a user name or password';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined;
  return 'must be https, because the address is a secret (http is accepted for loopback only)';
}

/**
 * A webhook for Slack and compatible services: one POST of JSON per message. No redirect is followed. A transient failure
 * (no answer, 429, 5xx) is retried twice. Throws UsageError for an address with a webhookProblem.
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
      if (!refused.isTransient || attempt >= attempts) throw new DeliveryError(refused.reason);
      await clock.sleep(waitMs * 2 ** (attempt - 1), stop);
    }
  };
}

/** Null when it was delivered. */
async function post(
  url: string,
  message: Message,
  signal: AbortSignal,
): Promise<{ reason: string; isTransient: boolean } | null> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      redirect: 'manual',
      signal,
    });
    // An unread body would keep the connection busy.
    await answer.body?.cancel();
    if (answer.ok) return null;
    const { status } = answer;
    return { reason: `it answered ${status}`, isTransient: status === 429 || status >= 500 };
  } catch (error) {
    return { reason: `no answer (${codeOf(error)})`, isTransient: true };
  }
}

/** Only a code: the messages of fetch contain addresses. */
function codeOf(error: unknown): string {
  const { name, cause } = error as Error & { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : name;
}

/** What is sent: Slack and compatible services show `text`; other programs read the rest. */
export interface Message {
  readonly text: string;
  readonly event: 'failed' | 'incomplete' | 'stale' | 'recovered';
  readonly subject: string;
  readonly kind: Subject['kind'];
  readonly since: string;
  readonly detail: string;
}

const longest = 1_500;

/** One message about one change of state. `from` names the worker, e.g. by its organization. */
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

/** Slack reads three characters as markup: the text of an error must not notify a whole channel. */
function plain(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
