// npm run mutants -- [--minutes 2] [--nights 10] [--jobs 2] [NN..]: plants each bug of test/simulation/mutants in a copy of the
// program, and says which of them the simulation finds: first with the plans of test/simulation/plans, then with seeds that are
// tried for so many minutes. A simulation that finds few of them is not worth its time.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const mutants = join(root, 'test/simulation/mutants');
const plans = join(root, 'test/simulation/plans');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '2' },
    nights: { type: 'string', default: '10' },
    jobs: { type: 'string', default: '2' },
  },
});
const run = promisify(execFile);

/** What the program and its simulation are made of. */
const parts = [
  'src',
  'sql',
  'config',
  'scripts',
  'test/simulation',
  'test/support',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

const chosen = readdirSync(mutants)
  .sort()
  .filter((name) => positionals.length === 0 || positionals.some((one) => name.startsWith(one)));
const waiting = [...chosen];
let found = 0;
await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
process.stdout.write(`${found} of ${chosen.length} found\n`);

async function worker() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const line = await outcomeOf(name);
    if (line.startsWith('found')) found += 1;
    // A patch that does not fit any more proves nothing.
    if (line.startsWith('COULD NOT')) process.exitCode = 1;
    process.stdout.write(`${name.replace('.patch', '')}: ${line}\n`);
  }
}

/** @param {string} name */
async function outcomeOf(name) {
  const copy = mkdtempSync(join(tmpdir(), 'mutant-'));
  const began = Date.now();
  const took = () => `${Math.round((Date.now() - began) / 1000)} s`;
  try {
    for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    await run('git', ['apply', join(mutants, name)], { cwd: copy });
    await run(process.execPath, ['scripts/build.mjs'], { cwd: copy });
    const simulate = (/** @type {string[]} */ ...args) =>
      run(process.execPath, ['scripts/simulate.mjs', ...args], { cwd: copy, maxBuffer: 1 << 28 });
    for (const plan of readdirSync(plans)) await simulate('--plan', join(plans, plan));
    await simulate('--seed', '1', '--nights', values.nights, '--minutes', values.minutes, '--first');
    return `NOT FOUND in ${took()}`;
  } catch (error) {
    const { stdout, stderr } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    const [, seed, night, judge] = /^seed (\d+).* night (\d+): (.*)$/m.exec(stdout ?? '') ?? [];
    if (seed === undefined) return `COULD NOT BE TRIED: ${stdout}${stderr || error}`;
    const detail = /^ {2}(.*)$/m.exec(stdout ?? '')?.[1] ?? '';
    return `found in ${took()}, seed ${seed}, night ${night}, ${judge}: ${detail.slice(0, 160)}`;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
