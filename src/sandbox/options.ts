import { z } from 'zod';
import type { Log } from '../base/log.js';
import { rateLimit } from '../contract/limits.js';
import { faultRule, pagingFaults } from './faults.js';
import { type World, worldSizes } from './world/types.js';

const whole = (least: number) => z.number().int().min(least);

/** The form of a list whose form the document does not show. */
const listForm = z.enum(['paged', 'property', 'array']);
export type ListForm = z.infer<typeof listForm>;

/** How the service behaves, as it is given to `--settings` (config/sandbox.yaml describes each) or in process. */
export const sandboxSettings = z.strictObject({
  host: z.string().default('127.0.0.1'),
  /** 0 takes any that is free. */
  port: whole(0).max(65_535).default(0),
  /** The key of the generated organization. */
  apiKey: z.string().min(1).default('svc_sandbox'),
  sizes: worldSizes.prefault({}),
  /** `requests` in each window of `windowMs`, which starts with a key's first request in it. */
  rate: z
    .strictObject({
      requests: whole(1).default(rateLimit.requests),
      windowMs: whole(1).default(rateLimit.windowMs),
    })
    .prefault({}),
  /** Whether a 429 carries `Retry-After` (seconds); the document does not show headers. */
  retryAfterHeader: z.boolean().default(false),
  /** Items in a page when no `limit` is given. */
  pageSize: whole(1).default(50),
  /** The largest page it grants. */
  maxPageSize: whole(1).default(100),
  pageBase: z.union([z.literal(0), z.literal(1)]).default(1),
  /** Milliseconds that each answer takes, drawn evenly from this range. */
  latencyMs: z
    .tuple([z.number().min(0), z.number().min(0)])
    .refine(([least, most]) => least <= most, 'must go from the smaller to the larger number')
    .readonly()
    .default([0, 0]),
  forms: z
    .strictObject({
      people: listForm.default('paged'),
      channels: listForm.default('property'),
      templates: listForm.default('property'),
    })
    .prefault({}),
  /** Faults that are active from the start; see faults.ts. */
  faults: z.array(faultRule).readonly().default([]),
  /** Makes every paged list misbehave; the same as a `paging` fault that matches everything. */
  pagingFault: z.enum(pagingFaults).optional(),
  /** Avatar and logo addresses carry a signature that differs in each answer. */
  signedUrls: z.boolean().default(false),
});
export type SandboxSettings = z.output<typeof sandboxSettings>;

export type SandboxOptions = z.input<typeof sandboxSettings> & {
  /** Where warnings and unexpected errors go. Default: nowhere. */
  readonly log?: Log;
  /** An organization to use instead of a generated one; writes change it. */
  readonly world?: World;
};

/** Fills in the defaults. @throws z.ZodError for a setting that is not valid */
export function withDefaults({ log: _, world: __, ...options }: SandboxOptions): SandboxSettings {
  return sandboxSettings.parse(options);
}
