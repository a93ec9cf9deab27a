import { z } from 'zod';
import type { ExitCode } from '../base/errors.js';
import type { Sources } from '../config/load.js';
import type { View } from '../view/view.js';

/**
 * What a command is: one declaration for the command line, and functions that `serve` and the assistant call as well. A new command
 * is one file of this folder, and a line in `index.ts`.
 */

/** What every command gets in addition to its own input. */
export interface Context {
  /** Results as one JSON document. */
  readonly json: boolean;
  /** Where the settings come from: environment, --config and --data-dir. */
  readonly sources: Sources;
}

/** An operation: its input, its work, and how its result is shown to people. */
export interface Operation<Input extends z.ZodRawShape, Result> {
  /** Its positional arguments as usage text, e.g. `[query]`; `input` describes them as well. */
  readonly usage?: string;
  readonly examples: readonly Example[];
  /** Arguments and flags by name, in camelCase: what each may be, and what `--help` says of it. */
  readonly input: Input;
  /** With `--all` it runs for each organization of the settings file; the result then is the list of theirs. */
  readonly forAll?: boolean;
  /** Throws a UsageError for input whose parts contradict each other, before anything is loaded. */
  check?(input: z.output<z.ZodObject<Input>>): void;
  run(input: z.output<z.ZodObject<Input>>, context: Context): Promise<Result>;
  /** The result for people: a view, or text. With --json, the result itself is printed. */
  show(result: Result, input: z.output<z.ZodObject<Input>>): View | string;
  /** By default, that of the result, or 0. */
  exitCode?(result: Result): ExitCode;
}

/** One that prints while it runs, such as `sql`: it returns its exit code. */
export type Printing<Input extends z.ZodRawShape> = Omit<
  Operation<Input, ExitCode>,
  'show' | 'exitCode' | 'forAll'
>;

/** Any command, as the list of all has it: the types of its input and result are checked where it is declared. */
// biome-ignore lint/suspicious/noExplicitAny: a result is handed only to the `show` that is declared beside its `run`.
export type Command = Operation<z.ZodRawShape, any> | Printing<z.ZodRawShape>;

type Example = readonly [command: string, what: string];

/** Checks the type of the input between the schema and `run`, and erases it. */
export function command<Input extends z.ZodRawShape, Result>(definition: Operation<Input, Result>): Command {
  return definition as unknown as Command;
}

/** The same for a command that prints while it runs. */
export function printing<Input extends z.ZodRawShape>(definition: Printing<Input>): Command {
  return definition as unknown as Command;
}

/**
 * A command by its name, with a line for `--help`, and what loads it: the list of all commands is shown without the database and
 * the client that they need.
 */
export interface Listed {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

/** Commands under one name: `signalhouse changes list`. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Listed[];
  readonly examples: readonly Example[];
}

/** What `--help` shows under one heading. */
export interface CommandGroup {
  readonly heading: string;
  readonly commands: readonly (Listed | Group)[];
}

export function isGroup(entry: Listed | Group): entry is Group {
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

export const all = toggle.describe('For every organization of the settings file');
