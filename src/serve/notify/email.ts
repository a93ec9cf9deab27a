import querystring from 'node:querystring';
import type { Clock } from '../../base/clock.js';
import { oneLine } from '../../base/display-width.js';
import type { Problem } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import { counted } from '../../base/units.js';
import type { Settings } from '../../config/schema.js';
import { type Deliver, DeliveryError, delivering, type Message } from './deliver.js';

export type EmailSettings = Settings['serve']['notify']['email'];

export interface EmailOptions {
  readonly settings: EmailSettings & { readonly server: string };
  readonly password: string | undefined;
  readonly clock: Clock;
  /** Timeout of one attempt; default 20000. */
  readonly timeoutMs?: number | undefined;
}

/** What is wrong with the settings taken together; `named` tells how the user gave each. Never quotes a password. */
export function emailProblems(
  { server, from, to }: EmailSettings,
  password: string | undefined,
  named: (path: string) => string,
): Problem[] {
  const problems: Problem[] = [];
  const add = (name: keyof EmailSettings, problem: string) =>
    problems.push({ setting: named(`serve.notify.email.${name}`), problem });
  if (server === undefined) {
    if (from !== undefined || to.length > 0) add('server', 'is required to send e-mail: the SMTP server');
    return problems;
  }
  const { user, host, ignoreTLS } = connectionOf(server);
  if (from === undefined) add('from', 'is required to send e-mail: the address of the sender');
  if (to.length === 0) add('to', 'is required to send e-mail: a list of addresses');
  if (user !== '' && password === undefined) {
    const problem = 'is required with a user in serve.notify.email.server';
    problems.push({ setting: 'SIGNALHOUSE_SMTP_PASSWORD', problem });
  }
  if (user === '' && password !== undefined) {
    add('server', 'must name the user whose password is SIGNALHOUSE_SMTP_PASSWORD: smtp://USER@…');
  }
  if (password !== undefined && ignoreTLS && !isLoopback(host)) {
    add('server', 'must not have ignoreTLS, because the password would be sent in the clear');
  }
  return problems;
}

function connectionOf(server: string) {
  const { protocol, hostname, port, username, search } = new URL(server);
  const secure = protocol === 'smtps:';
  const ignoreTLS = !secure && search !== '';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    user: querystring.unescape(username),
    secure,
    requireTLS: !secure && !ignoreTLS,
    ignoreTLS,
  };
}

/**
 * E-mail by SMTP: one plain text message per notification, to all addresses. A transient failure (no answer, 4xx) is
 * retried twice. What the server says is never repeated, because it may quote the user.
 */
export function email({ settings, password, clock, timeoutMs = 20_000 }: EmailOptions): Deliver {
  return delivering(clock, timeoutMs, (message, signal) =>
    send(settings, password, message, { signal, timeoutMs }),
  );
}

async function send(
  { server, from, to }: EmailOptions['settings'],
  password: string | undefined,
  message: Message,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<string | null> {
  // Loaded only where e-mail is sent: it takes 150 ms and 15 MB.
  const { createTransport } = await import('nodemailer');
  const { user, ...connection } = connectionOf(server);
  const transport = createTransport({
    ...connection,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    auth: user === '' ? undefined : { user, pass: password ?? '' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { rejected } = await transport.sendMail({
      from,
      to: [...to],
      signal,
      xMailer: false,
      subject: oneLine(message.event === 'digest' ? message.title : `[${message.from}] ${message.title}`),
      text: textOf(message),
      ...(message.html !== undefined && { html: message.html }),
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    if (rejected.length === 0) return null;
    return `the server refused ${rejected.length} of ${counted(to.length, 'address', 'addresses')}`;
  } catch (error) {
    throw failed(error);
  } finally {
    transport.close();
  }
}

/** Only codes: the texts of a server contain addresses and names. */
function failed(error: unknown): DeliveryError {
  const { name, code, originalCode, responseCode, permanent } = error as Error & {
    readonly code?: string;
    readonly originalCode?: string;
    readonly responseCode?: number;
    readonly permanent?: boolean;
  };
  const which = [...new Set([code, originalCode].filter((one) => one !== undefined))].join(', ') || name;
  if (responseCode === undefined) {
    const hints: Readonly<Record<string, string>> = {
      EAUTH: 'the login failed',
      ETLS: 'no encrypted connection; see serve.notify.email.server',
    };
    const hint = hints[code ?? ''];
    return new DeliveryError(`${hint ?? 'no answer'} (${which})`, hint === undefined);
  }
  return new DeliveryError(`it answered ${responseCode} (${which})`, permanent === false);
}

function textOf({ detail, since, event, kind, subject }: Message): string {
  if (event === 'digest') return detail;
  return `${detail}\n\nSince ${since}.\n\n-- \nSignalhouse: ${kind} ${subject}, ${event}.\ndocs/operations.md says what to do.\n`;
}
