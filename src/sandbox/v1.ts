import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { type Endpoint, type EndpointName, endpoints } from '../contract/endpoints.js';
import { HttpError, noSuchPath } from './errors.js';
import { applyFaultAfter, applyFaultBefore, type FaultRule } from './faults.js';
import type { Call } from './handlers/call.js';
import { handlerOf } from './handlers/index.js';
import type { StoredAnswer } from './idempotency.js';
import { schemaOf } from './openapi.js';
import type { Principal, Service } from './service.js';
import type { Touched } from './stats.js';
import type { Change } from './world/changes/index.js';

/** What the hooks below and in server.ts store on a request. */
declare module 'fastify' {
  interface FastifyRequest {
    /** Of every request that the hook below lets through. */
    principal: Principal;
    /** The fault that applies to this request, if any. */
    fault: FaultRule | null;
    /** The body as it was sent, byte for byte (as text). */
    bodyText: string;
    /** The answer that this request replays, if any. */
    storedAnswer: StoredAnswer | null;
    /** The idempotency claim that the answer completes. */
    claim: string | null;
  }
  interface FastifyContextConfig {
    endpoint?: EndpointName;
  }
}

const jsonType = 'application/json; charset=utf-8';

/** The documented service: every endpoint of the contract behind authentication, rate limit, faults and idempotency. */
export function v1(service: Service): FastifyPluginAsync {
  return async (app) => {
    limitRequests(app, service);
    app.addHook('onRequest', async (request, reply) => applyEarlyFault(service, request, reply));
    app.addHook('preHandler', async (request) => claimKey(service, request));
    app.addHook('onSend', async (request, reply, payload) => {
      void reply.header('date', new Date(service.clock.now()).toUTCString());
      const text = () => (typeof payload === 'string' || Buffer.isBuffer(payload) ? String(payload) : '');
      const { claim, fault } = request;
      if (claim !== null) {
        const contentType = String(reply.getHeader('content-type') ?? jsonType);
        service.idempotency.complete(claim, { status: reply.statusCode, contentType, payload: text() });
        // Only once: an answer that is truncated on its way out passes this hook again, as an error.
        request.claim = null;
      }
      service.stats.answered(routeOf(request), outcomeOf(request, reply));
      return fault === null ? payload : applyFaultAfter(fault, request, reply, text());
    });
    app.setNotFoundHandler(noSuchPath);
    for (const name of Object.keys(endpoints) as EndpointName[]) route(app, service, name);
  };
}

/** A path of the document as fastify writes it. */
function routeUrl(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Authentication first, so that the limit counts by key; then the limit, counting each request as it arrives, those to unknown
 * paths as well. Its window starts with a key's first request in it, and is measured by a clock that cannot be set: the one of
 * @fastify/rate-limit lasts for hours when the machine's clock is set back. The document shows no headers about it.
 */
function limitRequests(app: FastifyInstance, service: Service): void {
  const { rate, retryAfterHeader } = service.settings;
  const windows = new Map<string, { endsAt: number; requests: number }>();
  app.addHook('onRequest', async (request, reply) => {
    const principal = authenticate(request, service);
    request.principal = principal;
    service.stats.arrived();
    const now = performance.now();
    let window = windows.get(principal.key);
    if (window === undefined || window.endsAt <= now) {
      window = { endsAt: now + rate.windowMs, requests: 0 };
      windows.set(principal.key, window);
    }
    window.requests += 1;
    if (window.requests <= rate.requests) return;
    if (retryAfterHeader) void reply.header('retry-after', Math.ceil((window.endsAt - now) / 1000));
    throw new HttpError(
      429,
      `More than ${rate.requests} requests in ${rate.windowMs} ms; retry after backing off`,
    );
  });
}

/**
 * The principal behind `Authorization: Bearer <API_KEY>` (Authentication 1, 5).
 * @throws HttpError 401 when the key is missing, unknown, revoked or expired.
 */
function authenticate(request: FastifyRequest, service: Service): Principal {
  const [, key] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (key === undefined) throw new HttpError(401, 'Send an API key as Authorization: Bearer <API_KEY>');
  const principal = service.principalOf(key);
  if (!principal) throw new HttpError(401, 'The API key is invalid, revoked or expired');
  return principal;
}

/** Applies a fault that keeps the request from running; a fault of the answer is kept for `onSend`. */
function applyEarlyFault(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const path = request.url.replace(/^\/v1/, '');
  const rule = service.faults.match({ route: routeOf(request), method: request.method, path });
  if (!rule) return undefined;
  service.stats.faultApplied(rule.kind);
  if (rule.kind === 'change') {
    service.change(rule.change as Change);
    return undefined;
  }
  if ((rule.kind === 'reset' || rule.kind === 'hang') && !rule.commit) {
    service.stats.answered(routeOf(request), rule.kind);
  }
  if (applyFaultBefore(rule, request, reply)) return reply;
  request.fault = rule;
  return undefined;
}

/** Idempotency-Key on POST and PATCH: replays, refuses, or claims the key for this request (Limits). */
function claimKey(service: Service, request: FastifyRequest): void {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || (request.method !== 'POST' && request.method !== 'PATCH')) return;
  const path = request.url.split('?')[0];
  const scope = JSON.stringify([request.principal.key, request.method, path, key]);
  const stored = service.idempotency.claim(scope, request.bodyText);
  if (stored) {
    service.stats.replayed();
    request.storedAnswer = stored;
  } else request.claim = scope;
}

function route(app: FastifyInstance, service: Service, name: EndpointName): void {
  const endpoint: Endpoint = endpoints[name];
  const handle = handlerOf(name);
  app.route({
    method: endpoint.method,
    url: routeUrl(endpoint.path),
    config: { endpoint: name },
    schema: schemaOf(name, service.settings),
    handler: async (request, reply) => {
      const { storedAnswer } = request;
      // Not in the hook that finds it: fastify runs the handler after a hook whose answer was cut off by a fault.
      if (storedAnswer)
        return reply.code(storedAnswer.status).type(storedAnswer.contentType).send(storedAnswer.payload);
      const [least, most] = service.settings.latencyMs;
      if (most > 0) await delay(least + Math.random() * (most - least));
      const { params, query, body, bodyText, fault, principal } = request;
      const rawBody = bodyText.trim() === '' ? undefined : JSON.parse(bodyText);
      const pagingFault = fault?.kind === 'paging' ? fault.how : undefined;
      const given = { params, query, body, rawBody, pagingFault };
      const touched: Touched[] = [];
      const call = { service, principal, ...principal.tenant, ...given, touched } as Call<EndpointName>;
      let json: string;
      try {
        json = handle(call);
      } finally {
        // Also when it failed halfway.
        if (endpoint.method !== 'GET') call.renderer.worldChanged();
      }
      if (touched.length > 0) {
        service.stats.wrote({
          at: new Date(service.clock.now()).toISOString(),
          endpoint: name,
          touched,
          body: rawBody,
          idempotencyKey: (request.headers['idempotency-key'] as string | undefined) ?? null,
        });
      }
      return reply.type(jsonType).send(json);
    },
  });
}

function routeOf(request: FastifyRequest): string {
  return request.routeOptions.config.endpoint ?? 'unknown';
}

/** What the client sees: a status, or the fault that kept it from getting one. */
function outcomeOf(request: FastifyRequest, reply: FastifyReply): string {
  const { fault } = request;
  if (fault?.kind === 'status' || fault?.kind === 'html') return String(fault.status);
  return fault?.kind === 'reset' || fault?.kind === 'hang' ? fault.kind : String(reply.statusCode);
}
