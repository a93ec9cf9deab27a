import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { closestMatch } from '../base/closest.js';
import { type Problem, UsageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import { type Settings, settings, text, timeOfDay } from './schema.js';
import { parseSettings, schemaProblems, valueAt, withoutEmpty } from './settings-file.js';

/**
 * A settings file with `organizations:`, a list of what differs for each; everything else is inherited from the top of the
 * file. The same file feeds Kubernetes: deploy/kubernetes/organizations/generate.mjs makes a CronJob of each entry.
 */

type Values = Record<string, unknown>;

const quantity = z
  .string()
  .regex(/^\d+(\.\d+)?([KMGTP]i|[kMGTP])?$/, 'must be a quantity of Kubernetes such as 10Gi');
const objectName = text.regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be the name of a Secret');

// signalhouse-NAME is the name of a CronJob, which has at most 52 characters.
const validName = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;
const name = z.string().superRefine((given, { addIssue }) => {
  if (validName.test(given)) return;
  const guess = given
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '');
  const meant = guess === '' ? '' : `; did you mean ${guess}?`;
  addIssue({
    code: 'custom',
    message: `must have lowercase letters, digits and - between them, at most 40${meant}`,
  });
});

/** The settings are checked after they are merged; here they only are names. */
const anySetting = Object.fromEntries(
  Object.keys(settings.shape).map((key) => [key, z.unknown().optional()]),
);

/** Settings of an entry for Kubernetes alone. */
const forCronJob = {
  secret: objectName.optional(),
  storage: quantity.optional(),
  memory: quantity.optional(),
  schedule: text.regex(/^(\S+\s+){4}\S+$/, 'must have five fields, such as "30 6 * * *"').optional(),
  suspend: z.boolean().optional(),
};
const entry = z.strictObject({ name, ...forCronJob, ...anySetting });

/** Settings of the file for Kubernetes alone. */
const forKubernetes = {
  image: text.optional(),
  // A ConfigMap has texts only.
  environment: z.record(text, z.union([z.string(), z.number(), z.boolean()]).transform(String)).default({}),
  lakeSecret: objectName.optional(),
  night: z
    .strictObject({ from: timeOfDay, to: timeOfDay })
    .refine(({ from, to }) => from < to, { message: 'from must be a time before to' })
    .default({ from: '01:00', to: '05:00' }),
};
const list = z.strictObject({
  ...forKubernetes,
  ...anySetting,
  organizations: z
    .array(entry)
    .min(1, 'must name at least one organization')
    .superRefine((all, { addIssue }) => {
      for (const [index, { name }] of all.entries())
        if (all.findIndex((one) => one.name === name) < index)
          addIssue({
            code: 'custom',
            path: [index, 'name'],
            message: `there are two of this name; give each its own, such as ${name}-${index + 1}`,
          });
    }),
});

/** Settings of the process that serves all organizations, which cannot differ. */
const ofTheService = ['host', 'port', 'allowedHosts', 'users', 'proxies', 'userHeader', 'parallel'];

export interface Organization {
  readonly name: string;
  readonly index: number;
  /** The settings that differ, as they are written. */
  readonly own: Values;
}

/** A list, taken apart. */
export interface Listed {
  readonly organizations: readonly Organization[];
  /** The settings that all inherit: those at the top of the file. */
  readonly shared: Values;
  readonly problems: readonly Problem[];
}

/** Takes a list apart. Its problems have their path in the file as the name of the setting. */
export function listedIn(values: Values): Listed {
  const parsed = list.safeParse(values, { reportInput: true });
  const problems = parsed.error ? schemaProblems(list, parsed.error.issues, (path) => path) : [];
  const written = Array.isArray(values.organizations) ? values.organizations : [];
  const organizations = written.flatMap((one, index): Organization[] =>
    isObject(one) && typeof one.name === 'string'
      ? [{ name: one.name, index, own: withoutEmpty(settingsIn(one)) }]
      : [],
  );
  for (const { own, index } of organizations)
    for (const key of isObject(own.serve) ? Object.keys(own.serve) : [])
      if (ofTheService.includes(key))
        problems.push({
          setting: `organizations[${index}].serve.${key}`,
          problem: 'is for the whole service; move it to the top of the file',
        });
  return { organizations, shared: settingsIn(values), problems };
}

/** The settings among the values. */
export function settingsIn(values: object): Values {
  return Object.fromEntries(Object.entries(values).filter(([key]) => key in settings.shape));
}

/** `over` over `base`: sections are merged, everything else is replaced. */
export function merged(base: Values, over: Values): Values {
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isObject(below) && isObject(value) ? merged(below, value) : value;
  }
  return result;
}

