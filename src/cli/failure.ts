import { ExitCode, messageOf, problemText, SignalhouseError, UsageError } from '../base/errors.js';
import { printable, wrap } from '../view/text.js';

/** An error as a command reports it: what happened, what to do next, and every problem. */
export type ReportedError = ReturnType<typeof reported>;

/** Classifies anything thrown. An error that is not a SignalhouseError is a failure and keeps its message. */
export function reported(error: unknown) {
  const expected = error instanceof SignalhouseError ? error : undefined;
  return {
    exitCode: expected?.exitCode ?? ExitCode.failed,
    name: error instanceof Error ? error.name : 'Error',
    message: messageOf(error),
    hint:
      expected?.hint ??
      (expected
        ? null
        : 'Unexpected error: run the command with SIGNALHOUSE_LOG_LEVEL=debug to see where it happened.'),
    problems: error instanceof UsageError ? error.problems : [],
  };
}

/** The failure as text for people, at most `columns` wide where words allow it. `who` says whose error it is. */
export function errorText(failure: ReportedError, columns: number, who = 'signalhouse: '): string {
  const lines = paragraph(`${who}${failure.message}`, columns);
  for (const problem of failure.problems) {
    const [first, ...more] = paragraph(problemText(problem), columns - 4);
    lines.push(`  - ${first}`, ...more.map((line) => `    ${line}`));
  }
  if (failure.hint !== null) lines.push(...paragraph(failure.hint, columns));
  return lines.join('\n');
}

/** Text of several lines, each at most `columns` wide. */
function paragraph(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrap(printable(line.replaceAll('\t', '  ')), columns));
}
