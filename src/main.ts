#!/usr/bin/env node
import { commands } from './cli/commands/index.js';
import { run } from './cli/run.js';

process.exitCode = await run(process.argv.slice(2), commands);
