import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { manifestsOf } from '../../deploy/kubernetes/organizations/generate.mjs';
import { problemText, type UsageError } from '../../src/base/errors.js';
import { flagsOf } from '../../src/cli/flags.js';
import { isGroup } from '../../src/commands/command.js';
import { commands } from '../../src/commands/index.js';
import { loadConfigWithCredentials, loadServeConfig } from '../../src/config/load.js';
import { organizationsProblems } from '../../src/config/organizations.js';
import { settings } from '../../src/config/schema.js';
import { jobProblems } from '../../src/serve/schedule/job.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = `${root}deploy/kubernetes/`;
const text = (path: string) => readFileSync(path, 'utf8');

interface Resource {
  readonly kind: string;
  readonly metadata: { name: string };
  readonly data?: Record<string, string>;
  readonly resources?: string[];
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is what it is.
  readonly spec: any;
}

const files = readdirSync(folder, { withFileTypes: true }).filter((one) => one.isFile());
const manifests = files.flatMap(({ name }) =>
  parseAllDocuments(text(folder + name)).map((document) => document.toJS() as Record<string, unknown>),
);
const resources = manifests as unknown as Resource[];
const the = (kind: string): Resource => {
  const found = resources.find((one) => one.kind === kind);
  if (!found) throw new Error(`there is no ${kind}`);
  return found;
};
const cronJob = the('CronJob').spec;
const pods = [cronJob.jobTemplate.spec.template.spec, the('Deployment').spec.template.spec];

const units = `${root}deploy/systemd/`;
const services = ['-sync', '-serve', '@'].map((name) => text(`${units}signalhouse${name}.service`));
const compose = parse(text(`${root}compose.yaml`), { merge: true }).services;

const list = text(`${folder}organizations/organizations.yaml`);
// biome-ignore lint/suspicious/noExplicitAny: a manifest is what it is.
const made: any[] = manifestsOf(list);
const ofKind = (kind: string) => made.filter((one) => one.kind === kind);

/** Each command line of a file in deploy. */
const commandLines: string[] = [
  ...pods.map(({ containers }) => containers[0].args.join(' ')),
  ...Object.values<{ command: string[] }>(compose).map(({ command }) => command.join(' ')),
  ...ofKind('CronJob').map(({ spec }) => spec.jobTemplate.spec.template.spec.containers[0].args.join(' ')),
  ...services.map((service) => /^ExecStart=\/usr\/local\/bin\/signalhouse (.*)$/m.exec(service)?.[1] ?? ''),
];

it.each(commandLines)('signalhouse %s is a command that there is, with its flags', async (line) => {
  const [name, ...args] = line.split(' ');
  const command = commands.find((one) => one.name === name);
  expect(command?.name).toBe(name);
  const options = command && !isGroup(command) ? flagsOf(await command.load()) : [];
  const flags = args.filter((one) => one.startsWith('--') && one !== '--organization');
  for (const flag of flags) expect(options).toContain(flag.slice(2));
});

it('each has the time to end a run, and the memory that it needs', () => {
  const seconds = settings.parse({}).shutdownSeconds + 10;
  for (const { containers, terminationGracePeriodSeconds: grace } of pods)
    expect([grace > seconds, containers[0].resources.limits.memory]).toEqual([true, '1Gi']);
  const sandbox = text(`${units}signalhouse-.service.d/sandbox.conf`);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(sandbox)?.[1])).toBeGreaterThan(seconds);
  expect(Number.parseInt(compose.worker.stop_grace_period, 10)).toBeGreaterThan(seconds);
  const [, credential] = /^LoadCredential=([^:]+):/m.exec(sandbox) ?? [];
  expect(sandbox).toContain(`\nEnvironment=SIGNALHOUSE_API_KEY_FILE=%d/${credential}\n`);
});

/**
 * Every field that Kubernetes knows of what deploy/kubernetes uses, and no other: the definitions of its OpenAPI document in the
 * strict form, as the package kubernetes-validate 1.37.0 has them (v1.37.0-local-strict), without descriptions.
 */
