// npm run mutants -- [--minutes 2] [NN..]: plants each bug of test/simulation/mutants in a copy of the program, and says which
// of them the simulation finds. A simulation that finds few of them is not worth its time.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const mutants = join(root, 'test/simulation/mutants');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '2' }, nights: { type: 'string', default: '20' } },
});

/** What the program and its simulation are made of. */
const parts = [
  ...['src', 'sql', 'config', 'scripts', 'test/simulation', 'test/support'],
  ...['package.json', 'tsconfig.json', 'tsconfig.build.json'],
];

let found = 0;
let planted = 0;
for (const name of readdirSync(mutants).sort()) {
  if (positionals.length > 0 && !positionals.some((one) => name.startsWith(one))) continue;
  planted += 1;
  const line = outcomeOf(name);
  if (line.startsWith('found')) found += 1;
  process.stdout.write(`${name.replace('.patch', '')}: ${line}\n`);
}
process.stdout.write(`${found} of ${planted} found\n`);

/** @param {string} name */
function outcomeOf(name) {
  const copy = mkdtempSync(join(tmpdir(), 'mutant-'));
  try {
    for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    execFileSync('git', ['apply', join(mutants, name)], { cwd: copy });
    execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: copy, stdio: 'inherit' });
    const began = Date.now();
    const args = ['--seed', '1', '--nights', values.nights, '--minutes', values.minutes, '--first'];
    const { stdout, status } = spawnSync(process.execPath, ['scripts/simulate.mjs', ...args], {
      cwd: copy,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    const took = `${Math.round((Date.now() - began) / 1000)} s`;
    if (status === 0) return `NOT FOUND in ${took}`;
    const [, seed, night, judge] = /^seed (\d+).* night (\d+): (.*)$/m.exec(stdout) ?? [];
    const detail = /^ {2}(.*)$/m.exec(stdout)?.[1] ?? '';
    return `found in ${took}, seed ${seed}, night ${night}, ${judge}: ${detail.slice(0, 160)}`;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
