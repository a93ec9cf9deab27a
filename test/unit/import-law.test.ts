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

/** One module to a folder, each with something to import. The tree that obeys the law is src. */
const places: Tree = Object.fromEntries(
  `base config contract api store load read privacy run sync sheet push report prove view serve sandbox commands cli`
    .split(' ')
    .map((folder) => [
      `src/${folder}/part.ts`,
      `import 'node:path';\nexport const part = '${folder}';\nexport type Part = typeof part;\n`,
    ]),
);

/** A rule, the folder of a module that breaks it (and no other rule), and what the module says, or all of what it imports. */
const crimes = (
  [
    ['base-stands-alone', 'base', '../contract/part.js'],
    ['config-knows-the-resources', 'config', '../api/part.js'],
    ['contract-is-data', 'contract', '../api/part.js'],
    ['contract-needs-only-zod', 'contract', 'yaml'],
    ['api-never-sees-a-table', 'api', '../store/part.js'],
    ['api-never-sees-a-table', 'api', `export type { Part } from '../store/part.js';`],
    ['store-opens-the-file', 'store', '../load/part.js'],
    ['load-knows-only-the-shape', 'load', '../api/part.js'],
    ['read-only-reads', 'read', '../sync/part.js'],
    ['privacy-masks-and-forgets', 'privacy', '../sync/part.js'],
    ['warehouse-never-sees-http', 'load', 'node:http'],
    ['run-knows-no-command', 'run', '../sync/part.js'],
    ['sheet-knows-no-topics', 'sheet', '../push/part.js'],
    ['spreadsheets-only-in-sheet', 'push', 'csv-parse'],
    ['sync-never-imports-push', 'sync', '../push/part.js'],
    ['push-never-imports-sync', 'push', '../sync/part.js'],
    ['push-never-imports-sync', 'push', `export const later = () => import('../sync/part.js');`],
    ['settings-are-types', 'sync', '../config/part.js'],
    ['sync-knows-its-tools', 'sync', '../report/part.js'],
    ['push-knows-its-tools', 'push', '../report/part.js'],
    ['prove-only-asks', 'prove', '../sync/part.js'],
    ['mcp-only-in-its-command', 'serve', '@modelcontextprotocol/sdk/server/mcp.js'],
    ['lake-only-publishes', 'lake', '../sync/part.js'],
    ['report-only-reads', 'report', '../sync/part.js'],
    ['view-is-what-people-see', 'view', '../report/part.js'],
    ['view-needs-only-types', 'view', '../push/part.js'],
    ['serve-is-handed-its-jobs', 'serve', '../sync/part.js'],
    ['sandbox-is-written-apart', 'sandbox', '../api/part.js'],
    ['sandbox-uses-no-client-library', 'sandbox', 'undici'],
    ['sandbox-uses-no-client-library', 'sandbox', 'p-queue'],
    ['cli-is-the-terminal', 'cli', `export { part } from '../sync/part.js';`],
    ['no-unknown-folder', 'commands', '../utils/part.js'],
    ['src-stands-without-its-tests', 'serve', '../../test/helper.js'],
    ['undici-only-in-api', 'sync', 'undici'],
    ['duckdb-only-in-warehouse', 'sync', '@duckdb/node-api'],
    ['fastify-only-in-servers', 'sync', '@fastify/swagger'],
    ['no-dev-dependencies', 'serve', 'fast-check'],
    ['no-unresolvable', 'serve', './nowhere.js'],
    ['no-cycles', 'serve', './round.js'],
    ['no-orphans', 'serve', 'export const alone = true;'],
    ['main-only-starts-the-cli', 'main.ts', './base/part.js'],
  ] as const
).map(([rule, folder, text]) => ({
  rule,
  module: folder === 'main.ts' ? 'src/main.ts' : `src/${folder}/${rule}-${text.replaceAll(/\W+/g, '-')}.ts`,
  text: `${text.includes(' ') ? text : `export * from '${text}';`}\n`,
}));
const [cycle] = crimes.filter(({ rule }) => rule === 'no-cycles');

const accomplices: Tree = {
  'src/utils/part.ts': `import 'node:path';\nexport const part = 1;\n`,
  'src/serve/round.ts': `export * from '../../${cycle?.module.replace('.ts', '.js')}';\n`,
  'test/helper.ts': `export const help = 1;\n`,
};

describe('the import law', () => {
  let found: Violation[];

  beforeAll(async () => {
    const scene = crimes.map(({ module, text }) => [module, text]);
    found = await judge({ ...places, ...accomplices, ...Object.fromEntries(scene) });
  });

  it.each(crimes)('$rule catches $module', ({ rule, module }) => {
    const rules = found.filter(({ from }) => from === module).map(({ rule: { name } }) => name);
    expect([...new Set(rules)].sort()).toEqual([rule]);
  });

  it('has a crime here for each of its rules', () => {
    expect([...new Set(crimes.map(({ rule }) => rule))].sort()).toEqual(
      law.forbidden.map(({ name }) => name).sort(),
    );
  });

  it('says what to do instead', () => {
    for (const { name, comment } of law.forbidden) expect(comment, name).toMatch(/\w+.*\./);
  });
});
