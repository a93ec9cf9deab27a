import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const law: { forbidden: { name: string; comment: string }[] } = createRequire(import.meta.url)(
  join(root, '.dependency-cruiser.cjs'),
);

interface Violation {
  from: string;
  rule: { name: string };
}

type Tree = Record<string, string>;

/** What the law says about a tree of its own, with our packages and our package.json. */
async function judge(tree: Tree): Promise<Violation[]> {
  const home = await mkdtemp(join(tmpdir(), 'import-law-'));
  try {
    for (const [path, text] of Object.entries(tree)) {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), text);
    }
    await symlink(join(root, 'node_modules'), join(home, 'node_modules'));
    await copyFile(join(root, 'package.json'), join(home, 'package.json'));
    const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    const config = join(root, '.dependency-cruiser.cjs');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [cruiser, '--config', config, '--output-type', 'json', 'src'],
      { cwd: home, maxBuffer: 64 * 1024 * 1024 },
    );
    return JSON.parse(stdout).summary.violations;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** One module to a place, each with something to import. The tree that obeys the law is src. */
const places: Tree = Object.fromEntries(
  [
    ...[
      'base',
      'config',
      'contract',
      'api',
      'warehouse',
      'run',
      'sync',
      'sheet',
      'push',
      'report',
      'prove',
      'assistant',
      'serve',
    ],
    ...['sandbox', 'cli'],
  ].map((folder) => [
    `src/${folder}/part.ts`,
    `import 'node:path';\nexport const part = '${folder}';\nexport type Part = typeof part;\n`,
  ]),
);

