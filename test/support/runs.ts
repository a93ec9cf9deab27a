import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether there is time for many runs of each property: in `npm run test:properties`. */
    isThorough?: boolean;
  }
}

/** How often a property runs: a few in `npm test`, which add up over time, and many in `npm run test:properties`. RUNS overrides both. */
export function propertyRuns(few: number, many: number): number {
  return Number(process.env.RUNS ?? (inject('isThorough') ? many : few));
}
