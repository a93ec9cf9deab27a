import type { FastifyRequest } from 'fastify';
import { HttpError } from './errors.js';
import type { Principal, Service } from './service.js';

/**
 * The principal behind `Authorization: Bearer <API_KEY>` (Authentication 1, 5).
 * @throws HttpError 401 when the key is missing, unknown, revoked or expired.
 */
export function authenticate(request: FastifyRequest, service: Service): Principal {
  const [, key] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (key === undefined) throw new HttpError(401, 'Send an API key as Authorization: Bearer <API_KEY>');
  const principal = service.principalOf(key);
  if (!principal) throw new HttpError(401, 'The API key is invalid, revoked or expired');
  return principal;
}
