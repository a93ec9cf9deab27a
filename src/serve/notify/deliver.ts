import type { Clock } from '../../base/clock.js';
import type { Level, Subject } from './state.js';

/** What is sent, and how it is sent: the parts that every channel shares. */

/**
 * Sends a message; rejects with DeliveryError when it did not arrive. Resolves to null, or to what was wrong although it
 * arrived.
 */
export type Deliver = (message: Message, stop: AbortSignal) => Promise<string | null>;

/** A message was not delivered. Never names an address, a user or a password: those of a webhook are secrets. */
export class DeliveryError extends Error {}

/** One attempt: delivered (with what was wrong, or null), or not, and whether another attempt may help. */
export type Attempted =
  | { readonly note: string | null }
  | { readonly reason: string; readonly isTransient: boolean };

const mostAttempts = 3;
const waitMs = 2_000;

/** Makes attempts, each within `timeoutMs`, until one succeeds or another one cannot help. */
export function delivering(
  clock: Clock,
  timeoutMs: number,
  attempt: (message: Message, signal: AbortSignal) => Promise<Attempted>,
): Deliver {
  return async (message, stop) => {
    for (let count = 1; ; count++) {
      const made = await attempt(message, AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]));
      if ('note' in made) return made.note;
      stop.throwIfAborted();
      if (!made.isTransient || count >= mostAttempts) throw new DeliveryError(made.reason);
      await clock.sleep(waitMs * 2 ** (count - 1), stop);
    }
  };
}

/** A notification, before a channel gives it its form. */
export interface Message {
  readonly event: Exclude<Level, 'ok'> | 'recovered' | 'test';
  readonly kind: Subject['kind'] | 'test';
  /** The job or resource. */
  readonly subject: string;
  /** The worker that sends it, e.g. the name of its organization. */
  readonly from: string;
  /** What happened, in a few words: `job nightly failed`. */
  readonly title: string;
  readonly detail: string;
  readonly since: string;
}

const longest = 1_500;

/** One message about one change of state. */
export function messageAbout({ kind, name, level, since, detail }: Subject, from: string): Message {
  const event = level === 'ok' ? 'recovered' : level;
  const title = `${kind === 'job' ? `job ${name}` : name} ${phrases[event]}`;
  const short = detail.length > longest ? `${detail.slice(0, longest)}…` : detail;
  return { event, kind, subject: name, from, title, detail: short, since };
}

/** What `serve --test-notification` sends. */
export function testMessage(from: string, since: string): Message {
  const detail = 'This is a test of the notifications of Signalhouse. Nothing is wrong.';
  return { event: 'test', kind: 'test', subject: 'test', from, title: 'test notification', detail, since };
}

const phrases = {
  failed: 'failed',
  incomplete: 'is incomplete',
  stale: 'is stale',
  recovered: 'has recovered',
} as const;

/** The message in one line. */
export function lineOf({ from, title, detail }: Message): string {
  return `[${from}] ${title}: ${detail}`;
}
