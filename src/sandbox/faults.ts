import { z } from 'zod';
import { Random } from './world/random.js';

/** The requests that a rule applies to; every given part must match. An empty match matches every request under /v1. */
const match = z.strictObject({
  /** The name of the endpoint in contract/endpoints.ts. */
  route: z.string().optional(),
  method: z.string().optional(),
  /** A part of the path with its query. */
  path: z.string().optional(),
  /** A regular expression on the path with its query. */
  pattern: z.string().refine(compiles, { message: 'not a regular expression' }).optional(),
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

/** Whether the request runs and is committed before the fault replaces its answer. */
const commit = z.boolean().default(false);

/** How a paged list misbehaves; see handlers/lists.ts. */
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
  /** A web page, as a proxy or firewall in front of the service would send. */
  z.strictObject({
    ...common,
    kind: z.literal('html'),
    status: z.number().int().min(200).max(599).default(502),
    commit,
  }),
  /** The connection is reset before the first byte of the answer. */
  z.strictObject({ ...common, kind: z.literal('reset'), commit }),
  /** A reset after the request ran and was committed. */
  z.strictObject({ ...common, kind: z.literal('commit-then-drop') }),
  /** No answer until the client gives up. */
  z.strictObject({ ...common, kind: z.literal('hang'), commit }),
  /** The answer comes after `ms`; with `dribble`, in `pieces` spread over that time. */
  z.strictObject({
    ...common,
    kind: z.literal('slow'),
    ms: z.number().int().min(0),
    dribble: z.boolean().default(false),
    pieces: z.number().int().min(2).default(10),
  }),
  /** Only the first `bytes` of the body: the full length is announced and the connection closed, or (`clean`) the part is sent as if it were whole. */
  z.strictObject({
    ...common,
    kind: z.literal('truncate'),
    bytes: z.number().int().min(0),
    clean: z.boolean().default(false),
  }),
  /**
   * Another body with the real status: `body` as given, or the real one with values set and deleted. A path is made of
   * keys and indexes with dots between them; `*` stands for each (`data.*.eventCount`). `json` is a value as JSON text,
   * sent as it is written: deeper than a program can build, or a number that no program holds.
   */
  z.strictObject({
    ...common,
    kind: z.literal('replace'),
    body: z.unknown().optional(),
    set: z
      .array(
        z.union([
          z.strictObject({ path: z.string().min(1), json: z.string() }),
          z.strictObject({ path: z.string().min(1), value: z.unknown() }),
        ]),
      )
      .optional(),
    delete: z.array(z.string().min(1)).optional(),
  }),
  /** A colleague makes a change (see colleague.ts) right before the answer: what was read before it does not show it. */
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

/** The parts of a request that a rule matches. */
export interface FaultSubject {
  readonly route: string;
  readonly method: string;
  /** The path below `/v1`, with its query. */
  readonly path: string;
}

interface ActiveRule {
  readonly rule: FaultRule;
  readonly pattern: RegExp | undefined;
  seen: number;
  struck: number;
}

/** The active rules in order, with how many requests each has matched (`seen`) and was applied to (`struck`). */
export class FaultRules {
  #active: ActiveRule[] = [];
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed, 'faults');
  }

  /** Adds rules after the active ones. @throws z.ZodError for a rule that is not valid */
  add(rules: readonly FaultRuleInput[]): void {
    for (const rule of z.array(faultRule).parse(rules)) {
      const pattern = rule.match.pattern === undefined ? undefined : new RegExp(rule.match.pattern);
      this.#active.push({ rule, pattern, seen: 0, struck: 0 });
    }
  }

  clear(): void {
    this.#active = [];
  }

  /** The active rules, each with how many requests matched it and how many it was applied to. */
  list(): { rule: FaultRule; seen: number; struck: number }[] {
    return this.#active.map(({ rule, seen, struck }) => ({ rule, seen, struck }));
  }

  /** The rule to apply to this request, if any; counts the match. */
  match(subject: FaultSubject): FaultRule | undefined {
    for (const active of this.#active) {
      if (!matches(active, subject)) continue;
      active.seen += 1;
      const { after, times, probability } = active.rule;
      if (active.seen <= after || (times !== undefined && active.struck >= times)) continue;
      if (probability !== undefined && !this.#random.chance(probability)) continue;
      active.struck += 1;
      return active.rule;
    }
    return undefined;
  }
}

function matches({ rule, pattern }: ActiveRule, subject: FaultSubject): boolean {
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
