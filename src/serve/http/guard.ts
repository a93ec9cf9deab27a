import { createHash, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import {
  LockedError,
  messageOf,
  SignalhouseError,
  StoppedError,
  sentencesOf,
  UsageError,
} from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import type { Person } from '../page/page.js';

/** The body of every error, always JSON. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  /** Every problem in what was sent. */
  readonly problems?: readonly { readonly setting: string; readonly problem: string }[];
}

export class HttpError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Whether a text from outside can be the name of a requester: it ends up in the queue, in messages and in sheets. */
export function isPersonName(text: string): boolean {
  return text !== '' && text.length <= 100 && !/[\p{Cc}\p{Cs}]/u.test(text);
}

const codes: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  408: 'timeout',
  409: 'conflict',
  413: 'too_large',
  414: 'too_long',
  415: 'unsupported_media_type',
  421: 'misdirected',
  431: 'headers_too_large',
  503: 'unavailable',
};

const oldForm = 'This form is not valid any more. Load its page again, and repeat what you did.';

/** Errors of plugins, in words for people who sent a form. */
const forPeople: Readonly<Record<string, string>> = {
  FST_CSRF_MISSING_SECRET: oldForm,
  FST_CSRF_INVALID_TOKEN: oldForm,
  FST_REQ_FILE_TOO_LARGE:
    'The file is larger than 20 MB. Delete rows or columns that you did not edit, and send it again.',
};

/** The answer to an error. Details of an unexpected error go to the log only. */
export function answerTo(error: unknown): { status: number; body: ErrorBody } {
  if (error instanceof HttpError) {
    return { status: error.status, body: { code: error.code, message: error.message } };
  }
  if (error instanceof UsageError) {
    return { status: 400, body: { code: 'bad_request', message: error.message, problems: error.problems } };
  }
  if (error instanceof LockedError) {
    // Its own hint is for the command line.
    const hint = 'Try again when it has ended; the status page shows its progress.';
    return { status: 503, body: { code: 'busy', message: `${error.message}. ${hint}` } };
  }
  if (error instanceof StoppedError) {
    return { status: 503, body: { code: 'busy', message: sentencesOf(error) } };
  }
  if (error instanceof SignalhouseError) {
    return { status: 500, body: { code: 'failed', message: sentencesOf(error) } };
  }
  const { statusCode = 500, code = '' } = error as Partial<FastifyError>;
  if (statusCode >= 400 && statusCode < 500) {
    return {
      status: statusCode,
      body: { code: codes[statusCode] ?? 'bad_request', message: forPeople[code] ?? messageOf(error) },
    };
  }
  return { status: 500, body: { code: 'failed', message: 'Unexpected error: see the log of the server.' } };
}

/** Answers a request that is not valid HTTP, or took too long to arrive, and closes the connection. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const message = STATUS_CODES[status];
  const body = JSON.stringify({ code: codes[status], message });
  socket.end(
    `HTTP/1.1 ${status} ${message}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    // Also when the client does not read the answer.
    () => socket.destroy(),
  );
}

/**
 * Closes the connection that waits longest for a request to arrive, when more than `most` do: a client that opens many and
 * sends nothing does not keep others from being answered. By address would not do, because behind a proxy all have the same.
 */
export function makeRoom(server: Server, most: number): void {
  const unfinished = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unfinished.add(socket);
    socket.once('close', () => unfinished.delete(socket));
    const [longest] = unfinished;
    if (unfinished.size > most) longest?.destroy();
  });
  server.on('request', ({ method, socket }: IncomingMessage, response: ServerResponse) => {
    // A body may still be arriving.
    if (method === 'GET' || method === 'HEAD') unfinished.delete(socket);
    response.once('close', () => {
      unfinished.delete(socket);
      if (!socket.destroyed) unfinished.add(socket);
    });
  });
}

/**
 * Headers of every answer: the page loads only its own files, cannot be framed, and is not cached.
 */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Sets the headers that keep other sites from framing, reading or caching an answer. */
export function secure(reply: FastifyReply): void {
  reply.headers(headers);
}

export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(page);
}

/**
 * Refuses requests with a host name that is not accepted. Otherwise a foreign web page could let its own name resolve to
 * this machine and read the answers through the user's browser (DNS rebinding). A server on loopback accepts loopback
 * names; one that listens elsewhere accepts every name unless `allowed` lists some.
 */
export function hostGuard(
  listenHost: string,
  allowed: readonly string[] = [],
): (request: FastifyRequest) => void {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  const onLoopback = isLocalName(listenHost);
  return (request) => {
    const name = request.hostname.toLowerCase();
    if ((!onLoopback && names.size === 0) || names.has(name) || isLocalName(name)) return;
    throw new HttpError(421, 'misdirected', 'This host name is not accepted; add it to serve.allowedHosts.');
  };
}

/** Browsers resolve every name under `.localhost` to the machine that they run on. */
function isLocalName(name: string): boolean {
  return isLoopback(name) || name.toLowerCase().endsWith('.localhost');
}

/** The person of a request. Throws HttpError without a login. */
export function personOf({ person }: FastifyRequest): Person {
  if (!person) throw new HttpError(403, 'forbidden', 'This needs a login: add serve.users.');
  return person;
}

/** The person of a request that changes something. Throws HttpError for those who only read. */
export function writerOf(
  request: FastifyRequest,
  why = 'You may look and download, but not change anything.',
): Person {
  const person = personOf(request);
  if (person.role === 'write') return person;
  throw new HttpError(403, 'forbidden', `${why} Ask the people who run Signalhouse.`);
}

/** Requires the token. Both sides are hashed, so that the comparison takes the same time for every input. */
export function bearer(token: string): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const expected = digest(token);
  return async (request, reply) => {
    const [, sent] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    if (timingSafeEqual(digest(sent ?? ''), expected) && sent !== undefined) return;
    reply.header('www-authenticate', 'Bearer');
    throw new HttpError(
      401,
      'unauthorized',
      'Send the header Authorization: Bearer TOKEN, with the token of this server.',
    );
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