/** The settings of one organization; `shared` may have been changed by variables and flags. */
export function settingsOf({ name, own }: Organization, shared: Values): Values {
  const base = typeof shared.dataDir === 'string' ? shared.dataDir : './data';
  return merged(merged(shared, { dataDir: join(base, name) }), own);
}

/** Where in the file a setting of an organization is written: in its entry, or where all inherit it from. */
export function placeOf({ index, own }: Organization, { shared }: Listed, path: string): string {
  const places: readonly (readonly [string, Values])[] = [
    [`organizations[${index}].`, own],
    ['', shared],
  ];
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  const depths = places.map(([, values]) => {
    const missing = steps.findIndex((_, at) => valueAt(values, steps.slice(0, at + 1)) === undefined);
    return missing < 0 ? steps.length : missing;
  });
  const deepest = Math.max(...depths);
  return deepest === 0 ? path : `${places[depths.indexOf(deepest)]?.[0] ?? ''}${path}`;
}

/** Two that would write into the same directory. `shared` has the base of those that name none. */
export function directoryProblems({ organizations }: Listed, shared: Values, cwd: string): Problem[] {
  const taken = new Map<string, string>();
  return organizations.flatMap((one): Problem[] => {
    const { dataDir } = settingsOf(one, shared);
    if (typeof dataDir !== 'string') return [];
    const path = realPath(resolve(cwd, dataDir));
    const other = taken.get(path);
    taken.set(path, other ?? one.name);
    if (other === undefined || other === one.name) return [];
    const own = settingsOf({ ...one, own: {} }, shared).dataDir;
    const advice =
      one.own.dataDir === undefined ? `give ${other} another dataDir` : `leave it out for ${own}`;
    const setting = `organizations[${one.index}].${one.own.dataDir === undefined ? 'name' : 'dataDir'}`;
    return [{ setting, problem: `${dataDir} is the data directory of ${other} already; ${advice}` }];
  });
}

/**
 * Two that would use one key: each would have the data of the same organization, and a budget of its own for the one that the
 * key has. `variables` are those of the environment, for all that name no file; `keyIn` reads a file, undefined where it cannot.
 */
