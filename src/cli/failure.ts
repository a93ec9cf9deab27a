import { ExitCode, messageOf, type Problem, SignalhouseError, UsageError } from '../base/errors.js';
import { shown, wrap } from './text/cell.js';

/** An error as a command hands it out: what happened, what to do next, and every problem there is. */
export interface Failure {
  readonly exitCode: ExitCode;
  readonly name: string;
  readonly message: string;
  readonly hint: string | null;
  readonly problems: readonly Problem[];
}

/** Classes whatever was thrown. What we did not raise on purpose is a failure, and keeps its message. */
export function failureOf(error: unknown): Failure {
  const known = error instanceof SignalhouseError ? error : undefined;
  return {
    exitCode: known?.exitCode ?? ExitCode.failed,
    name: error instanceof Error ? error.name : 'Error',
    message: messageOf(error),
    hint:
      known?.hint ??
      (known ? null : 'This was not foreseen: SIGNALHOUSE_LOG_LEVEL=debug shows where it happened.'),
    problems: error instanceof UsageError ? error.problems : [],
  };
}

/** The failure as text for people, at most `columns` wide where words allow it. */
export function failureText(failure: Failure, columns: number): string {
  const lines = paragraph(`signalhouse: ${failure.message}`, columns);
  for (const { setting, problem } of failure.problems) {
    lines.push(...indented(`${setting}: ${problem}`, columns));
  }
  if (failure.hint !== null) lines.push(...paragraph(failure.hint, columns));
  return lines.join('\n');
}

function paragraph(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrap(shown(line.replaceAll('\t', '  ')), columns));
}

function indented(text: string, columns: number): string[] {
  return paragraph(text, columns - 4).map((line, index) => (index === 0 ? `  - ${line}` : `    ${line}`));
}
