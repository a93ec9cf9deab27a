import type { Problem } from '../base/errors.js';
import type { Settings } from '../config/schema.js';
import { privacyProblems } from '../privacy/policy.js';

/** What is wrong in a settings file and no schema can find: for every command, so it loads nothing else. */

export { jobProblems } from '../serve/schedule/job.js';

/** What is wrong with what published files leave out and mask. */
export function publishProblems(
  publish: Settings['publish'],
  named: (path: string) => string,
): readonly Problem[] {
  return [
    ...privacyProblems(publish, (path) => named(`publish.${path}`)),
    ...publish.also.flatMap((one, index) =>
      privacyProblems(one, (path) => named(`publish.also[${index}].${path}`)),
    ),
  ];
}
