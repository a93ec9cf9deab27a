import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isObject } from '../base/json.js';
import { bodyOf, HttpError } from './errors.js';
import { Random } from './world/random.js';

/** The requests that a rule applies to; every given part must match. An empty match matches every request under /v1. */
const match = z.strictObject({
  /** The name of the endpoint in contract/endpoints.ts. */
  route: z.string().optional(),
  method: z.string().optional(),
  /** A part of the path with its query. */
  path: z.string().optional(),
});

const common = {
  match: match.default({}),
  /** How many matching requests pass before the rule applies. */
  after: z.number().int().min(0).default(0),
  /** How often the rule applies; absent: without end. */
  times: z.number().int().min(1).optional(),
  /** The chance that the rule applies to a matching request, drawn from a seeded generator. */
  probability: z.number().min(0).max(1).optional(),
};

const status = z.number().int().min(200).max(599);
/** Whether the request runs and is committed before the fault replaces its answer. */
const commit = z.boolean().default(false);

/** How a paged list misbehaves; see handlers/lists.ts. */
export const pagingFaults = [
  'ignore-page',
  'repeat-page',
  'other-limit',
  'refuse-limit',
  'leave-out',
] as const;
export type PagingFault = (typeof pagingFaults)[number];

/** A fault, as data. */
export const faultRule = z.discriminatedUnion('kind', [
  /** An error status, with the documented body unless another is given. */
  z.strictObject({
    ...common,
    kind: z.literal('status'),
    status,
    headers: z.record(z.string(), z.string()).optional(),
    body: z.unknown().optional(),
    commit,
  }),
  /** A web page, as a proxy or firewall in front of the service would send. */
  z.strictObject({ ...common, kind: z.literal('html'), status: status.default(502), commit }),
  /** The connection is reset before the first byte of the answer. */
  z.strictObject({ ...common, kind: z.literal('reset'), commit }),
  /** No answer until the client gives up. */
  z.strictObject({ ...common, kind: z.literal('hang'), commit }),
  /** The answer comes after `ms`. */
  z.strictObject({ ...common, kind: z.literal('slow'), ms: z.number().int().min(0) }),
  /** Only the first `bytes` of the body: the full length is announced and the connection closed, or (`clean`) the part is sent as if it were whole. */
  z.strictObject({
    ...common,
    kind: z.literal('truncate'),
    bytes: z.number().int().min(0),
    clean: z.boolean().default(false),
  }),
  /**
   * Another body with the real status: `body` as given, or the real one with values set and deleted. A path is made of
   * keys and indexes with dots between them; `*` stands for each (`data.*.eventCount`).
   */
  z.strictObject({
    ...common,
    kind: z.literal('replace'),
    body: z.unknown().optional(),
    set: z.array(z.strictObject({ path: z.string().min(1), value: z.unknown() })).default([]),
    delete: z.array(z.string().min(1)).default([]),
  }),
  /** A colleague makes a change (see world/changes) right before the answer: what was read before it does not show it. */
  z.strictObject({
    ...common,
    kind: z.literal('change'),
    change: z.looseObject({ kind: z.string() }),
  }),
  /** A paged list whose pages are wrong. */
  z.strictObject({ ...common, kind: z.literal('paging'), how: z.enum(pagingFaults) }),
]);
export type FaultRule = z.output<typeof faultRule>;
/** A rule as written: fields with a default may be left out. */
export type FaultRuleInput = z.input<typeof faultRule>;

/** The active rules in order, with how many requests each has matched (`seen`) and was applied to (`struck`). */
export class FaultRules {
  #active: { readonly rule: FaultRule; seen: number; struck: number }[] = [];
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed, 'faults');
  }

  /** Adds rules after the active ones. @throws z.ZodError for a rule that is not valid */
  add(rules: readonly FaultRuleInput[]): void {
    for (const rule of z.array(faultRule).parse(rules)) this.#active.push({ rule, seen: 0, struck: 0 });
  }

  clear(): void {
    this.#active = [];
  }

  /** The active rules, each with how many requests matched it and how many it was applied to. */
  list(): { rule: FaultRule; seen: number; struck: number }[] {
    return this.#active.map((active) => ({ ...active }));
  }

  /** The rule to apply to this request, if any; counts the match. `path` is below `/v1`, with its query. */
  match(subject: Readonly<Record<'route' | 'method' | 'path', string>>): FaultRule | undefined {
    for (const active of this.#active) {
      const { match, after, times, probability } = active.rule;
      const isMatch =
        (match.route ?? subject.route) === subject.route &&
        (match.method ?? subject.method).toUpperCase() === subject.method &&
        subject.path.includes(match.path ?? '');
      if (!isMatch) continue;
      active.seen += 1;
      if (active.seen <= after || (times !== undefined && active.struck >= times)) continue;
      if (probability !== undefined && !this.#random.chance(probability)) continue;
      active.struck += 1;
      return active.rule;
    }
    return undefined;
  }
}

