/**
 * Every error that Signalhouse throws on purpose is classed by how to recover from it, carries a hint that says what to
 * do next, and maps to exactly one exit code. No code distinguishes errors by their message text.
 */

/** The exit codes of the command line, a contract with operators and their monitoring. */
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
  /** What to do next, in one sentence. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** An expected error. Its class says how to recover from it; any other error is a fault of the program. */
export abstract class SignalhouseError extends Error {
  /** Unless its class says otherwise: it failed. */
  readonly exitCode: ExitCode = ExitCode.failed;
  readonly hint: string | undefined;

  constructor(message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = new.target.name;
    this.hint = detail.hint;
  }
}

/** One wrong setting or argument, named as the user wrote it. */
export interface Problem {
  /** The setting's name: an environment variable, a YAML path or a flag. */
  readonly setting: string;
  readonly problem: string;
  /** The line of its file, where it is in one. */
  readonly line?: number | undefined;
}

/** A problem in one line: `worker.yaml: serve.prot (line 3): is not a setting`. */
export function problemText({ setting, problem, line }: Problem): string {
  return `${setting}${line === undefined ? '' : ` (line ${line})`}: ${problem}`;
}

/** Recovery: fix the command or its configuration. Holds all problems at once. */
export class UsageError extends SignalhouseError {
  override readonly exitCode = ExitCode.usage;
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = [], detail: ErrorDetail = {}) {
    super(message, detail);
    this.problems = problems;
  }
}

/** The problems of a UsageError, one line each; none of another error. */
export function problemsOf(error: unknown): string[] {
  return error instanceof UsageError ? error.problems.map(problemText) : [];
}

/** The problem and the next step, in sentences. */
export function sentencesOf(error: unknown): string {
  const hint = error instanceof SignalhouseError && error.hint !== undefined ? [error.hint] : [];
  return [messageOf(error), ...problemsOf(error), ...hint]
    .map((text, at, { length }) => (at === length - 1 || /[.:]$/.test(text) ? text : `${text}.`))
    .join(' ');
}

/** Recovery: wait for another process (with its pid, if known), or pass --wait. */
export class LockedError extends SignalhouseError {
  override readonly exitCode = ExitCode.locked;
  readonly pid: number | undefined;

  constructor(message: string, pid: number | undefined, detail: ErrorDetail = {}) {
    super(message, detail);
    this.pid = pid;
  }
}

/** Recovery: replace the key or use the right warehouse. The API refused the key, or it belongs to another organization. */
export class RefusedError extends SignalhouseError {
  override readonly exitCode = ExitCode.refused;
}

/** Recovery: repair the storage. The disk is full, read-only or unreadable, or a file is newer than this program. */
export class StorageError extends SignalhouseError {}

/** Recovery: sync, or name the right data directory. Nothing was published there yet. */
export class NotPublishedError extends StorageError {
  override readonly exitCode = ExitCode.incomplete;
}

/**
 * Recovery: do what the hint says to the lake's settings or services, then publish again. The local warehouse is not
 * affected.
 */
export class LakeError extends SignalhouseError {
  constructor(
    message: string,
    /**
     * `retry`: another writer was faster, and the same may succeed now. `unknown`: no answer, so it is not known whether a
     * commit was applied. `give up`: the same would fail again.
     */
    readonly recovery: 'retry' | 'unknown' | 'give up',
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** The request that an API error is about. */
export interface Where {
  readonly endpoint: string;
  readonly method: string;
  /** Relative to the base URL, query included; never holds the key. */
  readonly path: string;
}

/** Recovery: try again later. No answer, a 429, a 5xx or a truncated answer, after all retries. */
export class UnavailableError extends SignalhouseError {
  constructor(
    message: string,
    readonly where: Where,
    readonly status: number | undefined,
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** Recovery: run again later. The API as a whole did not answer for longer than a run waits (`api.outageMinutes`). */
export class OutageError extends SignalhouseError {}

/** Recovery: read again what the request depends on. It waited until its caller no longer wanted it sent. */
export class OutdatedError extends SignalhouseError {}

/** Recovery: skip this request. The API answered 4xx, and would answer the same again. */
export class RejectedError extends SignalhouseError {
  constructor(
    message: string,
    readonly where: Where,
    readonly status: number,
    /** `code` of the error body, e.g. `NOT_FOUND`, when the body has the documented form. */
    readonly code: string | undefined,
    /** `data.reason` of the error body, e.g. `archived_in_v1_to_v2_migration`. */
    readonly reason: string | undefined,
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** Recovery: check the settings and the service. An answer arrived in a form that the contract does not allow. */
export class ContractError extends SignalhouseError {
  constructor(
    message: string,
    readonly where: Where,
    detail: ErrorDetail = {},
  ) {
    super(message, detail);
  }
}

/** Recovery: try again later. The answer is about another entity than the one that was asked for. */
export class OtherEntityError extends ContractError {
  constructor(
    message: string,
    where: Where,
    /** The id in the answer; null where it only shows that it is another. */
    readonly answered: string | null,
  ) {
    super(message, where, { hint: 'Nothing of it was stored. The next sync asks for it again.' });
  }
}

/** How large an answer was that is larger than it may be. */
export interface AnswerSize {
  readonly status: number;
  /** Null where it was not counted to its end. */
  readonly bytes: number | null;
  /** What it may have. */
  readonly most: number;
}

/** The size of an answer that is too large, and what it may be, for messages. */
export function sizeText({ bytes, most }: Pick<AnswerSize, 'bytes' | 'most'>): string {
  return `${bytes === null ? `more than ${most}` : bytes} bytes; at most ${most} are read`;
}

/** Recovery: ask for less at once. The answer was larger than it may be. */
export class AnswerTooLargeError extends ContractError {
  constructor(
    message: string,
    where: Where,
    readonly size: AnswerSize,
    detail: ErrorDetail = {},
  ) {
    super(message, where, detail);
  }
}

/** No recovery needed: a signal or a cap ended the run in order. Everything committed stays. */
export class StoppedError extends SignalhouseError {
  override readonly exitCode = ExitCode.done;
}

/** Only this request failed; others may succeed. */
export function isAboutOneRequest(error: unknown): error is RejectedError | UnavailableError | ContractError {
  return (
    error instanceof RejectedError || error instanceof UnavailableError || error instanceof ContractError
  );
}

/** The message of any thrown value, for logs and summaries. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A message up to its first line break: libraries add further lines with the input and with advice. */
export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
