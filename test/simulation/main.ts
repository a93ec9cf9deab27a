import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { DatabaseCalls } from './database-calls.js';
import { forgettingPlanOf, type Night, planOf } from './life.js';
import { Network } from './network.js';
import { shrunk } from './shrink.js';
import { VirtualTime } from './virtual-time.js';

const usage = `npm run simulate -- [--seed N] [--nights 365] [--seeds 1] [--double] [--shrink] [--forgetting] [--plan FILE] [--trace FILE]

Runs nights of an organization, its users and the program in virtual time, all made from one seed.

  --seed N      The first seed (default: that in the name of the plan, SEED-what-happens.json, or another one each time; it is
                printed)
  --seeds N     So many seeds, one after the other
  --minutes N   Seeds until so many minutes have passed
  --nights N    Nights of each seed
  --only N,N    Only these nights of the plan
  --first       Stop at the first failure
  --double      Each seed twice, in two processes: both must give the same trace
  --shrink      Leave out of a failure what it does not need, and write what is left to a file
  --forgetting  People are forgotten and old contents expire: copies that follow the marks are compared, not the organization
  --plan FILE   The nights of such a file instead of those of the seed
  --keep        Keep the data directory of a failure, and say where it is
  --trace FILE  Write each request, answer and result to a file
`;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Before anything that uses them is loaded. */
const calls = new DatabaseCalls();
const network = new Network();
network.install();
const [{ Failed }, { Program }, { Simulation }, { run }, { commandGroups: commands }] = await Promise.all([
  import('./judges.js'),
  import('./program.js'),
  import('./simulation.js'),
  import('../../src/cli/run.js'),
  import('../../src/commands/index.js'),
]);
// The commands under simulation listen for signals, too.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(1));

const real = { now: Date.now.bind(Date), elapsed: performance.now.bind(performance) };

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    nights: { type: 'string', default: '365' },
    only: { type: 'string' },
    first: { type: 'boolean', default: false },
    double: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    forgetting: { type: 'boolean', default: false },
    plan: { type: 'string' },
    keep: { type: 'boolean', default: false },
    trace: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

/** What came of a plan: the hash of its trace, or what a judge found. */
async function simulate(seed: number, plan: readonly Night[], trace?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'simulation-'));
  const time = new VirtualTime(Date.UTC(2026, 10, 16, 1), seed, calls.busy);
  time.install();
  const program = new Program({ run, commands }, time, calls, network, {});
  const traced = trace === undefined ? undefined : (line: string) => appendFileSync(trace, `${line}\n`);
  try {
    return await Simulation.run({ time, network, program }, folder, seed, plan, traced);
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    if (values.keep) print(`kept: ${program.dataDir}`);
    return error;
  } finally {
    if (!values.keep) rmSync(folder, { recursive: true, force: true });
  }
}

/** The same nights in a process of their own; the hash that it prints. */
function again(seed: number): string {
  const which = [
    ...(values.plan === undefined ? [] : ['--plan', values.plan]),
    ...(values.only === undefined ? [] : ['--only', values.only]),
    ...(values.forgetting ? ['--forgetting'] : []),
  ];
  const args = [...process.argv.slice(1, 2), '--seed', String(seed), '--nights', values.nights, ...which];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return /: ([0-9a-f]{16}) /.exec(stdout)?.[1] ?? stdout;
}

/** That of a night in a plan which says nothing else. */
const wholeRun = { run: 'whole', after: 1, pause: 1 } as const;

async function report(seed: number): Promise<boolean> {
  const began = real.elapsed();
  const only = values.only?.split(',').map(Number);
  const whole =
    values.plan === undefined
      ? (values.forgetting ? forgettingPlanOf : planOf)(seed, Number(values.nights))
      : (JSON.parse(readFileSync(values.plan, 'utf8')) as Partial<Night>[]).map((night) => ({
          ...({ no: 0, kind: 'quiet', moves: [], storm: [], run: wholeRun } as const),
          ...night,
        }));
  const plan = whole.filter(({ no }) => only?.includes(no) ?? true);
  const result = await simulate(seed, plan, values.trace);
  const took = `${((real.elapsed() - began) / 1000).toFixed(1)} s`;
  if (typeof result === 'string') {
    print(`seed ${seed}, ${plan.length} nights: ${result} (${took})`);
    const second = values.double ? again(seed) : result;
    if (second !== result) print(`seed ${seed}: the second run gives ${second}`);
    return second === result;
  }
  print(`seed ${seed}, ${plan.length} nights (${took}), night ${result.night}: ${result.judge}`);
  for (const line of result.details.slice(0, 10)) print(`  ${line}`);
  print('What happened before:');
  for (const line of result.story.slice(-30)) print(`  ${line}`);
  if (values.shrink) {
    const least = await shrunk(plan.slice(0, result.night), async (one) => {
      const found = await simulate(seed, one);
      return typeof found !== 'string' && found.judge === result.judge;
    });
    const file = `simulation-${seed}.json`;
    writeFileSync(file, `${JSON.stringify(least, null, 1)}\n`);
    print(`${least.length} nights give the same: npm run simulate -- --seed ${seed} --plan ${file}`);
  }
  return false;
}

if (values.help) print(usage);
else {
  const until = values.minutes === undefined ? 0 : real.elapsed() + Number(values.minutes) * 60_000;
  const first = Number(
    values.seed ?? (values.plan ? basename(values.plan).split('-')[0] : real.now() % 1_000_000),
  );
  let failures = 0;
  for (let no = 0; values.minutes === undefined ? no < Number(values.seeds) : real.elapsed() < until; no += 1)
    if (!(await report(first + no))) {
      failures += 1;
      if (values.first) break;
    }
  // Not before: each simulated command begins and ends with an exit code of its own.
  if (failures > 0) process.exitCode = 1;
}
