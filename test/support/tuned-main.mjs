// The program with other values for what it chooses itself, which TUNING has as JSON (Tuning in src/config/load.ts): for
// commands that need a process of their own. Everything else is as in dist/main.js.
const of = (/** @type {string} */ path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const [{ shapeHeap }, { run }, { commandGroups }] = await Promise.all(
  ['base/heap.js', 'cli/run.js', 'commands/index.js'].map(of),
);
shapeHeap();
process.umask(0o077);
process.exitCode = await run(process.argv.slice(2), commandGroups, JSON.parse(process.env.TUNING ?? '{}'));
