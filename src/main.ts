#!/usr/bin/env node
import { shapeHeap } from './base/heap.js';

/** They answer in less than a second, of which a small heap would take a third, before they read anything. */
const quick = ['status', 'sql', 'explain', '--help', '--version'];

const args = process.argv.slice(2);
if (!quick.includes(args[0] ?? '')) shapeHeap();
// Whatever is written has data of people in it: only this user may read it, also what DuckDB writes and spills.
process.umask(0o077);

const [{ commandGroups }, { run }] = await Promise.all([
  import('./commands/index.js'),
  import('./cli/run.js'),
]);
process.exitCode = await run(args, commandGroups);
