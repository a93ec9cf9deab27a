import type { Options, PositionalOptions } from 'yargs';
import type { z } from 'zod';
import type { ExitCode } from '../base/errors.js';
import type { Sources } from '../config/load.js';

/** What every command gets beside its own flags. */
export interface Context {
  /** Results as one JSON document. */
  readonly json: boolean;
  /** Where the settings come from: environment, --config and --data-dir. */
  readonly sources: Sources;
}

/** A command: what it takes, as data, and what it does. It parses, calls and prints, and nothing more. */
export interface Command<Flags = unknown> {
  readonly name: string;
  /** Its positional arguments as usage text, e.g. `[query]`. */
  readonly usage?: string;
  readonly summary: string;
  readonly positionals?: Readonly<Record<string, PositionalOptions>>;
  readonly options?: Readonly<Record<string, Options>>;
  readonly examples: readonly (readonly [command: string, what: string])[];
  /** Checks the flags, by their names in camelCase, and gives them their types. */
  readonly flags: z.ZodType<Flags>;
  run(flags: Flags, context: Context): Promise<ExitCode>;
}

/** Keeps the type of the flags between the schema and `run`, and forgets it for the list of all commands. */
export function command<Flags>(definition: Command<Flags>): Command {
  return definition as Command;
}

/** Commands that belong together under one name: `signalhouse changes list`. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
  readonly examples: readonly (readonly [command: string, what: string])[];
}

export function isGroup(entry: Command | Group): entry is Group {
  return 'commands' in entry;
}