/** The rule, the module that breaks it (and no other rule), and how. */
const crimes: [rule: string, module: string, text: string][] = [
  ['base-stands-alone', 'src/base/crime.ts', `export * from '../contract/part.js';`],
  ['config-knows-the-resources', 'src/config/crime.ts', `export * from '../api/part.js';`],
  ['contract-is-data', 'src/contract/crime.ts', `export * from '../api/part.js';`],
  ['contract-needs-only-zod', 'src/contract/crime-package.ts', `export * from 'yaml';`],
  ['api-never-sees-a-table', 'src/api/crime.ts', `export * from '../warehouse/part.js';`],
  ['api-never-sees-a-table', 'src/api/crime-type.ts', `export type { Part } from '../warehouse/part.js';`],
  ['warehouse-knows-only-the-shape', 'src/warehouse/crime.ts', `export * from '../api/part.js';`],
  ['warehouse-never-sees-http', 'src/warehouse/crime-http.ts', `export * from 'node:http';`],
  ['run-knows-no-command', 'src/run/crime.ts', `export * from '../sync/part.js';`],
  ['sheet-knows-no-topics', 'src/sheet/crime.ts', `export * from '../push/part.js';`],
  ['spreadsheets-only-in-sheet', 'src/push/crime-csv.ts', `export * from 'csv-parse';`],
  ['sync-never-imports-push', 'src/sync/crime.ts', `export * from '../push/part.js';`],
  ['push-never-imports-sync', 'src/push/crime.ts', `export * from '../sync/part.js';`],
  [
    'push-never-imports-sync',
    'src/push/crime-later.ts',
    `export const later = () => import('../sync/part.js');`,
  ],
  ['settings-are-types', 'src/sync/crime-config.ts', `export * from '../config/part.js';`],
  ['sync-knows-its-tools', 'src/sync/crime-report.ts', `export * from '../report/part.js';`],
  ['push-knows-its-tools', 'src/push/crime-report.ts', `export * from '../report/part.js';`],
  ['prove-only-asks', 'src/prove/crime.ts', `export * from '../sync/part.js';`],
  ['assistant-only-reads', 'src/assistant/crime.ts', `export * from '../push/part.js';`],
  [
    'mcp-only-in-assistant',
    'src/serve/crime-mcp.ts',
    `export * from '@modelcontextprotocol/sdk/server/mcp.js';`,
  ],
  ['lake-only-publishes', 'src/lake/crime.ts', `export * from '../sync/part.js';`],
  ['postgres-only-in-lake', 'src/sync/crime-pg.ts', `export * from 'pg';`],
  ['report-only-reads', 'src/report/crime.ts', `export * from '../sync/part.js';`],
  ['charts-only-in-report', 'src/serve/crime-charts.ts', `export * from 'vega';`],
  ['serve-is-handed-its-jobs', 'src/serve/crime.ts', `export * from '../sync/part.js';`],
  ['sandbox-is-written-apart', 'src/sandbox/crime.ts', `export * from '../api/part.js';`],
  ['sandbox-uses-no-client-library', 'src/sandbox/crime-undici.ts', `export * from 'undici';`],
  ['sandbox-uses-no-client-library', 'src/sandbox/crime-queue.ts', `export * from 'p-queue';`],
  ['cli-goes-through-app', 'src/cli/crime.ts', `export { part } from '../sync/part.js';`],
  [
    'cli-goes-through-app',
    'src/cli/crime-both.ts',
    `import type { Part } from '../push/part.js';\nimport { part } from '../push/part.js';\nexport const it: Part = part;`,
  ],
  ['cli-knows-its-callees', 'src/cli/crime-contract.ts', `export * from '../contract/part.js';`],
  ['app-never-imports-cli', 'src/app/crime.ts', `export * from '../cli/part.js';`],
  ['main-only-starts-the-cli', 'src/main.ts', `import './base/part.js';`],
  ['no-unknown-folder', 'src/cli/crime-lib.ts', `export * from '../utils/part.js';`],
  ['src-stands-without-its-tests', 'src/serve/crime-test.ts', `export * from '../../test/helper.js';`],
  [
    'undici-only-in-api',
    'src/sync/crime-undici.ts',
    `import { request } from 'undici';\nexport { request };`,
  ],
  ['duckdb-only-in-warehouse', 'src/sync/crime-duckdb.ts', `export * from '@duckdb/node-api';`],
  ['fastify-only-in-servers', 'src/sync/crime-fastify.ts', `export * from '@fastify/swagger';`],
  ['no-dev-dependencies', 'src/serve/crime-dev.ts', `export * from 'fast-check';`],
  ['no-unresolvable', 'src/serve/crime-nowhere.ts', `export * from './nowhere.js';`],
  ['no-cycles', 'src/serve/crime-cycle.ts', `export * from './round.js';`],
  ['no-orphans', 'src/serve/crime-orphan.ts', `export const alone = true;`],
];

const accomplices: Tree = {
  'src/utils/part.ts': `import 'node:path';\nexport const part = 1;\n`,
  'src/serve/round.ts': `export * from './crime-cycle.js';\n`,
  'test/helper.ts': `export const help = 1;\n`,
};

/** cli may not import from an unknown folder for one more reason: it is not among its callees. */
const alsoBroken: Record<string, string[]> = { 'src/cli/crime-lib.ts': ['cli-knows-its-callees'] };

describe('the import law', () => {
  let found: Violation[];

  beforeAll(async () => {
    const scene = Object.fromEntries(crimes.map(([, module, text]) => [module, `${text}\n`]));
    found = await judge({ ...places, ...accomplices, ...scene });
  });

  it.each(crimes)('%s catches %s', (rule, module) => {
    const rules = found.filter(({ from }) => from === module).map(({ rule: { name } }) => name);
    expect([...new Set(rules)].sort()).toEqual([rule, ...(alsoBroken[module] ?? [])].sort());
  });

  it('has a crime here for each of its rules', () => {
    expect([...new Set(crimes.map(([rule]) => rule))].sort()).toEqual(
      law.forbidden.map(({ name }) => name).sort(),
    );
  });

  it('says what to do instead', () => {
    for (const { name, comment } of law.forbidden) expect(comment, name).toMatch(/\w+.*\./);
  });
});
