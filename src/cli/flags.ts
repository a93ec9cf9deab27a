import { z } from 'zod';
import { type Problem, UsageError } from '../base/errors.js';

/** The kinds of values that flags take. Each message says what is accepted. */

export const whole = (least = 1) =>
  z
    .number(`must be a whole number of at least ${least}`)
    .int(`must be a whole number of at least ${least}`)
    .min(least, `must be a whole number of at least ${least}`);

export const amount = z.number('must be a number above 0').positive('must be a number above 0');

export const text = z.string('must be given once').trim().min(1, 'must not be empty');

export const toggle = z.boolean('must be given once, without a value');

/** A list given as `a,b` or by repeating the flag. */
export const names = z
  .array(z.coerce.string())
  .transform((values) => values.flatMap((value) => value.split(',')).map((value) => value.trim()))
  .refine(
    (values) => values.length > 0 && values.every((value) => value !== ''),
    'must name at least one thing',
  );

/** Reads what yargs parsed through a command's schema; throws a UsageError with every problem. */
export function readFlags<Flags>(
  schema: z.ZodType<Flags>,
  args: Readonly<Record<string, unknown>>,
  positionals: readonly string[] = [],
): Flags {
  const camel = Object.fromEntries(Object.entries(args).map(([name, value]) => [camelCase(name), value]));
  const named = (name: string) => (positionals.includes(name) ? name : `--${kebabCase(name)}`);
  const parsed = schema.safeParse(camel);
  if (parsed.success) return parsed.data;
  const problems: Problem[] = parsed.error.issues.map((issue) => ({
    setting: issue.path.length > 0 ? named(String(issue.path[0])) : 'arguments',
    problem: issue.message,
  }));
  const noun = problems.every(({ setting }) => setting.startsWith('--')) ? 'flag' : 'argument';
  const what =
    problems.length === 1
      ? `${noun === 'flag' ? 'A flag' : 'An argument'} is`
      : `${problems.length} ${noun}s are`;
  throw new UsageError(`${what} not valid.`, problems);
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The limits of a run, for the commands that start one. */
export const caps = {
  only: names.optional(),
  maxRequests: whole().optional(),
  maxMinutes: amount.optional(),
};

export const capOptions = {
  only: {
    type: 'array',
    string: true,
    requiresArg: true,
    describe: 'Resources or endpoints, e.g. topics,company_activity',
  },
  'max-requests': { type: 'number', requiresArg: true, describe: 'Stop after this many requests' },
  'max-minutes': { type: 'number', requiresArg: true, describe: 'Stop after this many minutes' },
  wait: { type: 'boolean', describe: 'Wait while another process holds the warehouse' },
} as const;
