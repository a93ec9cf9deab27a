// What grows with the warehouse: a first pull, one with nothing new, one after a day, a publication and a rebuild, with the
// rate limit lifted, for warehouses of different sizes, and the SQL statements that take most of the time.
//   npm run bench -- growth --sizes 5000,20000
// BENCH_CGROUP, the folder of a cgroup that this user may write to, runs the worker with its memory limit.
import { limited, makeDataDir, startSandbox, worker } from './processes.mjs';

/** How many statements of each step are in the table. */
const shown = 10;

/** @param {{sizes: number[]}} options */
export async function benchGrowth({ sizes }) {
  const counts = sizes.length > 0 ? sizes.toSorted((a, b) => a - b) : [50_000, 200_000, 1_000_000];
  /** Figures by name and number of messages. @type {Map<string, Map<number, number>>} */
  const figures = new Map();
  /** Seconds in statements, by step, statement and number of messages. @type {Map<string, Map<string, Map<number, number>>>} */
  const statements = new Map();
  /** Their calls. @type {Map<string, Map<string, Map<number, number>>>} */
  const calls = new Map();
  for (const messages of counts) {
    for (const [name, value, found] of await measured(messages)) {
      at(figures, name).set(messages, value);
      const step = name.split(':')[0] ?? '';
      for (const [statement, timed] of Object.entries(found ?? {})) {
        at(at(statements, step), statement).set(messages, timed.seconds);
        at(at(calls, step), statement).set(messages, timed.calls);
      }
    }
    // What is known so far survives when the next size is interrupted.
    console.error(
      JSON.stringify({
        messages,
        ...Object.fromEntries([...figures].map(([name, of]) => [name, of.get(messages)])),
      }),
    );
  }
  const largest = counts.at(-1) ?? 0;
  const rows = [...figures].map(([name, of]) => row(name, of, counts));
  for (const [step, of] of statements) {
    const longest = [...of]
      .sort(([, a], [, b]) => (b.get(largest) ?? 0) - (a.get(largest) ?? 0))
      .slice(0, shown);
    for (const [statement, seconds] of longest) {
      const called = counts.map((count) => at(at(calls, step), statement).get(count) ?? 0).join(', ');
      rows.push(row(`${step}: s in ${called} × ${statement.replaceAll('|', '\\|')}`, seconds, counts));
    }
  }
  return rows;
}

/** @typedef {Record<string, {seconds: number, calls: number}>} Statements */

/** Every figure of a warehouse with so many messages; the first of each step has its statements. @param {number} messages */
async function measured(messages) {
  const sandbox = await startSandbox(organization(messages));
  const data = makeDataDir();
  const cgroup = process.env.BENCH_CGROUP;
  const env = { ...limited(sandbox.env), BENCH_STATEMENTS: '1' };
  /** @type {[name: string, value: number, statements?: Statements][]} */
  const figures = [];
  /** @param {string} name @param {string} command */
  const step = async (name, command) => {
    const ran = await worker([command], env, data.dir, cgroup);
    figures.push([`${name}: CPU s`, ran.cpuSeconds, ran.statements]);
    figures.push([`${name}: s`, ran.seconds], [`${name}: peak MB`, ran.peakRssMB]);
    return ran;
  };
  /** @param {string} name */
  const pull = async (name) => {
    const { report, cpuSeconds, published } = await step(name, 'sync');
    figures.push([`${name}: requests`, report.requests.total]);
    figures.push([`${name}: CPU ms per request`, (1000 * cpuSeconds) / report.requests.total]);
    figures.push(
      [`${name}: publishing, CPU s`, published.cpuSeconds],
      [`${name}: publishing, s`, published.seconds],
    );
    return cpuSeconds;
  };
  try {
    const cpuSeconds = await pull('first pull');
    await pull('nothing new');
    await sandbox.post('/__sandbox/advance', { days: 1 });
    await pull('a day');
    const rebuild = await step('rebuild', 'rebuild');
    const { documents } = rebuild.report;
    figures.push(['first pull: CPU µs per document', (1e6 * cpuSeconds) / documents]);
    figures.push(
      ['rebuild: documents', documents],
      ['rebuild: documents per CPU s', documents / rebuild.cpuSeconds],
    );
    return figures;
  } finally {
    await sandbox.stop();
    data.remove();
  }
}

/**
 * An organization with so many messages: between those of the benches `pull` (200,000 messages of 400 topics, 1,500 people,
 * 120 companies) and `large` (1,000,000 of 1,500, 4,000 and 400), and in the same proportion beyond them.
 * @param {number} messages
 */
function organization(messages) {
  const times = messages / 200_000;
  return {
    topics: Math.ceil(400 * times ** 0.82),
    people: Math.ceil(1_500 * times ** 0.61),
    companies: Math.ceil(120 * times ** 0.75),
    messages,
  };
}

/** A row of the table. Its `growth` is 1 for what grows like the messages, and 0 for what does not grow.
 * @param {string} name @param {Map<number, number>} values @param {number[]} counts */
function row(name, values, counts) {
  const [first = 0, last = 0] = [counts.at(0), counts.at(-1)];
  const ratio = (values.get(last) ?? 0) / (values.get(first) ?? 0);
  const growth = last > first && Number.isFinite(ratio) ? Math.log(ratio) / Math.log(last / first) : '';
  /** @type {[string, string | number][]} */
  const cells = counts.map((count) => [`${count.toLocaleString('en-US')} messages`, values.get(count) ?? '']);
  return { '': name, ...Object.fromEntries(cells), growth };
}

/** The map of a name, new when there is none. @template K, V @param {Map<string, Map<K, V>>} maps @param {string} name */
function at(maps, name) {
  const found = maps.get(name) ?? new Map();
  maps.set(name, found);
  return found;
}
