// The import law: the picture in docs/architecture.md, as rules. `npm run imports` checks it, and
// test/unit/import-law.test.ts checks that each rule catches what it is there for.
//
// The law holds for types, too, but for two: everybody may import those of the settings, and the cli those of what it prints.

const ours = '^src/';

/** The folders of the warehouse. */
const warehouse = ['store', 'load', 'read', 'privacy'];

/** What a folder may import of ours; everything else in src is closed to it. */
const only = (name, folder, allowed, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: `^src/${folder}/` },
  to: { path: ours, pathNot: [folder, ...allowed].map((one) => `^src/${one}/`) },
});

/** A package that belongs to some folders and to nobody else in src. */
const owned = (name, packages, folders, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: ours, pathNot: folders.map((folder) => `^src/${folder}(/|$)`) },
  to: { path: `(^|/)node_modules/(${packages})/` },
});

module.exports = {
  forbidden: [
    only(
      'base-stands-alone',
      'base',
      [],
      'base is what everything leans on. Hand in what it needs as a parameter, or move the code up to the folder that owns it.',
    ),
    only(
      'config-knows-the-resources',
      'config',
      ['base', 'contract'],
      'config says what the settings are, not what is done with them. Let a command hand the settings to whoever needs them.',
    ),
    {
      name: 'settings-are-types',
      severity: 'error',
      comment:
        'Only commands and cli read settings. Import their types (import type), and let a command hand in the values.',
      from: { path: ours, pathNot: '^src/(config|commands|cli)/' },
      to: { path: '^src/config/', dependencyTypesNot: ['type-only'] },
    },
    only(
      'contract-is-data',
      'contract',
      ['base'],
      'contract describes the wire and does nothing. Put behaviour into api (the client) or sandbox (the server).',
    ),
    {
      name: 'contract-needs-only-zod',
      severity: 'error',
      comment: 'contract is schemas and tables. Code that needs another package belongs to api or sandbox.',
      from: { path: '^src/contract/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'],
        pathNot: '(^|/)node_modules/zod/',
      },
    },
    only(
      'api-never-sees-a-table',
      'api',
      ['base', 'contract', 'config'],
      'api gives what came over the wire, and nothing else. Take state in as a parameter and hand it out as a value; sync and push store it.',
    ),
    only(
      'store-opens-the-file',
      'store',
      ['base', 'contract', 'config'],
      'store opens, locks, migrates and restores the file, and knows no table by name. Hand in what load or read would do.',
    ),
    only(
      'load-knows-only-the-shape',
      'load',
      ['store', 'privacy', 'base', 'contract', 'config'],
      'load turns documents into tables. Whoever fetches (sync, push) calls it; it calls nobody.',
    ),
    only(
      'read-only-reads',
      'read',
      ['store', 'load', 'privacy', 'base', 'contract', 'config'],
      'read answers questions about stored files. Whoever asks calls it.',
    ),
    only(
      'privacy-masks-and-forgets',
      'privacy',
      ['store', 'load', 'base', 'contract', 'config'],
      'privacy masks and removes rows of files. Journals, folders and the lake are given by a command.',
    ),
    {
      name: 'warehouse-never-sees-http',
      severity: 'error',
      comment:
        'The warehouse works without a network. Fetch in sync or push, through api, and hand it the result.',
      from: { path: '^src/(store|load|read|privacy)/' },
      to: { path: '^(node:)?(http|https|http2|net|tls)$' },
    },
    only(
      'run-knows-no-command',
      'run',
      ['api', ...warehouse, 'base', 'config'],
      'run is the life of any run. What sync or push does in it is handed in as a function.',
    ),
    only(
      'sheet-knows-no-topics',
      'sheet',
      ['base'],
      'sheet reads and writes grids of cells. What a column means belongs to push.',
    ),
    {
      name: 'sync-never-imports-push',
      severity: 'error',
      comment:
        'Pull and push meet only in the warehouse and in commands. Move what both need to run, load or base.',
      from: { path: '^src/sync/' },
      to: { path: '^src/push/' },
    },
    {
      name: 'push-never-imports-sync',
      severity: 'error',
      comment:
        'Pull and push meet only in the warehouse and in commands. Move what both need to run, load or base.',
      from: { path: '^src/push/' },
      to: { path: '^src/sync/' },
    },
    only(
      'sync-knows-its-tools',
      'sync',
      ['run', 'api', ...warehouse, 'contract', 'base', 'push', 'config'],
      'sync works with run, api, warehouse, contract and base. Settings and other parts are handed in by a command.',
    ),
    only(
      'push-knows-its-tools',
      'push',
      ['run', 'sheet', 'api', ...warehouse, 'contract', 'base', 'sync', 'config'],
      'push works with run, sheet, api, warehouse, contract and base. Settings and other parts are handed in by a command.',
    ),
    only(
      'view-is-what-people-see',
      'view',
      ['base', 'sync', 'push', 'run'],
      'view shows what it is given. Reading and deciding belong to the folder that makes it.',
    ),
    {
      name: 'view-needs-only-types',
      severity: 'error',
      comment:
        'view shows results of sync, push and run, and calls none of them. Import their types (import type).',
      from: { path: '^src/view/' },
      to: { path: '^src/(sync|push|run)/', dependencyTypesNot: ['type-only'] },
    },
    only(
      'report-only-reads',
      'report',
      [...warehouse, 'view', 'base', 'contract', 'config'],
      'report turns what a snapshot says into a page. Settings, files and servers belong to commands.',
    ),
    only(
      'prove-only-asks',
      'prove',
      ['api', 'contract', 'base', 'config'],
      'prove asks the API and decides from what came. Settings, files and the warehouse belong to commands.',
    ),
    only(
      'lake-only-publishes',
      'lake',
      [...warehouse, 'base', 'config'],
      'lake carries a published file to an open table format. Settings, secrets and the commands belong to commands.',
    ),
    only(
      'serve-is-handed-its-jobs',
      'serve',
      ['view', 'base', 'contract', 'config'],
      'serve runs jobs on a schedule and shows how they went, without knowing what they do. Let commands/serve hand the job in as a function.',
    ),
    only(
      'sandbox-is-written-apart',
      'sandbox',
      ['base', 'contract'],
      'The sandbox shares schemas with the client but no code, or a shared bug would hide from every test. Write it again, or use a server library.',
    ),
    {
      name: 'sandbox-uses-no-client-library',
      severity: 'error',
      comment:
        "The sandbox must not lean on the client's libraries, or a shared bug would hide. Use fastify's own means.",
      from: { path: '^src/sandbox/' },
      to: { path: '(^|/)node_modules/(undici|p-queue)/' },
    },
    {
      name: 'cli-is-the-terminal',
      severity: 'error',
      comment:
        'cli reads argv and writes to a terminal. What a command does belongs to commands/; only types may come from the other folders (import type).',
      from: { path: '^src/cli/' },
      to: {
        path: ours,
        pathNot: '^src/(cli|commands|config|view|base)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'main-only-starts-the-cli',
      severity: 'error',
      comment: 'main.ts shapes the heap and hands argv and the commands to cli/, and nothing else.',
      from: { path: '^src/main\\.ts$' },
      to: { path: ours, pathNot: '^src/(cli/|commands/index\\.ts$|base/heap\\.ts$)' },
    },
    {
      name: 'no-unknown-folder',
      severity: 'error',
      comment:
        'This module is under no law. Put it into a folder of the architecture, or give its folder a rule here.',
      from: {},
      to: {
        path: ours,
        pathNot: [
          '^src/(commands|base|config|contract|api|store|load|read|privacy|run|sync|sheet|push|report|prove|lake|view|serve|sandbox|cli)/',
          '^src/main\\.ts$',
        ],
      },
    },
    {
      name: 'src-stands-without-its-tests',
      severity: 'error',
      comment: 'The program is installed without test, bench and scripts. Move what it needs into src.',
      from: { path: ours },
      to: { path: '^(test|bench|scripts|dist)/' },
    },
    // The sandbox has a rule of its own for it, with its own reason.
    owned(
      'undici-only-in-api',
      'undici',
      ['api', 'sandbox'],
      'Requests outside api would be outside the budget. Use the client of api; a command hands it in.',
    ),
    owned(
      'duckdb-only-in-warehouse',
      '@duckdb/[^/]+',
      warehouse,
      'Another handle of the live file would drop its lock. Ask the warehouse, or give it a new question to answer.',
    ),
    owned(
      'spreadsheets-only-in-sheet',
      'yazl|yauzl|saxen|csv-parse',
      ['sheet'],
      'Only sheet reads and writes spreadsheets. Hand it a grid, or ask it for one.',
    ),
    owned(
      'fastify-only-in-servers',
      'fastify|@fastify/[^/]+|fastify-type-provider-zod',
      ['sandbox', 'serve'],
      'Only serve and sandbox listen. Hand them a function to call.',
    ),
    owned(
      'mcp-only-in-its-command',
      '@modelcontextprotocol/[^/]+',
      ['commands/mcp.ts'],
      'Only the command mcp speaks MCP, and it is slow to load. Add a tool there.',
    ),
    {
      name: 'no-dev-dependencies',
      severity: 'error',
      comment:
        'This package is not there once the program is installed. Move it to dependencies, or do without.',
      from: { path: ours },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      comment:
        'Nothing is found under this name. Add the package, or mend the path (relative imports end in .js).',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Neither module can be read or tested alone. Move what both need into a third one.',
      from: {},
      // A command shows its result with a text that imports the type of it.
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'Nothing imports this module, and it imports nothing. Wire it in, or delete it.',
      // What a browser loads is imported by nobody here.
      from: { orphan: true, path: ours, pathNot: ['^src/main\\.ts$', '^src/(serve/page|view)/assets/'] },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Types are imports too: the cli may have them, and everybody else needs the same leave as for code.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
