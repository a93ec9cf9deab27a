import type { CommandGroup, Group } from './command.js';

const changes: Group = {
  name: 'changes',
  summary: 'Re-prioritize in a spreadsheet: write it, import it, see the queue',
  commands: [
    {
      name: 'sheet',
      summary: 'Write topics or companies to a spreadsheet to edit',
      load: async () => (await import('./changes-sheet.js')).sheet,
    },
    {
      name: 'import',
      summary: 'Queue the changes in a spreadsheet, after a preview',
      load: async () => (await import('./changes-import.js')).importChanges,
    },
    {
      name: 'list',
      summary: 'List queued and settled changes, newest first',
      load: async () => (await import('./changes.js')).list,
    },
    {
      name: 'show',
      summary: 'Show one change with every request that was made for it',
      load: async () => (await import('./changes.js')).show,
    },
    {
      name: 'cancel',
      summary: 'Cancel changes that are queued, in conflict or failed',
      load: async () => (await import('./changes.js')).cancel,
    },
    {
      name: 'retry',
      summary: 'Queue changes again that are in conflict or failed',
      load: async () => (await import('./changes.js')).retry,
    },
    {
      name: 'undo',
      summary: 'Queue the reverse of changes that were applied, after a preview',
      load: async () => (await import('./changes-import.js')).undo,
    },
    {
      name: 'merge-people',
      summary: 'Merge one person into another; it cannot be undone',
      load: async () => (await import('./changes-merge-people.js')).mergePeople,
    },
  ],
  examples: [
    ['signalhouse changes sheet --out topics.xlsx', 'A sheet to edit'],
    ['signalhouse changes import topics.xlsx', 'Queue the edits'],
    ['signalhouse push', 'Send them'],
    ['signalhouse changes undo topics.xlsx', 'Queue the reverse'],
  ],
};

const config: Group = {
  name: 'config',
  summary: 'Show the settings that are in force, or check a file of them',
  commands: [
    {
      name: 'print',
      summary: 'Print every setting in force, and where it comes from',
      load: async () => (await import('./config.js')).print,
    },
    {
      name: 'check',
      summary: 'Check a settings file: each problem with its line (exit 2)',
      load: async () => (await import('./config.js')).check,
    },
  ],
  examples: [
    ['signalhouse config print', 'Every setting, and where it comes from'],
    ['signalhouse config check worker.yaml', 'Each problem of a file, with its line'],
  ],
};

const lake: Group = {
  name: 'lake',
  summary: 'Publish the tables and views to Iceberg, for Spark, Trino and others',
  commands: [
    {
      name: 'init',
      summary: 'Create the namespace of this organization',
      load: async () => (await import('./lake.js')).init,
    },
    {
      name: 'publish',
      summary: 'Make the lake equal to the published file, in one transaction',
      load: async () => (await import('./lake.js')).publish,
    },
    {
      name: 'status',
      summary: 'Show rows by table, and whether the lake is behind',
      load: async () => (await import('./lake.js')).status,
    },
    {
      name: 'drop',
      summary: 'Remove the tables of this organization from the lake',
      load: async () => (await import('./lake.js')).drop,
    },
  ],
  examples: [
    ['signalhouse lake init', 'Create the namespace, and check the settings'],
    ['signalhouse lake publish', 'Publish what has changed'],
    ['signalhouse sync --lake', 'Pull, and publish to the lake at the end'],
  ],
};

const user: Group = {
  name: 'user',
  summary: 'People who may log in to the pages of serve',
  commands: [
    {
      name: 'add',
      summary: 'Ask for a password, and print an entry for serve.users',
      load: async () => (await import('./user.js')).add,
    },
  ],
  examples: [['signalhouse user add anna --role write', 'Make an entry for the settings file']],
};

/**
 * Every command, in groups, in the order of `--help` and of the README, each with the file that is loaded when it is called: the
 * database and the client take half a second.
 */
export const commandGroups: readonly CommandGroup[] = [
  {
    heading: 'Pull',
    commands: [
      {
        name: 'sync',
        summary: 'Pull everything that is due into the warehouse, and publish it',
        load: async () => (await import('./sync.js')).sync,
      },
      {
        name: 'plan',
        summary: 'Show what a sync would fetch and how many requests that costs',
        load: async () => (await import('./plan.js')).plan,
      },
      {
        name: 'status',
        summary: 'Show what is stored, how fresh, what is due (exit 3: stale, missing)',
        load: async () => (await import('./status.js')).status,
      },
      {
        name: 'explain',
        summary: 'Explain a topic, company, person or conversation: what is due, why',
        load: async () => (await import('./explain.js')).explain,
      },
    ],
  },
  {
    heading: 'Change',
    commands: [
      changes,
      {
        name: 'push',
        summary: 'Send the queued changes to the API, each exactly once',
        load: async () => (await import('./push.js')).push,
      },
    ],
  },
  {
    heading: 'Look',
    commands: [
      {
        name: 'sql',
        summary: 'Query the published file with SQL; without a query, at a prompt',
        load: async () => (await import('./sql.js')).sql,
      },
      {
        name: 'export',
        summary: 'Write a table, a query or everything to Parquet, CSV, Excel or JSON',
        load: async () => (await import('./export.js')).exportTables,
      },
      {
        name: 'report',
        summary: 'Write a report of charts and tables as one HTML file',
        load: async () => (await import('./report.js')).report,
      },
      {
        name: 'mcp',
        summary: 'Let an assistant read the published file (MCP over stdin and stdout)',
        load: async () => (await import('./mcp.js')).mcp,
      },
    ],
  },
  {
    heading: 'Run',
    commands: [
      {
        name: 'serve',
        summary: 'Run as a service: jobs, status page, sheets, metrics, notifications',
        load: async () => (await import('./serve/serve.js')).serve,
      },
      user,
      {
        name: 'doctor',
        summary: 'Check settings, key, clock, disk, lock, paging and the warehouse',
        load: async () => (await import('./doctor.js')).doctor,
      },
      config,
      {
        name: 'rebuild',
        summary: 'Rebuild every table from the raw documents, without requests',
        load: async () => (await import('./rebuild.js')).rebuild,
      },
      {
        name: 'restore',
        summary: 'Restore the data directory from a backup of another one',
        load: async () => (await import('./restore.js')).restore,
      },
      {
        name: 'forget',
        summary: 'Remove people, conversations or companies, after a preview',
        load: async () => (await import('./forget.js')).forget,
      },
      lake,
    ],
  },
  {
    heading: 'Try',
    commands: [
      {
        name: 'sandbox',
        summary: 'Run the whole Product-Signals API on localhost with generated data',
        load: async () => (await import('./sandbox.js')).sandbox,
      },
      {
        name: 'demo',
        summary: 'Show it all with generated data: no API key, no network',
        load: async () => (await import('./demo.js')).demo,
      },
    ],
  },
];

export const commands = commandGroups.flatMap((group) => group.commands);