export function keyProblems(
  { organizations, shared }: Listed,
  variables: { readonly key: string | undefined; readonly keyFile: string | undefined },
  keyIn: (file: string) => string | undefined,
): Problem[] {
  const setting = (own: Values, name: string, over?: string) => {
    const value = valueAt(own, ['api', name]) ?? over ?? valueAt(shared, ['api', name]);
    return typeof value === 'string' ? value : undefined;
  };
  const fileOf = ({ own }: Organization) => setting(own, 'keyFile', variables.keyFile);
  const keyOf = (one: Organization) => {
    const file = fileOf(one);
    const key = file === undefined ? variables.key : (keyIn(file) ?? file);
    // A service at another address has organizations of its own; the variable is for one address.
    const address = setting(file === undefined ? {} : one.own, 'baseUrl');
    return JSON.stringify([key ?? null, address ?? null]);
  };
  const byKey = [...groupBy(organizations, keyOf).values()].filter((ofOne) => ofOne.length > 1);
  return byKey.flatMap((ofOne) => {
    const files = [...new Set(ofOne.map(fileOf))];
    const names = ofOne.map(({ name }) => name).join(', ');
    const why =
      variables.key === undefined
        ? 'each organization has a key of its own'
        : `SIGNALHOUSE_API_KEY is the key of one organization, and ${ofOne.length} have no other`;
    const what =
      files.length > 1
        ? `${files.map((file) => file ?? 'SIGNALHOUSE_API_KEY').join(' and ')} hold the same key: it`
        : files[0];
    const problem =
      what === undefined
        ? `is required: ${why}`
        : `${what} is the key of one organization, and several use it: ${names}`;
    return ofOne.map(({ index }) => ({ setting: `organizations[${index}].api.keyFile`, problem }));
  });
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * The organization that was asked for, or the only one of the list. Undefined without a list, and where it is not clear which
 * one is meant: then `problems` says why.
 */
export function chosenFrom(
  listed: Listed | undefined,
  asked: string | undefined,
  problems: Problem[],
): Organization | undefined {
  const refuse = (problem: string): undefined => {
    problems.push({ setting: '--organization', problem });
  };
  if (!listed) {
    if (asked === undefined) return undefined;
    return refuse('the settings file has no organizations; leave this out, or add the list');
  }
  const { organizations } = listed;
  const [first] = organizations;
  // An empty list is reported already.
  if (first === undefined || (asked === undefined && organizations.length === 1)) return first;
  const names = organizations.map((one) => one.name);
  const all = `one of ${names.join(', ')}`;
  if (asked === undefined) return refuse(`is required: ${all}`);
  const guess = closestMatch(asked, names);
  const meant = guess === undefined ? '' : `; did you mean ${guess}?`;
  const found = organizations.find((one) => one.name === asked);
  return found ?? refuse(`${JSON.stringify(asked)} is not ${all}${meant}`);
}

/** Checks that a schema cannot express. `named` tells how the user gave a setting. */
export interface Checks {
  /** In jobs, as they are written at `prefix`, such as a schedule without a date. */
  readonly checkJobs?: ((jobs: readonly unknown[], prefix: string) => readonly Problem[]) | undefined;
  /** In what published files leave out and mask, such as a column that does not exist. */
  readonly checkPublish?:
    | ((publish: Settings['publish'], named: (path: string) => string) => readonly Problem[])
    | undefined;
}

/** The settings, where the schema accepts them, and what is wrong with them. */
export function checkedSettings(
  values: Values,
  named: (path: string) => string,
  { checkJobs, checkPublish }: Checks,
): { readonly data: Settings | undefined; readonly problems: Problem[] } {
  const { data, error } = settings.safeParse(values, { reportInput: true });
  const problems = error ? schemaProblems(settings, error.issues, named) : [];
  const jobs = valueAt(values, ['serve', 'jobs']);
  if (checkJobs && Array.isArray(jobs)) {
    const told = new Set(problems.map(({ setting }) => setting));
    const found = checkJobs(jobs, named('serve.jobs'));
    problems.push(...found.filter(({ setting }) => !told.has(setting)));
  }
  const publish = settings.shape.publish.safeParse(values.publish).data;
  if (checkPublish && publish) problems.push(...checkPublish(publish, named));
  return { data, problems };
}

/** A list as Kubernetes needs it. */
export type Organizations = Pick<z.output<typeof list>, 'environment' | 'lakeSecret' | 'night'> & {
  readonly image: string;
  /** As they are written, without defaults. */
  readonly settings: Values;
  readonly organizations: readonly (z.output<z.ZodObject<typeof forCronJob>> & Organization)[];
};

/** Reads a list for Kubernetes. `name` is the name of its file. Throws a UsageError with every problem, each with its line. */
export function readOrganizations(
  source: string,
  name: string,
  checkJobs?: Checks['checkJobs'],
): Organizations {
  const problems = organizationsProblems(source, name, { checkJobs });
  const written = parseSettings(source, name).value;
  const { image } = isObject(written) ? written : {};
  if (problems.length === 0 && image === undefined)
    problems.push({ setting: `${name}: image`, problem: 'is required: the image that the CronJobs run' });
  if (problems.length > 0) throw new UsageError('The list of organizations is wrong.', problems);
  const values = written as Values;
  const { organizations, shared } = listedIn(values);
  const parsed = list.parse(values);
  return {
    ...parsed,
    image: String(image),
    settings: shared,
    organizations: organizations.map((one) => ({ ...parsed.organizations[one.index], ...one })),
  };
}

/** The problems of a list. */
export function organizationsProblems(source: string, name: string, checks: Checks): Problem[] {
  const file = parseSettings(source, name);
  if (file.problems.length > 0) return [...file.problems];
  const values = isObject(file.value) ? file.value : {};
  const listed = listedIn(values);
  const problems = [...listed.problems, ...directoryProblems(listed, listed.shared, '/')];
  // Without a valid list, the shared settings are checked alone.
  const entries = listed.organizations.length > 0 ? listed.organizations : [{ name: '', index: 0, own: {} }];
  for (const one of entries) {
    const own = settingsOf(one, listed.shared);
    const named = (path: string) => placeOf(one, listed, path);
    // Unknown settings are reported above.
    problems.push(...checkedSettings(own, named, checks).problems);
    const schedule = valueAt(values, ['organizations', one.index, 'schedule']);
    const found = typeof schedule === 'string' ? (checks.checkJobs?.([{ cron: schedule }], '') ?? []) : [];
    const setting = `organizations[${one.index}].schedule`;
    problems.push(...found.map(({ problem }) => ({ setting, problem })));
  }
  const told = new Map(problems.map((one) => [`${one.setting}: ${one.problem}`, one]));
  return [...told.values()].map((one) => {
    const setting = one.setting === '' ? name : `${name}: ${one.setting}`;
    return { ...one, setting, line: file.lineOf(one.setting) };
  });
}
