import type { Clock } from '../../base/clock.js';
import { backoffMs, retrying } from '../../base/retry.js';
import type { Level, Subject } from './state.js';

/** Messages and their delivery: the parts that every channel shares. */

/**
 * Sends a message; rejects with DeliveryError when it did not arrive. Resolves to null, or to what was wrong although it
 * arrived.
 */
export type Deliver = (message: Message, stop: AbortSignal) => Promise<string | null>;

/** A message was not delivered. Never names an address, a user or a password: those of a webhook are secrets. */
export class DeliveryError extends Error {
  constructor(
    message: string,
    /** Whether another attempt may help. */
    readonly isTransient: boolean,
  ) {
    super(message);
  }
}

const maxAttempts = 3;
const waitMs = 2_000;

/** Makes attempts, each within `timeoutMs`, until one succeeds or another one cannot help. */
export function delivering(clock: Clock, timeoutMs: number, attempt: Deliver): Deliver {
  const pauseAfter = (error: unknown, failures: number) =>
    error instanceof DeliveryError && error.isTransient && failures < maxAttempts
      ? backoffMs(failures, waitMs)
      : undefined;
  return (message, signal) =>
    retrying(() => attempt(message, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])), pauseAfter, {
      clock,
      signal,
    });
}

/** A notification, before a channel gives it its form. */
export interface Message {
  readonly event: Exclude<Level, 'ok'> | 'recovered' | 'test' | 'digest';
  readonly kind: Subject['kind'] | 'test' | 'digest';
  /** The job or resource. */
  readonly subject: string;
  /** The worker that sends it, e.g. the name of its organization. */
  readonly from: string;
  /** What happened, in a few words: `job nightly failed`. */
  readonly title: string;
  readonly detail: string;
  /** The same as a page, where the channel can show one. */
  readonly html?: string | undefined;
  readonly since: string;
}

const longest = 1_500;

/** One message about one change of state. */
export function messageAbout(
  { kind, name, level, since, detail }: Subject,
  from: string,
  isReminder = false,
): Message {
  const event = level === 'ok' ? 'recovered' : level;
  const title = `${kind === 'job' ? `job ${name}` : name} ${phrases[event]}${isReminder ? ', as before' : ''}`;
  const short = detail.length > longest ? `${detail.slice(0, longest)}…` : detail;
  return { event, kind, subject: name, from, title, detail: short, since };
}

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

export function lineOf({ event, from, title, detail }: Message): string {
  // A digest has its own heading.
  if (event === 'digest') return detail;
  return `[${from}] ${title}: ${detail}`;
}
