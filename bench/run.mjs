// npm run bench [-- pull budget day large peers lake duplicates fleet] [--sizes 5000,20000] [--json] [--page]: figures and
// ratios, as a table and as JSON; with peers --page, docs/benchmarks.md as well. --sizes are numbers of messages, for peers, lake and fleet; for duplicates, a seed.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { benchBudget } from './budget.mjs';
import { benchDay } from './day.mjs';
import { benchDuplicates } from './duplicates.mjs';
import { benchFleet } from './fleet.mjs';
import { benchLake } from './lake.mjs';
import { benchLarge } from './large.mjs';
import { writePage } from './page.mjs';
import { benchPeers } from './peers.mjs';
import { benchPull } from './pull.mjs';

/** @typedef {Record<string, number>} Figures the figures of a bench, by their name */
/** @typedef {Record<string, string | number>[]} Rows those of a bench that compares: the rows of a table */
/** @typedef {(options: {sizes: number[]}) => Promise<Figures | Rows>} Bench */

/** @type {Record<string, Bench>} */
const benches = { pull: benchPull, budget: benchBudget, day: benchDay };
/** Run only when they are named. @type {Record<string, Bench>} */
const long = {
  large: benchLarge,
  peers: benchPeers,
  lake: benchLake,
  duplicates: benchDuplicates,
  fleet: benchFleet,
};

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '' },
  },
});
const unknown = wanted.filter((name) => !(name in benches) && !(name in long));
if (unknown.length > 0) {
  console.error(
    `There is no bench ${unknown.join(', ')}; there are ${Object.keys({ ...benches, ...long }).join(', ')}.`,
  );
  process.exit(2);
}
const sizes = values.sizes.split(',').filter(Boolean).map(Number);

/** @type {Record<string, unknown>} */
const results = { node: process.version, cores: cpus().length };
for (const [name, bench] of Object.entries(wanted.length > 0 ? { ...benches, ...long } : benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const figures = await bench({ sizes });
  results[name] = figures;
  if (name === 'peers' && values.page && Array.isArray(figures)) writePage(figures, sizes[0]);
  if (values.json) continue;
  console.log(`\n${name}`);
  if (Array.isArray(figures)) printRows(figures);
  else {
    for (const [figure, value] of Object.entries(figures)) {
      console.log(`  ${figure.padEnd(32)} ${format(value).padStart(14)}`);
    }
  }
}
if (!values.json) console.log();
console.log(JSON.stringify(results));

/** As a table in Markdown. @param {Rows} rows */
function printRows(rows) {
  const columns = Object.keys(rows[0] ?? {});
  console.log(`| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`);
  for (const row of rows) console.log(`| ${columns.map((name) => format(row[name] ?? '')).join(' | ')} |`);
}

/** @param {string | number} value */
function format(value) {
  if (typeof value === 'string') return value;
  const digits = Number.isInteger(value) || Math.abs(value) >= 1_000 ? 0 : Math.abs(value) >= 10 ? 1 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}
