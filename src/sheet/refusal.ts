import { UsageError } from '../base/errors.js';

/** What is wrong with a file that a person handed in: `<name> <what>`, and what to do about it. */
export function refusal(name: string, what: string, hint: string, cause?: unknown): UsageError {
  return new UsageError(`${name} ${what}`, [], { hint, cause });
}
