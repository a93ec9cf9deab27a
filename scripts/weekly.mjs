// npm run weekly -- [STEP..] [--minutes 90] [--mutants NN,NN] [--mutant-minutes 2] [--nights 100]: everything that takes too long
// for .ci/run, one step after the other, and one table at the end: others, lake, container, mutants, forgetting, nights. A step that fails
// or takes longer than --minutes does not stop the next one; then the exit code is 1. The output of each step is in .weekly/STEP.log.
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const logs = join(root, '.weekly');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '90' },
    mutants: { type: 'string', default: '' },
    'mutant-minutes': { type: 'string', default: '2' },
    nights: { type: 'string', default: '100' },
  },
});

/** The seeds are new each week; one that fails is named in the log. */
const seed = Math.floor(Date.now() / 1000) % 1_000_000;
const nightsOfSeed = Math.min(10, Number(values.nights));
const engine = process.env.ENGINE ?? ['docker', 'podman', 'buildah'].find(runs);

/** @type {Record<string, string[] | null>} The command of each step; null where this machine cannot take it. */
const steps = {
  others: ['npm', 'run', 'test:others'],
  lake: ['npm', 'run', 'test:lake'],
  container: engine === undefined ? null : ['bash', 'scripts/container-check.sh'],
  mutants: [
    'node',
    'scripts/mutants.mjs',
    '--minutes',
    values['mutant-minutes'],
    ...values.mutants.split(',').filter(Boolean),
  ],
  forgetting: ['npm', 'run', 'simulate', '--', '--forgetting', '--seed', String(seed), '--nights', '30'],
  nights: [
    ...['npm', 'run', 'simulate', '--', '--seed', String(seed), '--nights', String(nightsOfSeed)],
    ...['--seeds', String(Math.ceil(Number(values.nights) / nightsOfSeed))],
  ],
};
const unknown = positionals.filter((name) => !(name in steps));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no step ${unknown.join(', ')}; there are ${Object.keys(steps).join(', ')}.\n`,
  );
  process.exit(2);
}

mkdirSync(logs, { recursive: true });
/** @type {string[][]} */
const rows = [];
for (const [name, command] of Object.entries(steps)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  process.stderr.write(`${name} ...\n`);
  const began = Date.now();
  const outcome = command === null ? 'SKIPPED: no docker, podman or buildah' : await outcomeOf(name, command);
  const seconds = Math.round((Date.now() - began) / 1000);
  const took = `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  rows.push([name, outcome, took, command === null ? '' : summaryOf(name)]);
}
process.stdout.write('| step | outcome | time | result |\n|---|---|---|---|\n');
for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`);
process.exitCode = rows.every(([, outcome]) => outcome === 'ok') ? 0 : 1;

/** Runs a command, with its output in the log of the step, and ends it with all that it started at its limit. */
async function outcomeOf(/** @type {string} */ name, /** @type {string[]} */ [program = '', ...args]) {
  const log = openSync(join(logs, `${name}.log`), 'w');
  const env = { ...process.env, ...(engine && { ENGINE: engine }) };
  const child = spawn(program, args, { cwd: root, env, detached: true, stdio: ['ignore', log, log] });
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, Number(values.minutes) * 60_000);
  const code = await new Promise((resolve) => {
    child.on('error', resolve);
    child.on('close', resolve);
  });
  clearTimeout(limit);
  closeSync(log);
  if (isLate) return `FAILED: not done after ${values.minutes} min`;
  return code === 0 ? 'ok' : `FAILED: ${code}`;
}

/** The lines of a log that say what came of the step. */
function summaryOf(/** @type {string} */ name) {
  const text = readFileSync(join(logs, `${name}.log`), 'utf8');
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim());
  const told = lines.filter((line) =>
    /^(Test Files|Tests|FAILED:|All is well|\d+ of \d+ found|.*: COULD NOT BE TRIED|seed \d+, .* night \d+)/.test(
      line,
    ),
  );
  const green = lines.filter((line) => /^seed \d+, \d+ nights: /.test(line)).length;
  const skipped = lines.filter((line) => line.startsWith('SKIPPED ')).length;
  return [
    ...told,
    ...(green > 0 ? [`${green} seeds without a failure`] : []),
    ...(skipped > 0 ? [`${skipped} skipped, named in the log`] : []),
  ]
    .map((line) => line.replaceAll(/\s+/g, ' ').replaceAll('|', '/'))
    .join('; ');
}

/** @param {string} program */
function runs(program) {
  return spawnSync(program, ['info'], { stdio: 'ignore' }).status === 0;
}
