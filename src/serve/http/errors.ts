import type { Socket } from 'node:net';
import type { FastifyError } from 'fastify';
import { LockedError, messageOf, SignalhouseError, StoppedError, UsageError } from '../../base/errors.js';

/** The body of every error, always JSON. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  /** Every problem in what was sent. */
  readonly problems?: readonly { readonly setting: string; readonly problem: string }[];
}

/** An error with its own HTTP status. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const codes: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
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

/** The answer to an error. Details of an unexpected error go to the log only. */
export function answerTo(error: unknown): { status: number; body: ErrorBody } {
  if (error instanceof HttpError) {
    return { status: error.status, body: { code: error.code, message: error.message } };
  }
  if (error instanceof UsageError) {
    return { status: 400, body: { code: 'bad_request', message: error.message, problems: error.problems } };
  }
  if (error instanceof LockedError || error instanceof StoppedError) {
    return { status: 503, body: { code: 'busy', message: withHint(error) } };
  }
  if (error instanceof SignalhouseError) {
    return { status: 500, body: { code: 'failed', message: withHint(error) } };
  }
  const { statusCode = 500 } = error as Partial<FastifyError>;
  if (statusCode >= 400 && statusCode < 500) {
    return {
      status: statusCode,
      body: { code: codes[statusCode] ?? 'bad_request', message: messageOf(error) },
    };
  }
  return { status: 500, body: { code: 'failed', message: 'Unexpected error: see the log of the server.' } };
}

function withHint({ message, hint }: SignalhouseError): string {
  return hint === undefined ? message : `${message} ${hint}`;
}

/** Answers a request that is not valid HTTP, or took too long to arrive, and closes the connection. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const reasons = { 400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large' };
  const body = JSON.stringify({ code: codes[status], message: reasons[status] });
  socket.end(
    `HTTP/1.1 ${status} ${reasons[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    // Also when the client does not read the answer.
    () => socket.destroy(),
  );
}