/**
 * Applies a fault that keeps the request from running: it answers (or never does) and returns true. Returns false for a
 * fault that changes the answer of a request that runs.
 */
export function applyFaultBefore(rule: FaultRule, request: FastifyRequest, reply: FastifyReply): boolean {
  if (!('commit' in rule) || rule.commit) return false;
  if (rule.kind === 'status' || rule.kind === 'html') {
    void reply.send(errorAnswer(rule, reply));
    return true;
  }
  reply.hijack();
  if (rule.kind === 'reset') request.raw.socket.resetAndDestroy();
  return true;
}

/** Applies a fault to the answer of a request that has run. Returns what is sent instead of `payload`. */
export async function applyFaultAfter(
  rule: FaultRule,
  { raw: { socket } }: FastifyRequest,
  reply: FastifyReply,
  payload: string,
): Promise<string | Readable> {
  switch (rule.kind) {
    case 'status':
    case 'html':
      return errorAnswer(rule, reply);
    case 'reset':
      socket.resetAndDestroy();
      return payload;
    case 'hang':
      if (!socket.destroyed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
      return payload;
    case 'slow':
      await delay(rule.ms);
      return payload;
    case 'truncate': {
      const bytes = Buffer.from(payload);
      const head = bytes.subarray(0, rule.bytes);
      if (rule.clean) return head.toString('utf8');
      void reply.header('content-length', bytes.length);
      return Readable.from(truncated(head));
    }
    case 'replace':
      if (rule.body !== undefined) return JSON.stringify(rule.body);
      return JSON.stringify(edit(JSON.parse(payload), rule));
    case 'change':
    case 'paging':
      return payload;
  }
}

/** Sets status and headers of the answer; returns its body. */
function errorAnswer(rule: FaultRule & { kind: 'status' | 'html' }, reply: FastifyReply): string {
  void reply.code(rule.status);
  if (rule.kind === 'html') {
    void reply.type('text/html; charset=utf-8');
    const body = `<h1>${rule.status}</h1><p>The server cannot be reached right now.</p>`;
    return `<!DOCTYPE html>\n<html><head><title>${rule.status}</title></head><body>${body}</body></html>\n`;
  }
  void reply.headers(rule.headers ?? {}).type('application/json; charset=utf-8');
  if (typeof rule.body === 'string') return rule.body;
  const documented = bodyOf(new HttpError(rule.status, `Status ${rule.status}, set by a fault rule`));
  return JSON.stringify(rule.body ?? documented);
}

/** Yields `head`, then fails, so that the connection is closed in the middle of the body. */
async function* truncated(head: Buffer): AsyncGenerator<Buffer> {
  yield head;
  // The head has to leave the process first: closing at once could drop it.
  await delay(10);
  throw new Error('truncated by a fault rule');
}

/** Sets and deletes values inside a JSON value, in place. A path that does not exist changes nothing. */
function edit(value: unknown, rule: FaultRule & { kind: 'replace' }): unknown {
  for (const { path, value: wanted } of rule.set) {
    forEachMatch(value, path, (holder, key) => {
      holder[key] = wanted;
    });
  }
  for (const path of rule.delete) {
    forEachMatch(value, path, (holder, key) => {
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
    });
  }
  return value;
}

type Holder = Record<string, unknown>;

function forEachMatch(value: unknown, path: string, act: (holder: Holder, key: string) => void): void {
  const [first = '', ...rest] = path.split('.');
  if (!isObject(value) && !Array.isArray(value)) return;
  const holder = value as Holder;
  // From the end, so that deleting from an array does not shift what comes next.
  for (const key of first === '*' ? Object.keys(holder).reverse() : [first]) {
    if (rest.length === 0) act(holder, key);
    else forEachMatch(holder[key], rest.join('.'), act);
  }
}
