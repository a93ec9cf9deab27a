import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../base/json.js';
import { bodyOf, HttpError } from './errors.js';
import type { FaultRule } from './faults.js';

const jsonType = 'application/json; charset=utf-8';

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

/** Sets status and headers of the answer; returns its body. */
function errorAnswer(rule: FaultRule & { kind: 'status' | 'html' }, reply: FastifyReply): string {
  const isPage = rule.kind === 'html';
  const headers = isPage ? {} : (rule.headers ?? {});
  for (const [name, value] of Object.entries(headers)) void reply.header(name, value);
  void reply.code(rule.status).type(isPage ? 'text/html; charset=utf-8' : jsonType);
  return isPage ? htmlPage(rule.status) : statusBody(rule);
}

/** Applies a fault to the answer of a request that has run. Returns what is sent instead of `payload`. */
export async function applyFaultAfter(
  rule: FaultRule,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: string,
): Promise<string | Readable> {
  switch (rule.kind) {
    case 'status':
    case 'html':
      return errorAnswer(rule, reply);
    case 'reset':
    case 'commit-then-drop':
      request.raw.socket.resetAndDestroy();
      return payload;
    case 'hang':
      await closed(request);
      return payload;
    case 'slow': {
      if (rule.dribble) return dribbled(reply, payload, rule.ms, rule.pieces);
      await delay(rule.ms);
      return payload;
    }
    case 'truncate': {
      const bytes = Buffer.from(payload);
      if (rule.clean) return bytes.subarray(0, rule.bytes).toString('utf8');
      void reply.header('content-length', bytes.length);
      return Readable.from(truncated(bytes.subarray(0, rule.bytes)));
    }
    case 'replace':
      if (rule.body !== undefined) return JSON.stringify(rule.body);
      return edited(payload, rule.set ?? [], rule.delete ?? []);
    case 'change':
    case 'paging':
      return payload;
  }
}

function statusBody(rule: FaultRule & { kind: 'status' }): string {
  if (rule.body !== undefined) return typeof rule.body === 'string' ? rule.body : JSON.stringify(rule.body);
  return JSON.stringify(bodyOf(new HttpError(rule.status, `Status ${rule.status}, set by a fault rule`)));
}

function htmlPage(status: number): string {
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status}</h1><p>The server cannot be reached right now.</p></body></html>\n`;
}

function closed(request: FastifyRequest): Promise<void> {
  const { socket } = request.raw;
  return socket.destroyed
    ? Promise.resolve()
    : new Promise((resolve) => socket.once('close', () => resolve()));
}

function dribbled(reply: FastifyReply, payload: string, ms: number, pieces: number): Readable {
  const bytes = Buffer.from(payload);
  void reply.header('content-length', bytes.length);
  const step = Math.max(1, Math.ceil(bytes.length / pieces));
  return Readable.from(
    (async function* () {
      for (let at = 0; at < bytes.length; at += step) {
        await delay(ms / pieces);
        yield bytes.subarray(at, at + step);
      }
    })(),
  );
}

/** Yields `head`, then fails, so that the connection is closed in the middle of the body. */
async function* truncated(head: Buffer): AsyncGenerator<Buffer> {
  yield head;
  // The head has to leave the process first: closing at once could drop it.
  await delay(10);
  throw new Error('truncated by a fault rule');
}

type Setting =
  | { readonly path: string; readonly value?: unknown }
  | { readonly path: string; readonly json: string };

/** A JSON text with values set and deleted. A `json` value goes in as text, because JSON.stringify cannot write every value. */
function edited(payload: string, set: readonly Setting[], remove: readonly string[]): string {
  const texts = new Map<string, string>();
  const values = set.map((setting) => {
    if (!('json' in setting)) return { path: setting.path, value: setting.value };
    const placeholder = randomUUID();
    texts.set(JSON.stringify(placeholder), setting.json);
    return { path: setting.path, value: placeholder };
  });
  let text = JSON.stringify(edit(JSON.parse(payload), values, remove));
  for (const [placeholder, json] of texts) text = text.replaceAll(placeholder, () => json);
  return text;
}

/**
 * Sets and deletes values inside a JSON value, in place. A path is made of keys and indexes with dots between them;
 * `*` stands for every key or index at its place. A path that does not exist changes nothing.
 */
function edit(
  value: unknown,
  set: readonly { path: string; value: unknown }[],
  remove: readonly string[],
): unknown {
  for (const { path, value: wanted } of set) {
    forEachMatch(value, path, (holder, key) => {
      holder[key] = wanted;
    });
  }
  for (const path of remove) {
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
