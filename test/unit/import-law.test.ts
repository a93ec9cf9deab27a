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

/** One module to a place, each with something to import. */
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
      'assistant',
      'serve',
    ],
    ...['sandbox', 'cli'],
  ].map((folder) => [
    `src/${folder}/part.ts`,
    `import 'node:path';\nexport const part = '${folder}';\nexport type Part = typeof part;\n`,
  ]),
);

const lawful: Tree = {
  ...places,
  'src/main.ts': `import './cli/start.js';\n`,
  'src/app/part.ts': `${['api', 'config', 'push', 'serve', 'sync', 'warehouse']
    .map((folder) => `export * as ${folder} from '../${folder}/part.js';`)
    .join('\n')}\n`,
  'src/cli/start.ts': `
    import type { Part as Pulled } from '../sync/part.js';
    import type { Part as Pushed } from '../push/part.js';
    import type { Part as Kept } from '../warehouse/part.js';
    import type { Part as Said } from '../api/part.js';
    import type { Part as Served } from '../serve/part.js';
    import type { Part as Ended } from '../run/part.js';
    import * as app from '../app/part.js';
    import { part as server } from '../sandbox/part.js';
    import { part as settings } from '../config/part.js';
    import { part } from './part.js';
    export type All = Pulled | Pushed | Kept | Said | Served | Ended;
    export const all = [app, server, settings, part];
  `,
  'src/api/send.ts': `import { request } from 'undici';\nimport PQueue from 'p-queue';\nexport * from '../contract/part.js';\nexport const how = [request, PQueue];\n`,
  'src/contract/wire.ts': `import { z } from 'zod';\nexport * from '../base/part.js';\nexport const wire = z;\n`,
  'src/warehouse/open.ts': `import { DuckDBInstance } from '@duckdb/node-api';\nexport * from '../contract/part.js';\nexport const how = DuckDBInstance;\n`,
  'src/run/lifecycle.ts': `export * as api from '../api/part.js';\nexport * as warehouse from '../warehouse/part.js';\n`,
  'src/sheet/read.ts': `import { parse } from 'csv-parse';\nexport * from '../base/part.js';\nexport const how = parse;\n`,
  'src/sync/run.ts': `export * as run from '../run/part.js';\nexport * as api from '../api/part.js';\nexport * as warehouse from '../warehouse/part.js';\n`,
  'src/push/run.ts': `export * as sheet from '../sheet/part.js';\nexport * as run from '../run/part.js';\nexport * as api from '../api/part.js';\nexport * as warehouse from '../warehouse/part.js';\n`,
  'src/report/read.ts': `import { View } from 'vega';\nexport * as warehouse from '../warehouse/part.js';\nexport const how = View;\n`,
  'src/serve/http.ts': `import { fastify } from 'fastify';\nexport * from '../base/part.js';\nexport const how = fastify;\n`,
  'src/sandbox/http.ts': `import { fastify } from 'fastify';\nexport * from '../contract/part.js';\nexport const how = fastify;\n`,
};

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
  ['sync-knows-its-tools', 'src/sync/crime-config.ts', `export * from '../config/part.js';`],
  ['push-knows-its-tools', 'src/push/crime-config.ts', `export * from '../config/part.js';`],
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
  let inLawfulTree: Violation[];

  beforeAll(async () => {
    const scene = Object.fromEntries(crimes.map(([, module, text]) => [module, `${text}\n`]));
    [found, inLawfulTree] = await Promise.all([
      judge({ ...places, ...accomplices, ...scene }),
      judge(lawful),
    ]);
  });

  it('leaves a tree alone that obeys it', () => {
    expect(inLawfulTree).toEqual([]);
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
