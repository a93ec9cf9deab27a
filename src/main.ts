#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { shapeHeap } from './base/heap.js';
import { print, surviveClosedPipes } from './cli/output.js';

shapeHeap();
// Whatever is written has data of people in it: only this user may read it, also what DuckDB writes and spills.
process.umask(0o077);

const argv = process.argv.slice(2);
const help = argv.length === 1 && ['--help', '-h'].includes(argv[0] ?? '') ? preparedHelp() : null;
if (help === null) {
  const [{ commandGroups }, { run }] = await Promise.all([
    import('./cli/commands/index.js'),
    import('./cli/run.js'),
  ]);
  process.exitCode = await run(argv, commandGroups);
} else {
  surviveClosedPipes();
  print(help);
}

/** The help that the build has written: what describes the commands takes 0.2 s to load. Null without that file. */
function preparedHelp(): string | null {
  try {
    return readFileSync(new URL('./help.txt', import.meta.url), 'utf8');
  } catch {
    return null;
  }
}
