import { isObject } from '../base/json.js';
import { errorBody } from '../contract/service.js';
import { Failure, type FailureKind } from './failure.js';
import { askedWait, header } from './rate-hints.js';
import type { Reply } from './transport.js';
import { cutLists, putBack } from './unread.js';

export interface JudgeOptions {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Wall clock in milliseconds, for dates in retry hints. */
  readonly now: number;
  /** Takes out of the server's words what must not be repeated (the key). */
  readonly scrub: (text: string) => string;
  /** Lists under properties of this name are left unread. */
  readonly unread?: string | undefined;
}

/** The JSON of a good answer, or the Failure that an answer amounts to (Errors). */
export function judge(reply: Reply, options: JudgeOptions): unknown {
  const { status } = reply;
  if (status >= 200 && status < 300) return content(reply, options);
  if (status >= 300 && status < 400) {
    const target = options.scrub(readable((header(reply.headers, 'location') ?? '').replace(/[?#].*/s, '')));
    const to = target === '' ? '' : ` to ${target}`;
    throw new Failure('redirect', `was answered with a redirect (${status})${to}`, { status });
  }
  throw failed(reply, options);
}

/**
 * A GET must bring JSON. A write that was carried out may be answered without a body (the answers of many are not
 * shown); that is null.
 */
function content({ body, status, headers }: Reply, { method, unread }: JudgeOptions): unknown {
  const { rest, lists } = unread === undefined ? { rest: body, lists: [] } : cutLists(body, unread);
  const text = textOf(rest);
  if (text.trim() === '') {
    if (method !== 'GET') return null;
    throw new Failure('cut_short', `was answered ${status} without a body`, { status });
  }
  try {
    return lists.length === 0 ? JSON.parse(text) : JSON.parse(text, putBack(lists));
  } catch {
    const type = header(headers, 'content-type') ?? '';
    if (/html/i.test(type) || text.trimStart().startsWith('<')) {
      throw new Failure('html', `was answered ${status} with a page of HTML instead of JSON`, { status });
    }
    if (/json/i.test(type) || /^\s*[[{]/.test(text)) {
      throw new Failure('cut_short', `was answered ${status} with JSON that breaks off or is malformed`, {
        status,
      });
    }
    throw new Failure('not_json', `was answered ${status} with something that is not JSON`, { status });
  }
}

function failed(reply: Reply, { scrub, now }: JudgeOptions): Failure {
  const { status } = reply;
  const said = errorBody.safeParse(parsed(textOf(reply.body)));
  const code = said.success ? scrub(readable(said.data.code)) : undefined;
  const words = said.success ? `: ${scrub(readable(said.data.message))}` : '';
  const detail = {
    status,
    code,
    reason: said.success ? reasonOf(said.data.data, scrub) : undefined,
    askedMs: status === 429 || status >= 500 ? askedWait(reply.headers, now) : undefined,
    hint: hintFor(status, said.success),
  };
  return new Failure(kindOf(status), `was answered ${code ? `${status} ${code}` : status}${words}`, detail);
}

function kindOf(status: number): FailureKind {
  if (status === 401 || status === 403) return 'refused';
  if (status === 429) return 'limited';
  return status >= 500 || status === 408 ? 'server_error' : 'rejected';
}

function hintFor(status: number, documented: boolean): string | undefined {
  if (status === 401) {
    return 'The key is missing, invalid or expired: check SIGNALHOUSE_API_KEY or SIGNALHOUSE_API_KEY_FILE.';
  }
  if (status === 403) {
    return documented
      ? 'The key is of another organization, or of a kind that this endpoint does not accept: check SIGNALHOUSE_API_KEY.'
      : "The answer is not the API's own: a firewall in front of it may block this address. Check SIGNALHOUSE_API_KEY and SIGNALHOUSE_BASE_URL.";
  }
  if (documented || status >= 500 || status === 429) return undefined;
  return "The answer does not have the form of the API's errors: check SIGNALHOUSE_BASE_URL (it ends in /v1) and proxies.";
}

function reasonOf(data: unknown, scrub: (text: string) => string): string | undefined {
  const reason = isObject(data) ? data.reason : undefined;
  return typeof reason === 'string' ? scrub(readable(reason)) : undefined;
}

function textOf(body: Buffer): string {
  const text = body.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The server's words as one short line without control characters: they end up on terminals and in logs. */
function readable(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
