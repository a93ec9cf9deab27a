import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

/** What scripts/lake-services.sh started for this run of the tests. Empty texts are what could not be started. */
export interface LakeServices {
  /** The folder with DuckDB's extensions. */
  readonly extensions: string;
  /** A Python with pyiceberg. */
  readonly python: string;
  /** Addresses: of the object store and the Iceberg catalog. */
  readonly s3: string;
  readonly catalog: string;
  readonly warehouse: string;
  readonly keyId: string;
  readonly secretKey: string;
  /** Where Spark and Trino are, and the Java of each; only with LAKE_ENGINES. */
  readonly engines: { readonly cache: string; readonly sparkJava: string; readonly trinoJava: string };
  /** What could not be installed or started, one sentence each. */
  readonly missing: readonly string[];
}

declare module 'vitest' {
  interface ProvidedContext {
    lakeServices: LakeServices;
  }
}

const script = fileURLToPath(new URL('../../../scripts/lake-services.sh', import.meta.url));

export default function startServices(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'signalhouse-lake-'));
  const run = (action: string) =>
    spawnSync('bash', [script, action, folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const { status, stdout } = run('up');
  if (status !== 0) {
    run('down');
    throw new Error(`scripts/lake-services.sh up ended with ${status}`);
  }
  const values = Object.fromEntries(
    [...stdout.matchAll(/^(\w+)='(.*)'$/gm)].map(([, name, value]) => [name, value]),
  );
  const of = (name: string) => values[name] ?? '';
  const missing = of('LAKE_MISSING').split(';').filter(Boolean);
  for (const one of missing)
    process.stderr.write(`SKIPPED: the tests of a lake that need what is missing here: ${one}\n`);
  project.provide('lakeServices', {
    extensions: of('LAKE_EXTENSIONS'),
    python: of('LAKE_PYTHON'),
    s3: of('LAKE_S3'),
    catalog: of('LAKE_CATALOG'),
    warehouse: of('LAKE_WAREHOUSE'),
    keyId: of('AWS_ACCESS_KEY_ID'),
    secretKey: of('AWS_SECRET_ACCESS_KEY'),
    engines: { cache: of('LAKE_CACHE'), sparkJava: of('LAKE_SPARK_JAVA'), trinoJava: of('LAKE_TRINO_JAVA') },
    missing,
  });
  return () => void run('down');
}
