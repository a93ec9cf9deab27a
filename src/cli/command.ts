import type { Options } from 'yargs';
import { z } from 'zod';
import { type ExitCode, type Problem, UsageError } from '../base/errors.js';
import type { Sources } from '../config/load.js';

/** What every command gets in addition to its own flags. */
export interface Context {
  /** Results as one JSON document. */
  readonly json: boolean;
  /** Where the settings come from: environment, --config and --data-dir. */
  readonly sources: Sources;
}

/** A command: its arguments as data, and what it does: parse, call, print. */
export interface Command<Flags extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** Its positional arguments as usage text, e.g. `[query]`; `flags` describes them as well. */
  readonly usage?: string;
  readonly summary: string;
  readonly examples: readonly (readonly [command: string, what: string])[];
  /** Arguments and flags by name, in camelCase: what each may be, and what `--help` says of it. */
  readonly flags: Flags;
  run(flags: z.output<z.ZodObject<Flags>>, context: Context): Promise<ExitCode>;
}

/** Checks the type of the flags between the schema and `run`, and erases it for the list of all commands. */
export function command<Flags extends z.ZodRawShape>(definition: Command<Flags>): Command {
  return definition as unknown as Command;
}

/** Commands under one name: `signalhouse changes list`. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
  readonly examples: readonly (readonly [command: string, what: string])[];
}

/** What `--help` shows under one heading. */
export interface CommandGroup {
  readonly heading: string;
  readonly commands: readonly (Command | Group)[];
}

export function isGroup(entry: Command | Group): entry is Group {
  return 'commands' in entry;
}

// The kinds of values that flags take. Each message says what is accepted.

export const whole = (least = 1) => {
  const must = `must be a whole number of at least ${least}`;
  return z.number(must).int(must).min(least, must);
};

export const port = whole(0).max(65_535, 'must be a port').optional();

const amount = z.number('must be a number above 0').positive('must be a number above 0');

export const text = z.string('must be given once').trim().min(1, 'must not be empty');

/** A flag without a value that may be left open. */
const given = z.boolean('must be given once, without a value');

export const toggle = given.default(false);

/** Words as they are, in any number. */
export const words = z.array(z.coerce.string());

/** A list given as `a,b` or by repeating the flag. */
export const names = words
  .transform((values) => values.flatMap((value) => value.split(',')).map((value) => value.trim()))
  .refine(
    (values) => values.length > 0 && values.every((value) => value !== ''),
    'must name at least one thing',
  );

export const wait = toggle.describe('Wait while another process holds the warehouse');

export const limits = {
  maxRequests: whole().optional().describe('Stop after this many requests'),
  maxMinutes: amount.optional().describe('Stop after this many minutes'),
};

export const only = names.optional().describe('Resources or endpoints, e.g. topics,company_activity');

export function positionalsOf({ usage = '' }: Command): string[] {
  return [...usage.matchAll(/\w+/g)].map(([name]) => name);
}

/** The flags of a command, as they are written: `max-requests`. */
export function flagsOf(command: Command): string[] {
  const positionals = positionalsOf(command);
  return Object.keys(command.flags)
    .filter((name) => !positionals.includes(name))
    .map(kebabCase);
}

/**
 * How yargs reads and shows an argument or a flag, as its schema says. `meta` may add an alias, or the choices that `--help`
 * lists.
 */
export function optionOf({ flags }: Command, name: string): Options {
  const schema = flags[camelCase(name)];
  if (!schema) throw new Error(`${name} is not described`);
  const { description, alias, choices } = z.globalRegistry.get(schema) ?? {};
  const type = typeOf(schema);
  return {
    ...(type === 'array' ? { type: 'string', array: true } : { type }),
    ...(type === 'boolean' ? {} : { requiresArg: true }),
    ...(description !== undefined && { describe: description }),
    ...(typeof alias === 'string' && { alias }),
    ...(Array.isArray(choices) && { choices }),
  };
}

/** The type on the command line, without what is done with the value afterwards. */
function typeOf(schema: z.core.$ZodType): 'string' | 'number' | 'boolean' | 'array' {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return typeOf(schema.def.innerType);
  if (schema instanceof z.ZodPipe) return typeOf(schema.def.in);
  const { type } = schema._zod.def;
  return type === 'number' || type === 'boolean' || type === 'array' ? type : 'string';
}

/** Reads what yargs parsed through the schemas of a command; throws a UsageError with every problem. */
export function readFlags(
  command: Command,
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const positionals = positionalsOf(command);
  const named = (name: string) => (positionals.includes(name) ? name : `--${kebabCase(name)}`);
  const camel = Object.entries(args).map(([name, value]) => [camelCase(name), value]);
  const parsed = z.object(command.flags).safeParse(Object.fromEntries(camel));
  if (parsed.success) return parsed.data;
  const problems: Problem[] = parsed.error.issues.map(({ path, message }) => ({
    setting: path.length > 0 ? named(String(path[0])) : 'arguments',
    problem: message,
  }));
  const isFlags = problems.every(({ setting }) => setting.startsWith('--'));
  const one = isFlags ? 'A flag is' : 'An argument is';
  const several = `${problems.length} ${isFlags ? 'flags' : 'arguments'} are`;
  throw new UsageError(`${problems.length === 1 ? one : several} not valid.`, problems);
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
