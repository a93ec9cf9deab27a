import { ExitCode } from '../../base/errors.js';

/** One line of what the doctor found. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it; null where there is nothing to do. */
  readonly hint: string | null;
  /** What a failure of this check means for the exit code. */
  readonly exitCode: ExitCode;
}

export const ok = (name: string, text: string): Check => ({
  name,
  state: 'ok',
  text,
  hint: null,
  exitCode: ExitCode.done,
});

export const warn = (name: string, text: string, hint: string): Check => ({
  ...ok(name, text),
  state: 'warn',
  hint,
});

export const fail = (
  name: string,
  text: string,
  hint: string | null,
  exitCode: ExitCode = ExitCode.failed,
): Check => ({
  name,
  state: 'fail',
  text,
  hint,
  exitCode,
});

/** What has to be mended first decides: the settings, then the key, then the lock, then everything else. */
const order: readonly ExitCode[] = [ExitCode.usage, ExitCode.refused, ExitCode.locked, ExitCode.failed];

export function exitCodeOf(checks: readonly Check[]): ExitCode {
  const failed = new Set(checks.filter(({ state }) => state === 'fail').map(({ exitCode }) => exitCode));
  return order.find((code) => failed.has(code)) ?? ExitCode.done;
}
