/**
 * Every error that Signalhouse raises on purpose is classed by how one recovers from it, carries a hint that says
 * what to do next, and maps to exactly one exit code. Nothing anywhere tells errors apart by their message text.
 */

/** The exit codes of the command line: a contract with operators and their monitors. */
export const ExitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  incomplete: 3,
  locked: 4,
  refused: 5,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

export interface ErrorDetail {
  /** What to do next, as one sentence for the person who reads it. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

export abstract class SignalhouseError extends Error {
  abstract readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = new.target.name;
    this.hint = detail.hint;
  }
}

/** One setting or argument that is wrong, named as the user wrote it. */
export interface Problem {
  /** The setting's name: an environment variable, a YAML path or a flag. */
  readonly setting: string;
  readonly problem: string;
}

/** Fix the command or its configuration, then run again. Holds every problem at once. */
export class UsageError extends SignalhouseError {
  override readonly exitCode = ExitCode.usage;
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = [], detail: ErrorDetail = {}) {
    super(message, detail);
    this.problems = problems;
  }
}

/** Wait for another process (its pid is named when it is known), or pass --wait. */
export class LockedError extends SignalhouseError {
  override readonly exitCode = ExitCode.locked;
  readonly pid: number | undefined;

  constructor(message: string, pid: number | undefined, detail: ErrorDetail = {}) {
    super(message, detail);
    this.pid = pid;
  }
}

/** Replace the key, or point at the right warehouse: the API refused us, or would mix two organizations. */
export class RefusedError extends SignalhouseError {
  override readonly exitCode = ExitCode.refused;
}

/** Free or repair what the files live on: disk full, read-only, unreadable, newer than this program. */
export class StorageError extends SignalhouseError {
  override readonly exitCode = ExitCode.failed;
}

/** Where in the API something happened; every API error names it. */
export interface Where {
  readonly endpoint: string;
  readonly method: string;
  /** Path relative to the base URL, query included; never holds the key. */
  readonly path: string;
}

/** Try later: no answer, a 429, a 5xx, or an answer cut short. Raised once the retries are used up. */
export class UnavailableError extends SignalhouseError {
  override readonly exitCode = ExitCode.failed;

  constructor(
    message: string,
    readonly where: Where,
    readonly status: number | undefined,
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** Skip this one: the API answered 4xx, and asking the same again gives the same. */
export class RejectedError extends SignalhouseError {
  override readonly exitCode = ExitCode.failed;

  constructor(
    message: string,
    readonly where: Where,
    readonly status: number,
    /** The error body's `code`, e.g. `NOT_FOUND`, when the body had the documented form. */
    readonly code: string | undefined,
    /** `data.reason` of the error body, e.g. `archived_in_v1_to_v2_migration`. */
    readonly reason: string | undefined,
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** Look at the settings or the service: an answer came, and does not have the form that it must have. */
export class ContractError extends SignalhouseError {
  override readonly exitCode = ExitCode.failed;

  constructor(
    message: string,
    readonly where: Where,
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** Stop in order: a signal or a cap asked for it. Everything committed stays. */
export class StoppedError extends SignalhouseError {
  override readonly exitCode = ExitCode.done;
}

/** The innermost message of whatever was thrown, for logs and summaries. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
