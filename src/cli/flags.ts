import type { Options } from 'yargs';
import { z } from 'zod';
import { type Problem, UsageError } from '../base/errors.js';
import type { Command } from '../commands/command.js';

/** The input of a command as arguments and flags: how yargs reads and shows them. */

export function positionalsOf({ usage = '' }: Command): string[] {
  return [...usage.matchAll(/\w+/g)].map(([name]) => name);
}

/** The flags of a command, as they are written: `max-requests`. */
export function flagsOf(command: Command): string[] {
  const positionals = positionalsOf(command);
  return Object.keys(command.input)
    .filter((name) => !positionals.includes(name))
    .map(kebabCase);
}

/**
 * How yargs reads and shows an argument or a flag, as its schema says. `meta` may add an alias, or the choices that `--help`
 * lists.
 */
export function optionOf(command: Command, name: string): Options {
  const schema = command.input[camelCase(name)];
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

/** The type on the command line, without transformations of the value. */
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
  const parsed = z.object(command.input).safeParse(Object.fromEntries(camel));
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
