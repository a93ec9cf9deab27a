#!/usr/bin/env node
// Whatever is written has data of people in it: only this user may read it, also what DuckDB writes and spills.
process.umask(0o077);

const [{ commandGroups }, { run }] = await Promise.all([
  import('./cli/commands/index.js'),
  import('./cli/run.js'),
]);
process.exitCode = await run(process.argv.slice(2), commandGroups);