const { definitions } = JSON.parse(text(`${root}test/support/kubernetes-schema.json`)) as {
  definitions: Record<
    string,
    { 'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[] }
  >;
};
const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema({ $id: 'kubernetes', definitions });

/** What is wrong with a resource by the schema of Kubernetes. */
function schemaProblems({ apiVersion, kind, ...rest }: Record<string, unknown>): unknown {
  const [name] =
    Object.entries(definitions).find(([, schema]) =>
      schema['x-kubernetes-group-version-kind']?.some(
        (one) => one.kind === kind && [one.group, one.version].filter(Boolean).join('/') === apiVersion,
      ),
    ) ?? [];
  if (name === undefined) return `${apiVersion} ${kind} is not in the schema`;
  const validate = ajv.getSchema(`kubernetes#/definitions/${name}`);
  return validate?.({ apiVersion, kind, ...rest }) ? null : validate?.errors;
}

it.each([...manifests.filter(({ kind }) => kind !== 'Kustomization'), ...made])(
  'the $kind $metadata.name has the form that Kubernetes knows',
  (manifest) => expect(schemaProblems(manifest)).toBeNull(),
);

it('what kubectl applies has no Secret, which would replace the real key', () => {
  const { resources: applied = [] } = the('Kustomization');
  const kinds = applied.flatMap((name) =>
    parseAllDocuments(text(folder + name)).map((one) => one.get('kind')),
  );
  expect(kinds).toContain('CronJob');
  expect(manifests.map(({ kind }) => kind)).not.toContain('Secret');
});

it('two nights never overlap, and one is not cut off', () => {
  expect(cronJob.concurrencyPolicy).toBe('Forbid');
  expect(cronJob.jobTemplate.spec.activeDeadlineSeconds).toBeGreaterThan(50 * 60 + 600);
  expect(the('Deployment').spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
});

it('the settings of the ConfigMaps are settings', () => {
  const { 'settings.yaml': yaml = '', ...env } = the('ConfigMap').data ?? {};
  for (const one of [yaml, ofKind('ConfigMap')[0].data['settings.yaml']])
    expect(() => settings.parse(parse(one))).not.toThrow();
  const { config } = loadServeConfig(
    { env: { ...env, SIGNALHOUSE_CONFIG: '', SIGNALHOUSE_API_KEY: 'svc_key' } },
    () => [],
  );
  expect(config.serve.port).toBe(the('Service').spec.ports[0].port);
});

describe('many organizations', () => {
  it('each has a CronJob with a volume and a Secret of its own, at a time of its own', () => {
    const { organizations } = parse(list);
    const jobs = ofKind('CronJob');
    const names = organizations.map(({ name }: { name: string }) => `signalhouse-${name}`);
    expect(jobs.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(ofKind('PersistentVolumeClaim').map(({ metadata }) => metadata.name)).toEqual(names);
    const used = jobs.map(({ metadata, spec }) => {
      expect(spec.schedule).toMatch(/^\d+ \d+ \* \* \*$/);
      expect(spec.concurrencyPolicy).toBe('Forbid');
      const { metadata: pod, spec: podSpec } = spec.jobTemplate.spec.template;
      expect(pod.labels['signalhouse.dev/organization']).toBe(metadata.labels['app.kubernetes.io/instance']);
      const [data, , , secrets] = podSpec.volumes;
      return [data.persistentVolumeClaim.claimName, secrets.secret.secretName];
    });
    expect(used.map(([claim]) => claim)).toEqual(names);
    expect(new Set(used.map(([, secret]) => secret)).size).toBe(used.length);
    expect(new Set(jobs.map(({ spec }) => spec.schedule)).size).toBe(jobs.length);
  });

  it('one that is added changes nothing for the others', () => {
    const more = parse(list);
    more.organizations.unshift({ name: 'umbrella' });
    const texts = manifestsOf(stringify(more)).map((one) => stringify(one));
    const before = made.map((one) => stringify(one));
    expect(texts).toEqual(expect.arrayContaining(before));
    expect(texts.length).toBe(before.length + 2);
  });

  it('takes the file of one machine: what differs for one is in its own ConfigMap, without keys and folders', () => {
    const file = {
      image: 'signalhouse:1',
      dataDir: '/srv/signals',
      sync: { recheck: 2 },
      api: { baseUrl: 'https://api.example.com/v1', keyFile: '/etc/keys/all' },
      organizations: [
        { name: 'acme', api: { keyFile: '/etc/keys/acme' } },
        { name: 'globex', dataDir: '/srv/globex', rateLimit: { requests: 60 }, api: { keyFile: '/k' } },
      ],
    };
    const [, , all, , acme, , own, globex] = manifestsOf(stringify(file));
    expect(parse(all.data['settings.yaml'])).toEqual({
      api: { baseUrl: 'https://api.example.com/v1' },
      sync: { recheck: 2 },
    });
    const namesOf = (job: typeof globex) => job.spec.jobTemplate.spec.template.spec.volumes[2].configMap.name;
    expect([acme, globex].map(namesOf)).toEqual(['signalhouse-organizations', own.metadata.name]);
    expect(schemaProblems(own)).toBeNull();
    const configFile = join(mkdtempSync(join(tmpdir(), 'signalhouse-')), 'settings.yaml');
    writeFileSync(configFile, own.data['settings.yaml']);
    // The image and the shared ConfigMap set these.
    const env = { SIGNALHOUSE_DATA_DIR: '/data', SIGNALHOUSE_BASE_URL: 'https://api.example.com/v1' };
    const { config } = loadConfigWithCredentials({ configFile, env: { ...env, SIGNALHOUSE_API_KEY: 'k' } });
    expect(config).toMatchObject({ organization: 'globex', dataDir: '/data', rateLimit: { requests: 60 } });
  });

  it.each([
    ['a field that is not one', { organizations: [{ name: 'a', memroy: '2Gi' }] }, 'did you mean memory?'],
    ['a night without an end', { night: { from: '05:00', to: '01:00' } }, 'night'],
    ['a switch that is none', { organizations: [{ name: 'a', suspend: 'no' }] }, 'organizations[0].suspend'],
    ['a size that is none', { organizations: [{ name: 'a', storage: '10 GB' }] }, 'such as 10Gi'],
    ['a schedule in words', { organizations: [{ name: 'a', schedule: 'every day' }] }, 'five fields'],
    ['a schedule of no day', { organizations: [{ name: 'a', schedule: '0 3 31 2 *' }] }, 'impossible day'],
    ['a section that is none', { nigth: {} }, 'nigth (line 19): is not a setting; did you mean night?'],
    ['no image', { image: undefined }, 'image: is required'],
  ])('%s is refused', (_, change, problem) => {
    const yaml = stringify({ ...parse(list), ...change });
    expect(textsOf(() => manifestsOf(yaml))).toContainEqual(expect.stringContaining(problem));
    if (!('image' in change))
      expect(organizationsProblems(yaml, 'x', { checkJobs: jobProblems })).not.toEqual([]);
  });

  function textsOf(work: () => unknown): string[] {
    try {
      work();
    } catch (error) {
      return (error as UsageError).problems.map(problemText);
    }
    return [];
  }
});

it('nothing that builds or checks the program moves by itself: base image and actions have exact versions', () => {
  const [, image] = /^ARG BASE=(\S+)$/m.exec(text(`${root}Dockerfile`)) ?? [];
  expect(image).toMatch(/^docker\.io\/library\/node:\d+\.\d+\.\d+-bookworm-slim(@sha256:[0-9a-f]{64})?$/);
  // The Node that developers, CI and the image use is one line.
  expect(image).toMatch(new RegExp(`node:${text(`${root}.nvmrc`).trim()}\\.`));
  const uses = text(`${root}.github/workflows/ci.yml`).match(/uses: .*/g) ?? [];
  expect(uses.length).toBeGreaterThan(0);
  for (const line of uses) expect(line).toMatch(/^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});
