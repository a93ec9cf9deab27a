// Prints the manifests of every organization in organizations.yaml (or in the file that is named):
//
//   node deploy/kubernetes/organizations/generate.mjs [FILE] | kubectl apply -f -
//
// What a worker needs is in cronjob.yaml and storage.yaml of the folder above; this only gives each organization its own.
// An organization that was removed from the list keeps its volume: delete what has its label,
//   kubectl -n signalhouse delete cronjob,pvc -l signalhouse.dev/organization=NAME
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

const namespace = 'signalhouse';
const label = 'signalhouse.dev/organization';
const shared = 'signalhouse-organizations';
const known = ['name', 'secret', 'storage', 'memory', 'schedule', 'suspend'];

/**
 * @typedef {{ name: string, secret?: string, storage?: string, memory?: string, schedule?: string, suspend?: boolean }} Organization
 * @typedef {{ image: string, environment: Record<string, string>, settings: object, lakeSecret?: string,
 *   night: { from: string, to: string }, organizations: Organization[] }} List
 */

/** @param {string} name */
const template = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** The manifests of a list, as it is written in YAML. Throws an Error that names every wrong entry. @param {string} yaml */
export function manifestsOf(yaml) {
  const list = /** @type {List} */ (parse(yaml));
  const problems = problemsOf(list);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return [configMap(list), ...list.organizations.flatMap((one) => [volumeClaim(one), cronJob(one, list)])];
}

/** @param {List} list */
function problemsOf({ organizations, night, image }) {
  const problems = [];
  if (typeof image !== 'string') problems.push('image is missing');
  if (!(minutesOf(night?.from) < minutesOf(night?.to)))
    problems.push('night: from must be a time before to, such as 01:00');
  if (!Array.isArray(organizations)) return [...problems, 'organizations is not a list'];
  const seen = new Set();
  for (const [index, one] of organizations.entries()) {
    const where = `organizations[${index}] (${one?.name})`;
    // signalhouse-NAME is the name of a CronJob, which has at most 52 characters.
    if (typeof one?.name !== 'string' || !/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(one.name))
      problems.push(`${where}: name must have lowercase letters, digits and -, at most 40`);
    if (seen.has(one?.name)) problems.push(`${where}: there are two of this name`);
    seen.add(one?.name);
    for (const field of Object.keys(one ?? {}))
      if (!known.includes(field))
        problems.push(`${where}: ${field} is not a field; known are ${known.join(', ')}`);
  }
  return problems;
}

/** @param {string | undefined} time */
function minutesOf(time) {
  const [, hours, minutes] = /^([01]\d|2[0-4]):([0-5]\d)$/.exec(time ?? '') ?? [];
  return hours === undefined ? Number.NaN : Number(hours) * 60 + Number(minutes);
}

/** @param {List} list */
function configMap({ environment, settings, lakeSecret }) {
  const lake = {
    AWS_ACCESS_KEY_ID_FILE: '/run/secrets/lake/access-key-id',
    AWS_SECRET_ACCESS_KEY_FILE: '/run/secrets/lake/secret-access-key',
  };
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: shared, namespace },
    data: {
      SIGNALHOUSE_CONFIG: '/etc/signalhouse/settings.yaml',
      SIGNALHOUSE_API_KEY_FILE: '/run/secrets/signalhouse/api-key',
      ...(lakeSecret !== undefined && lake),
      ...environment,
      'settings.yaml': stringify(settings),
    },
  };
}

/** @param {Organization} organization */
function volumeClaim({ name, storage = '10Gi' }) {
  const claim = parse(template('storage.yaml'));
  claim.metadata = { name: `signalhouse-${name}`, namespace, labels: labelsOf(name) };
  claim.spec.resources.requests.storage = storage;
  return claim;
}

/** @param {Organization} organization @param {List} list */
function cronJob({ name, secret, memory = '1Gi', schedule, suspend }, { image, lakeSecret, night }) {
  const job = parse(template('cronjob.yaml'));
  job.metadata = { name: `signalhouse-${name}`, namespace, labels: labelsOf(name) };
  job.spec.schedule = schedule ?? minuteOf(name, night);
  job.spec.timeZone = 'Etc/UTC';
  if (suspend) job.spec.suspend = true;
  const { metadata, spec } = job.spec.jobTemplate.spec.template;
  metadata.labels = labelsOf(name);
  const [worker] = spec.containers;
  worker.image = image;
  worker.args = [
    'sync',
    '--push',
    ...(lakeSecret === undefined ? [] : ['--lake']),
    '--max-minutes',
    '50',
    '--wait',
  ];
  worker.envFrom = [{ configMapRef: { name: shared } }];
  worker.resources.limits.memory = memory;
  const volumes = {
    data: { persistentVolumeClaim: { claimName: `signalhouse-${name}` } },
    tmp: undefined,
    settings: { configMap: { name: shared, items: [{ key: 'settings.yaml', path: 'settings.yaml' }] } },
    secrets: { secret: { secretName: secret ?? `signalhouse-${name}`, defaultMode: 0o440 } },
  };
  for (const volume of spec.volumes)
    Object.assign(volume, volumes[/** @type {keyof typeof volumes} */ (volume.name)]);
  if (lakeSecret !== undefined) {
    spec.volumes.push({ name: 'lake', secret: { secretName: lakeSecret, defaultMode: 0o440 } });
    worker.volumeMounts.push({ name: 'lake', mountPath: '/run/secrets/lake', readOnly: true });
  }
  return job;
}

/** @param {string} name */
function labelsOf(name) {
  return { 'app.kubernetes.io/name': 'signalhouse', 'app.kubernetes.io/instance': name, [label]: name };
}

/** A minute of the night that follows from the name: an entry that is added moves no other. @param {string} name @param {List['night']} night */
function minuteOf(name, { from, to }) {
  const first = minutesOf(from);
  const hash = createHash('sha256').update(name).digest().readUInt32BE(0);
  const minute = first + (hash % (minutesOf(to) - first));
  return `${minute % 60} ${Math.floor(minute / 60)} * * *`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [file = new URL('organizations.yaml', import.meta.url)] = process.argv.slice(2);
  try {
    const manifests = manifestsOf(readFileSync(file, 'utf8'));
    process.stdout.write(manifests.map((one) => stringify(one)).join('---\n'));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
