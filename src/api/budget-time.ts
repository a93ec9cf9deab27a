export interface RateLimited {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
}

/** Minutes that so many requests take at the configured rate. */
export function minutesFor(requests: number, { rateLimit }: RateLimited): number {
  return (requests / rateLimit.requests) * (rateLimit.windowMs / 60_000);
}
