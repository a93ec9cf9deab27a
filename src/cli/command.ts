import type { Options, PositionalOptions } from 'yargs';
import type { z } from 'zod';
import type { ExitCode } from '../base/errors.js';
import type { Sources } from '../config/load.js';

/** What every command gets in addition to its own flags. */
export interface Context {
  /** Results as one JSON document. */
  readonly json: boolean;
  /** Where the settings come from: environment, --config and --data-dir. */
  readonly sources: Sources;
}

/** A command: its arguments as data, and what it does: parse, call, print. */
export interface Command<Flags = unknown> {
  readonly name: string;
  /** Its positional arguments as usage text, e.g. `[query]`. */
  readonly usage?: string;
  readonly summary: string;
  readonly positionals?: Readonly<Record<string, PositionalOptions>>;
  readonly options?: Readonly<Record<string, Options>>;
  readonly examples: readonly (readonly [command: string, what: string])[];
  /** Validates the flags (names in camelCase) and gives them types. */
  readonly flags: z.ZodType<Flags>;
  run(flags: Flags, context: Context): Promise<ExitCode>;
}

/** Checks the type of the flags between the schema and `run`, and erases it for the list of all commands. */
export function command<Flags>(definition: Command<Flags>): Command {
  return definition as Command;
}

/** Commands under one name: `signalhouse changes list`. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
  readonly examples: readonly (readonly [command: string, what: string])[];
}

/** Whether an entry has commands of its own. */
export function isGroup(entry: Command | Group): entry is Group {
  return 'commands' in entry;
}
