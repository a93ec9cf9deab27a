import type { Log } from '../base/log.js';
import { rateLimit } from '../contract/limits.js';
import type { DriftRuleInput } from './drift.js';
import type { FaultRuleInput, PagingFault } from './faults.js';
import type { StoredOrganization, World, WorldSizes } from './world/types.js';

/** A key that the service accepts. */
export interface SandboxKey {
  readonly key: string;
  /** `jwt` stands for a service JWT, which `POST /automations` refuses with 403. Default: `organization`. */
  readonly kind?: 'organization' | 'jwt';
  /** The organization it belongs to; absent: the world's own. Any other organization exists and is empty. */
  readonly organization?: StoredOrganization;
  /** A revoked key is answered 401. */
  readonly revoked?: boolean;
  /** From this moment on (milliseconds since the epoch, the service's clock) the key is answered 401. */
  readonly expiresAt?: number;
}

/** The rate limit: `requests` in each window of `windowMs`, which starts with a key's first request in it. */
interface SandboxRate {
  readonly requests: number;
  readonly windowMs: number;
  readonly kind: 'fixed';
}

/** The form of a list whose form the document does not show. */
export type ListForm = 'paged' | 'property' | 'array';

/** Where an automation's output goes when its request names no channel; null: nowhere, so the request is refused. */
export interface OutputDestination {
  readonly channel: 'discord' | 'email' | 'msteams' | 'slack';
  readonly destinations: string[] | null;
  readonly mode: 'any-internal' | 'any' | 'specific';
}

export interface SandboxOptions {
  /** The address to listen on. Default `127.0.0.1`. */
  readonly host?: string;
  /** The port; 0 (the default) takes any that is free. */
  readonly port?: number;
  /** The accepted keys; the first is the one that is printed. Default: {@link defaultKeys}. */
  readonly apiKeys?: readonly SandboxKey[];
  /** The size of the generated organization; absent sizes have the generator's default. */
  readonly sizes?: Partial<WorldSizes>;
  /** An organization to use instead of a generated one; writes change it. */
  readonly world?: World;
  /** Default: the documented 120 in 60 s. */
  readonly rate?: Partial<SandboxRate>;
  /** Whether a 429 carries `Retry-After` (seconds); the document does not show headers. Default false. */
  readonly retryAfterHeader?: boolean;
  /** Items in a page when no `limit` is given. Default 50. */
  readonly pageSize?: number;
  /** The largest page it grants. Default 100. */
  readonly maxPageSize?: number;
  /** Whether page numbers start at 0 or at 1. Default 1. */
  readonly pageBase?: 0 | 1;
  /** Milliseconds that each answer takes, drawn evenly from this range. Default [0, 0]. */
  readonly latencyMs?: readonly [number, number];
  /** The forms of lists whose form is not shown. Default: people paged, channels and templates as a property. */
  readonly forms?: Partial<SandboxForms>;
  /** Faults that are active from the start; see faults.ts. */
  readonly faults?: readonly FaultRuleInput[];
  /** Makes every paged list misbehave; the same as a `paging` fault that matches everything. */
  readonly pagingFault?: PagingFault;
  /** Lists change while they are read, from the start; see drift.ts. Default: they do not. */
  readonly drift?: DriftRuleInput;
  /** Avatar and logo addresses carry a signature that differs in each answer. Default false. */
  readonly signedUrls?: boolean;
  /** The saved default output destination of automations. Default: Slack, any internal channel. */
  readonly defaultDestination?: OutputDestination | null;
  /** The largest request body in bytes; beyond it 413. Default 4 MiB. */
  readonly bodyLimit?: number;
  /** Where warnings and unexpected errors go. Default: nowhere. */
  readonly log?: Log;
}

export interface SandboxForms {
  readonly people: ListForm;
  readonly channels: ListForm;
  readonly templates: ListForm;
}

/** The options with every default filled in. */
export interface SandboxSettings {
  readonly host: string;
  readonly port: number;
  readonly apiKeys: readonly SandboxKey[];
  readonly rate: SandboxRate;
  readonly retryAfterHeader: boolean;
  readonly pageSize: number;
  readonly maxPageSize: number;
  readonly pageBase: 0 | 1;
  readonly latencyMs: readonly [number, number];
  readonly forms: SandboxForms;
  readonly faults: readonly FaultRuleInput[];
  readonly drift: DriftRuleInput | undefined;
  readonly signedUrls: boolean;
  readonly defaultDestination: OutputDestination | null;
  readonly bodyLimit: number;
}

/** The organization of the second default key; it is empty. */
const otherOrganization: StoredOrganization = {
  id: 'org_other',
  name: 'Another Organization',
  slug: 'another-organization',
};

/** One key of each sort: valid, of another organization, a service JWT, revoked, expired. */
const defaultKeys: readonly SandboxKey[] = [
  { key: 'svc_sandbox' },
  { key: 'svc_other_organization', organization: otherOrganization },
  { key: 'svc_jwt', kind: 'jwt' },
  { key: 'svc_revoked', revoked: true },
  { key: 'svc_expired', expiresAt: 0 },
];

/** Fills in the defaults. */
export function withDefaults(options: SandboxOptions): SandboxSettings {
  return {
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    apiKeys: options.apiKeys ?? defaultKeys,
    rate: { ...rateLimit, kind: 'fixed', ...options.rate },
    retryAfterHeader: options.retryAfterHeader ?? false,
    pageSize: options.pageSize ?? 50,
    maxPageSize: options.maxPageSize ?? 100,
    pageBase: options.pageBase ?? 1,
    latencyMs: options.latencyMs ?? [0, 0],
    forms: { people: 'paged', channels: 'property', templates: 'property', ...options.forms },
    faults: [
      ...(options.faults ?? []),
      ...(options.pagingFault ? [{ kind: 'paging' as const, how: options.pagingFault }] : []),
    ],
    drift: options.drift,
    signedUrls: options.signedUrls ?? false,
    defaultDestination:
      options.defaultDestination === undefined
        ? { channel: 'slack', destinations: null, mode: 'any-internal' }
        : options.defaultDestination,
    bodyLimit: options.bodyLimit ?? 4 * 1024 * 1024,
  };
}
