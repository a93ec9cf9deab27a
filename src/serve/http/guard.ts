import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../../base/loopback.js';
import { HttpError } from './errors.js';

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
