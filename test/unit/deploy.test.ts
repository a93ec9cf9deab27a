import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { isGroup } from '../../src/cli/command.js';
import { commands } from '../../src/cli/commands/index.js';
import { loadServeConfig } from '../../src/config/load.js';
import { settings } from '../../src/config/schema.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = `${root}deploy/kubernetes/`;
const text = (path: string) => readFileSync(path, 'utf8');

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly containers: {
    readonly args: string[];
    readonly envFrom: object[];
    readonly env?: { name: string; value: string }[];
    readonly resources: { limits: { memory: string } };
    readonly securityContext: object;
    readonly volumeMounts: { name: string; mountPath: string }[];
  }[];
  readonly volumes: { name: string }[];
}
interface Resource {
  readonly kind: string;
  readonly metadata: { name: string };
  readonly data?: Record<string, string>;
  readonly resources?: string[];
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is what it is.
  readonly spec: any;
}

const resources = readdirSync(folder).flatMap((name) =>
  parseAllDocuments(text(folder + name)).map((document) => document.toJS() as Resource),
);
const the = (kind: string): Resource => {
  const found = resources.find((one) => one.kind === kind);
  if (!found) throw new Error(`there is no ${kind}`);
  return found;
};
const cronJob = the('CronJob').spec;
const pods: [string, Pod][] = [
  ['CronJob', cronJob.jobTemplate.spec.template.spec],
  ['Deployment', the('Deployment').spec.template.spec],
];

/** A command line as a container is given it. */
function expectKnown([name, ...args]: readonly string[]): void {
  const command = commands.find((one) => one.name === name);
  expect(command?.name).toBe(name);
  const options = command && !isGroup(command) ? Object.keys(command.options ?? {}) : [];
  for (const flag of args.filter((one) => one.startsWith('--'))) expect(options).toContain(flag.slice(2));
}

describe.each(pods)('the pod of the %s', (_, pod) => {
  const [container] = pod.containers;

  it('is nobody in particular, and writes to its volumes alone', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(container?.securityContext).toEqual({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
    const volumes = pod.volumes.map(({ name }) => name);
    expect(container?.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.sort());
    expect(container?.volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
  });

  it('runs a command that there is, and has the time to end it', () => {
    expectKnown(container?.args ?? []);
    const { serve, sync } = settings.parse({});
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(serve.shutdownSeconds + 10);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(sync.shutdownSeconds + 10);
    expect(container?.resources.limits.memory).toBe('1Gi');
  });
});

it('two nights never overlap, and one is not cut off', () => {
  expect(cronJob.concurrencyPolicy).toBe('Forbid');
  expect(cronJob.jobTemplate.spec.activeDeadlineSeconds).toBeGreaterThan(50 * 60 + 600);
  expect(the('Deployment').spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
});

it('the settings of the ConfigMap are settings', () => {
  const { 'settings.yaml': yaml = '', ...env } = the('ConfigMap').data ?? {};
  expect(() => settings.parse(parse(yaml))).not.toThrow();
  const { config } = loadServeConfig(
    { env: { ...env, SIGNALHOUSE_CONFIG: '', SIGNALHOUSE_API_KEY: 'svc_key' } },
    () => [],
  );
  expect(config.serve.port).toBe(the('Service').spec.ports[0].port);
});

it('every file is named where they are applied together', () => {
  const named = text(`${folder}kustomization.yaml`);
  for (const name of readdirSync(folder).filter((one) => one !== 'kustomization.yaml'))
    expect(named).toContain(name);
});

it('compose.yaml runs commands that there are, each on a read-only tree', () => {
  const { services } = parse(text(`${root}compose.yaml`), { merge: true });
  for (const service of Object.values(services) as Record<string, unknown>[]) {
    expectKnown(service.command as string[]);
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'] });
  }
  expect(Object.keys(services)).toEqual(['worker', 'sandbox']);
  expect(services.worker.stop_grace_period).toBe('40s');
  expect(services.sandbox.profiles).toEqual(['sandbox']);
});
