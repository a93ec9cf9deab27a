import { z } from 'zod';
import { type Problem, UsageError } from '../base/errors.js';
import { settings, text, timeOfDay } from './schema.js';
import { parseSettings, schemaProblems } from './settings-file.js';

/** The list from which deploy/kubernetes/organizations/generate.mjs makes a CronJob for each organization. */

const quantity = z
  .string()
  .regex(/^\d+(\.\d+)?([KMGTP]i|[kMGTP])?$/, 'must be a quantity of Kubernetes such as 10Gi');
const objectName = text.regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be the name of a Secret');

const organization = z.strictObject({
  // signalhouse-NAME is the name of a CronJob, which has at most 52 characters.
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/, 'must have lowercase letters, digits and -, at most 40'),
  secret: objectName.optional(),
  storage: quantity.optional(),
  memory: quantity.optional(),
  schedule: text.regex(/^(\S+\s+){4}\S+$/, 'must have five fields, such as "30 6 * * *"').optional(),
  suspend: z.boolean().optional(),
});

const list = z.strictObject({
  image: text,
  // A ConfigMap has texts only.
  environment: z.record(text, z.union([z.string(), z.number(), z.boolean()]).transform(String)).default({}),
  settings: settings.optional(),
  lakeSecret: objectName.optional(),
  night: z.strictObject({ from: timeOfDay, to: timeOfDay }).refine(({ from, to }) => from < to, {
    message: 'from must be a time before to',
  }),
  organizations: z.array(organization).superRefine((all, { addIssue }) => {
    for (const [index, { name }] of all.entries())
      if (all.findIndex((one) => one.name === name) < index)
        addIssue({ code: 'custom', path: [index, 'name'], message: 'there are two of this name' });
  }),
});

/** A list of organizations; the settings are those of the file, without defaults. */
export type Organizations = Omit<z.output<typeof list>, 'settings'> & { readonly settings: object };

/** Finds what a schema cannot in the schedule of an organization, such as a date that never occurs. */
type CheckJobs = (jobs: readonly unknown[], prefix: string) => readonly Problem[];

/** Reads a list. `name` is the name of its file. Throws a UsageError with every problem, each with its line. */
export function readOrganizations(source: string, name: string, checkJobs?: CheckJobs): Organizations {
  const problems = organizationsProblems(source, name, checkJobs);
  if (problems.length > 0) throw new UsageError('The list of organizations is wrong.', problems);
  const written = parseSettings(source, name).value as { settings?: object };
  return { ...list.parse(written), settings: written.settings ?? {} };
}

/** What is wrong in a list. */
export function organizationsProblems(source: string, name: string, checkJobs?: CheckJobs): Problem[] {
  const file = parseSettings(source, name);
  if (file.problems.length > 0) return [...file.problems];
  const parsed = list.safeParse(file.value);
  const problems = parsed.error ? schemaProblems(list, parsed.error.issues, (path) => path) : [];
  if (parsed.data && checkJobs) {
    for (const [index, one] of parsed.data.organizations.entries()) {
      const found = one.schedule === undefined ? [] : checkJobs([{ cron: one.schedule }], '');
      const setting = `organizations[${index}].schedule`;
      problems.push(...found.map(({ problem }) => ({ setting, problem })));
    }
    problems.push(...checkJobs(parsed.data.settings?.serve.jobs ?? [], 'settings.serve.jobs'));
  }
  return problems.map((one) => {
    const setting = one.setting === '' ? name : `${name}: ${one.setting}`;
    return { ...one, setting, line: file.lineOf(one.setting) };
  });
}
