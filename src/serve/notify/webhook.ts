import { type Clock, systemClock } from '../../base/clock.js';
import { isLoopback } from '../../base/loopback.js';
import { type Deliver, DeliveryError, delivering, lineOf, type Message } from './deliver.js';

export interface WebhookOptions {
  readonly url: string;
  /** Default `slack`. */
  readonly format?: keyof typeof bodies | undefined;
  readonly clock?: Clock | undefined;
  /** How it is sent; default `fetch`, which knows no proxy. */
  readonly send?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Timeout of one attempt; default 10000. */
  readonly timeoutMs?: number | undefined;
}

/** What is wrong with the address of a webhook, or undefined; never quotes it. */
export function webhookProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'must be an absolute URL';
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== '' || password !== '') return 'must not contain a user name or password';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return undefined;
  return 'must be https, because the address is a secret (http is accepted for loopback only)';
}

/**
 * A webhook: one POST of JSON per message, in the form of its service. No redirect is followed. A transient failure (no
 * answer, 429, 5xx) is retried twice. The address has no webhookProblem.
 */
export function webhook({
  url,
  format = 'slack',
  clock = systemClock,
  send = fetch,
  timeoutMs = 10_000,
}: WebhookOptions): Deliver {
  return delivering(clock, timeoutMs, (message, signal) =>
    post((init) => send(url, init), bodies[format](message), signal),
  );
}

async function post(
  send: (init: RequestInit) => Promise<Response>,
  body: object,
  signal: AbortSignal,
): Promise<null> {
  let answer: Response;
  try {
    answer = await send({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    });
    // An unread body would keep the connection busy.
    await answer.body?.cancel();
  } catch (error) {
    throw new DeliveryError(`no answer (${codeOf(error)})`, true);
  }
  const { ok, status } = answer;
  if (ok) return null;
  throw new DeliveryError(`it answered ${status}`, status === 429 || status >= 500);
}

/** Only a code: the messages of fetch contain addresses. */
function codeOf(error: unknown): string {
  const { name, cause } = error as Error & { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : name;
}

const bodies = { slack, json, teams };

/** Slack and compatible services show `text`; other programs read the rest. */
function slack(message: Message): object {
  const { event, subject, kind, since, detail } = message;
  // Slack reads three characters as markup: the text of an error must not notify a whole channel.
  const text = lineOf(message).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  if (event === 'digest') return { text };
  return { text, event, subject, kind, since, detail };
}

/** For programs: every part as it is. */
function json(message: Message): object {
  const { html: _, ...rest } = message;
  return { ...rest, text: lineOf(message) };
}

/**
 * Microsoft Teams, through the workflow "Post to a channel when a webhook request is received": an adaptive card. Its
 * texts are runs, which Teams shows as they are; in a TextBlock they would be Markdown, and an error could hold a link.
 */
function teams({ from, title, detail, event, since }: Message): object {
  const bad = { failed: 'attention', stale: 'attention', incomplete: 'warning' };
  const colors = { ...bad, recovered: 'good', test: 'accent', digest: 'accent' };
  const text = (run: object) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', ...run }] });
  const lines =
    event === 'digest'
      ? detail
          .trimEnd()
          .split('\n\n')
          .map((part, at) => text({ text: part, ...(at === 0 && { weight: 'bolder' }) }))
      : [
          text({ text: `[${from}] ${title}`, weight: 'bolder', size: 'medium', color: colors[event] }),
          text({ text: detail }),
          text({ text: `since ${since}`, isSubtle: true, size: 'small' }),
        ];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    fallbackText: `[${from}] ${title}`,
    body: lines,
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}
