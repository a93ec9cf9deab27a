import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

/**
 * A reporter that names every skipped test at the end of a run, and in the file that SKIPPED_TESTS names: a green run must not
 * hide what it left out. Tests that a filter of the command line leaves out were left out on purpose.
 */
export default class NameSkipped implements Reporter {
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#isFiltered) return;
    const lines = modules.flatMap((module) => [...module.children.allTests('skipped')].map(lineOf));
    if (lines.length === 0) return;
    const text = `${lines.join('\n')}\n`;
    process.stdout.write(text);
    if (process.env.SKIPPED_TESTS) appendFileSync(process.env.SKIPPED_TESTS, text);
  }
}

function lineOf(test: TestCase): string {
  const result = test.result();
  const why = result.state === 'skipped' && result.note ? `: ${result.note}` : '';
  return `SKIPPED ${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}${why}`;
}
