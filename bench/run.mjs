// npm run bench [-- pull budget day memory large] [-- --json]: figures and ratios, as a table and as JSON.
import { cpus } from 'node:os';
import { benchBudget } from './budget.mjs';
import { benchDay } from './day.mjs';
import { benchLarge } from './large.mjs';
import { benchMemory } from './memory.mjs';
import { benchPull } from './pull.mjs';

/** @type {Record<string, () => Promise<Record<string, number>>>} */
const benches = { pull: benchPull, budget: benchBudget, day: benchDay, memory: benchMemory };
/** Run only when they are named. */
const long = { large: benchLarge };

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith('-'));
const unknown = wanted.filter((name) => !(name in benches) && !(name in long));
if (unknown.length > 0) {
  console.error(
    `There is no bench ${unknown.join(', ')}; there are ${Object.keys({ ...benches, ...long }).join(', ')}.`,
  );
  process.exit(2);
}

/** @type {Record<string, unknown>} */
const results = { node: process.version, cores: cpus().length };
for (const [name, bench] of Object.entries(wanted.length > 0 ? { ...benches, ...long } : benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const figures = await bench();
  results[name] = figures;
  if (process.argv.includes('--json')) continue;
  console.log(`\n${name}`);
  for (const [figure, value] of Object.entries(figures)) {
    console.log(`  ${figure.padEnd(32)} ${format(value).padStart(14)}`);
  }
}
if (!process.argv.includes('--json')) console.log();
console.log(JSON.stringify(results));

/** @param {number} value */
function format(value) {
  const digits = Number.isInteger(value) || Math.abs(value) >= 1_000 ? 0 : Math.abs(value) >= 10 ? 1 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}
