import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../../base/loopback.js';
import { HttpError } from './errors.js';

/**
 * Headers of every answer. The page loads its own files and nothing else, is framed by nobody, and nothing is kept
 * by caches in between.
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

export function secure(reply: FastifyReply): void {
  reply.headers(headers);
}

/**
 * Refuses requests under a name that is not ours: a page of somebody else's can make its own name point at this
 * machine, and would then read what is meant for whoever sits here. A server that listens on loopback knows its names;
 * one that listens elsewhere takes every name unless `allowed` says which.
 */
export function hostGuard(
  listenHost: string,
  allowed: readonly string[] = [],
): (request: FastifyRequest) => void {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  const onLoopback = isLoopback(listenHost);
  return (request) => {
    const name = request.hostname.toLowerCase();
    if ((!onLoopback && names.size === 0) || names.has(name) || isLoopback(name)) return;
    throw new HttpError(421, 'misdirected', 'This server is not known under that name (serve.allowedHosts).');
  };
}

/** Lets through who shows the token. Both sides are hashed, so that the comparison takes the same time for all. */
export function bearer(token: string): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const expected = digest(token);
  return async (request, reply) => {
    const [, shown] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    if (timingSafeEqual(digest(shown ?? ''), expected) && shown !== undefined) return;
    reply.header('www-authenticate', 'Bearer');
    throw new HttpError(401, 'unauthorized', 'Send Authorization: Bearer with the token of this server.');
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
