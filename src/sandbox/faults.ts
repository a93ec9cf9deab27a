import { z } from 'zod';

/** Which requests a rule strikes; every part that is given must fit. An empty match fits every request under /v1. */
const match = z.strictObject({
  /** The endpoint's name in contract/endpoints.ts. */
  route: z.string().optional(),
  method: z.string().optional(),
  /** A part of the path with its query. */
  path: z.string().optional(),
  /** A regular expression on the path with its query. */
  pattern: z.string().refine(compiles, { message: 'not a regular expression' }).optional(),
});

const common = {
  match: match.default({}),
  /** So many matching requests are let through first. */
  after: z.number().int().min(0).default(0),
  /** Strikes so often, then never again; absent: for ever. */
  times: z.number().int().min(1).optional(),
  /** Strikes a matching request with this chance, by a seeded generator. */
  probability: z.number().min(0).max(1).optional(),
};

/** Whether the request runs and is committed before the fault strikes its answer. */
const commit = z.boolean().default(false);

/** How a paged list misbehaves: see paging.ts. */
export const pagingFaults = ['ignore-page', 'repeat-page', 'other-limit', 'refuse-limit'] as const;
export type PagingFault = (typeof pagingFaults)[number];

/** A fault, as data. */
export const faultRule = z.discriminatedUnion('kind', [
  /** An error status, with the documented body unless another is given. */
  z.strictObject({
    ...common,
    kind: z.literal('status'),
    status: z.number().int().min(200).max(599),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.unknown().optional(),
    commit,
  }),
  /** A web page, as a proxy or firewall in front of the service would answer. */
  z.strictObject({
    ...common,
    kind: z.literal('html'),
    status: z.number().int().min(200).max(599).default(502),
    commit,
  }),
  /** The connection is reset before a byte of the answer. */
  z.strictObject({ ...common, kind: z.literal('reset'), commit }),
  /** A reset after the request ran and was committed. */
  z.strictObject({ ...common, kind: z.literal('commit-then-drop') }),
  /** No answer until the client gives up. */
  z.strictObject({ ...common, kind: z.literal('hang'), commit }),
  /** The answer comes after `ms`; dribbling, it comes in `pieces` spread over that time. */
  z.strictObject({
    ...common,
    kind: z.literal('slow'),
    ms: z.number().int().min(0),
    dribble: z.boolean().default(false),
    pieces: z.number().int().min(2).default(10),
  }),
  /** Only the first `bytes` of the body: with the full length announced and the connection cut, or (`clean`) as if whole. */
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
    set: z.array(z.strictObject({ path: z.string().min(1), value: z.unknown() })).optional(),
    delete: z.array(z.string().min(1)).optional(),
  }),
  /** A paged list that does not page as it should. */
  z.strictObject({ ...common, kind: z.literal('paging'), how: z.enum(pagingFaults) }),
]);
export type FaultRule = z.output<typeof faultRule>;
/** A rule as written: what has a default may be left out. */
export type FaultRuleInput = z.input<typeof faultRule>;

/** What a rule may look at. */
export interface FaultSubject {
  readonly route: string;
  readonly method: string;
  /** The path below `/v1`, with its query. */
  readonly path: string;
}

interface Armed {
  readonly rule: FaultRule;
  readonly pattern: RegExp | undefined;
  seen: number;
  struck: number;
}

/** The rules in force, first come first served, with how often each has been seen and has struck. */
export class FaultBook {
  #armed: Armed[] = [];
  readonly #random: () => number;

  constructor(rules: readonly FaultRuleInput[] = [], seed = 1) {
    this.#random = seeded(seed);
    this.add(rules);
  }

  /** Adds rules behind those in force. @throws z.ZodError naming what is wrong with them. */
  add(rules: readonly FaultRuleInput[]): void {
    for (const rule of z.array(faultRule).parse(rules)) {
      const pattern = rule.match.pattern === undefined ? undefined : new RegExp(rule.match.pattern);
      this.#armed.push({ rule, pattern, seen: 0, struck: 0 });
    }
  }

  clear(): void {
    this.#armed = [];
  }

  /** The rules in force, each with how many requests fitted it and how many it struck. */
  list(): { rule: FaultRule; seen: number; struck: number }[] {
    return this.#armed.map(({ rule, seen, struck }) => ({ rule, seen, struck }));
  }

  /** The rule that strikes this request, if any. */
  take(subject: FaultSubject): FaultRule | undefined {
    for (const armed of this.#armed) {
      if (!fits(armed, subject)) continue;
      armed.seen += 1;
      const { after, times, probability } = armed.rule;
      if (armed.seen <= after || (times !== undefined && armed.struck >= times)) continue;
      if (probability !== undefined && this.#random() >= probability) continue;
      armed.struck += 1;
      return armed.rule;
    }
    return undefined;
  }
}

function fits({ rule, pattern }: Armed, subject: FaultSubject): boolean {
  const { route, method, path } = rule.match;
  return (
    (route === undefined || route === subject.route) &&
    (method === undefined || method.toUpperCase() === subject.method) &&
    (path === undefined || subject.path.includes(path)) &&
    (pattern === undefined || pattern.test(subject.path))
  );
}

function compiles(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}

/** Mulberry32: small, seeded and good enough to toss coins with. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
