// Prints the manifests of every organization of a settings file (organizations.yaml, or the file that is named):
//
//   node deploy/kubernetes/organizations/generate.mjs [FILE] | kubectl apply -f -
//
// What a worker needs is in cronjob.yaml and storage.yaml of the folder above; this only gives each organization its own.
// Keys and data directories of the file are of one machine; here, each has a Secret and a volume.
// An organization that was removed from the list keeps its volume: delete what has its label,
//   kubectl -n signalhouse delete cronjob,pvc,configmap -l signalhouse.dev/organization=NAME
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

const namespace = 'signalhouse';
const label = 'signalhouse.dev/organization';
const shared = 'signalhouse-organizations';

// The program's own schema, as npm ci builds it. signalhouse config check FILE finds the same.
const built = new URL('../../../dist/', import.meta.url);
const from = (/** @type {string} */ path) => import(new URL(path, built).href);
/** @type {[typeof import('../../../src/config/organizations.js'), typeof import('../../../src/serve/schedule/job.js'), typeof import('../../../src/base/errors.js')]} */
const [{ readOrganizations }, { jobProblems }, { problemText, UsageError }] = await Promise.all([
  from('config/organizations.js'),
  from('serve/schedule/job.js'),
  from('base/errors.js'),
]);

/** @typedef {import('../../../src/config/organizations.js').Organizations} List */
/** @typedef {List['organizations'][number]} Organization */

/** @param {string} name */
const template = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** The manifests of a list, as it is written in YAML. Throws a UsageError with every problem. @param {string} yaml */
export function manifestsOf(yaml, name = 'organizations.yaml') {
  const list = readOrganizations(yaml, name, jobProblems);
  const ofOne = (/** @type {Organization} */ one) => {
    const own = settingsOf(one, list);
    return [volumeClaim(one), ...(own ? [configMap(own)] : []), cronJob(one, list, own !== null)];
  };
  const ofAll = ['namespace.yaml', 'networkpolicy.yaml'].map((file) => inNamespace(parse(template(file))));
  return [...ofAll, sharedConfigMap(list), ...list.organizations.flatMap(ofOne)];
}

/** A Namespace is in none. @param {any} manifest */
function inNamespace({ metadata, ...manifest }) {
  return { ...manifest, metadata: manifest.kind === 'Namespace' ? metadata : { ...metadata, namespace } };
}

/** @param {string} time */
function minutesOf(time) {
  const [hours, minutes] = time.split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}

/** Settings without what a pod has of its own. @param {Record<string, any>} settings */
function forPods({ dataDir: _, api, ...settings }) {
  const { keyFile: __, ...rest } = api ?? {};
  return Object.keys(rest).length === 0 ? settings : { api: rest, ...settings };
}

/** The ConfigMap of one with settings of its own; null for one that only inherits. @param {Organization} organization @param {List} list */
function settingsOf({ name, own }, { settings }) {
  const differs = forPods(own);
  if (Object.keys(differs).length === 0) return null;
  // A list of one: what it says of itself comes before the environment of all.
  const file = { ...forPods(settings), organizations: [{ name, dataDir: '/data', ...differs }] };
  return { name: `signalhouse-${name}`, labels: labelsOf(name), data: { 'settings.yaml': stringify(file) } };
}

/** @param {List} list */
function sharedConfigMap({ environment, settings, lakeSecret }) {
  const lake = {
    AWS_ACCESS_KEY_ID_FILE: '/run/secrets/lake/access-key-id',
    AWS_SECRET_ACCESS_KEY_FILE: '/run/secrets/lake/secret-access-key',
  };
  const data = {
    SIGNALHOUSE_CONFIG: '/etc/signalhouse/settings.yaml',
    SIGNALHOUSE_API_KEY_FILE: '/run/secrets/signalhouse/api-key',
    ...(lakeSecret !== undefined && lake),
    ...environment,
    'settings.yaml': stringify(forPods(settings)),
  };
  return configMap({ name: shared, data });
}

/** @param {{ name: string, labels?: Record<string, string>, data: Record<string, string> }} of */
function configMap({ name, labels, data }) {
  const metadata = { name, namespace, ...(labels && { labels }) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
}

/** @param {Organization} organization */
function volumeClaim({ name, storage = '10Gi' }) {
  const claim = parse(template('storage.yaml'));
  claim.metadata = { name: `signalhouse-${name}`, namespace, labels: labelsOf(name) };
  claim.spec.resources.requests.storage = storage;
  return claim;
}

/** @param {Organization} organization @param {List} list @param {boolean} hasSettings */
function cronJob(
  { name, secret, memory = '1Gi', schedule, suspend },
  { image, lakeSecret, night },
  hasSettings,
) {
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
    settings: {
      configMap: {
        name: hasSettings ? `signalhouse-${name}` : shared,
        items: [{ key: 'settings.yaml', path: 'settings.yaml' }],
      },
    },
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
  const [file = fileURLToPath(new URL('organizations.yaml', import.meta.url))] = process.argv.slice(2);
  try {
    const manifests = manifestsOf(readFileSync(file, 'utf8'), file);
    process.stdout.write(manifests.map((one) => stringify(one)).join('---\n'));
  } catch (error) {
    const problems =
      error instanceof UsageError ? error.problems.map((one) => `\n  - ${problemText(one)}`) : [];
    process.stderr.write(`${error instanceof Error ? error.message : error}${problems.join('')}\n`);
    process.exitCode = error instanceof UsageError ? error.exitCode : 1;
  }
}
