// How much longer than necessary requests take under the API's limit, at the real 120 requests per 60 s: (a) the first 600
// requests of a first pull, (b) a night in which 1 % of the topics have new messages, whose lists alone fill a window. Also
// whether the server ever answered 429. Takes ten minutes, most of them idle. BENCH_WINDOW_MS=6000 makes it shorter:
// latency then weighs ten times as much.
import { limited, makeDataDir, nothingNew, startSandbox, worker } from './processes.mjs';

const limit = 120;
const windowMs = Number(process.env.BENCH_WINDOW_MS ?? 60_000);
const rate = { requests: limit, windowMs };

export async function benchBudget() {
  const first = await firstRequests(600);
  const night = await oneNight();
  return { limit, windowMs, ...named('first', first), ...named('night', night) };
}

/** @param {number} requests */
async function firstRequests(requests) {
  const sandbox = await startSandbox({ topics: 400, people: 1_500 }, { rate, latencyMs: [20, 250] });
  const data = makeDataDir();
  const env = limited(sandbox.env, limit, windowMs);
  try {
    const run = await worker(['sync', '--max-requests', String(requests)], env, data.dir);
    return await figuresOf(run, sandbox, env, data.dir);
  } finally {
    await sandbox.stop();
    data.remove();
  }
}

const sizes = { topics: 2_000, companies: 500, people: 10_000, messages: 20_000 };

/** In a day there are only new messages, in that share of the topics. */
const day = { ...nothingNew, activeTopics: 0.01 };

async function oneNight() {
  const data = makeDataDir();
  try {
    const quick = await startSandbox(sizes);
    await worker(['sync'], limited(quick.env), data.dir);
    await quick.stop();
    // The same organization: its data come from the seed.
    const sandbox = await startSandbox(sizes, { rate, latencyMs: [200, 200] });
    const env = limited(sandbox.env, limit, windowMs);
    try {
      await sandbox.post('/__sandbox/advance', { days: 1, shape: day });
      return await figuresOf(await worker(['sync'], env, data.dir), sandbox, env, data.dir);
    } finally {
      await sandbox.stop();
    }
  } finally {
    data.remove();
  }
}

/**
 * @param {Awaited<ReturnType<typeof worker>>} run @param {Awaited<ReturnType<typeof startSandbox>>} sandbox
 * @param {Record<string, string>} env @param {string} dataDir
 */
async function figuresOf({ report, cpuSeconds }, sandbox, env, dataDir) {
  const { report: answer } = await worker(
    [
      'sql',
      `SELECT epoch_ms("at") AS start, ms, endpoint FROM ops.requests WHERE run_id = '${report.runId}' ORDER BY "at"`,
    ],
    env,
    dataDir,
  );
  const rows = /** @type {Record<string, string | number>[]} */ (answer.rows ?? answer);
  const lists = new Set(report.scans.map((/** @type {{endpoint: string}} */ { endpoint }) => endpoint));
  const requests = rows.map(({ start, ms, endpoint }) => ({
    start: Number(start) / 1_000,
    end: (Number(start) + Number(ms)) / 1_000,
    isOfList: lists.has(endpoint),
  }));
  const starts = requests.map(({ start }) => start);
  const [first = 0] = starts;
  const seconds = Math.max(...starts) - first;
  // The requests of the first window are sent at once, those of each further window one window later.
  const idealSeconds = (Math.ceil(starts.length / limit) - 1) * (windowMs / 1_000);
  const ofLists = requests.filter(({ isOfList }) => isOfList);
  const listsEnd = Math.max(...ofLists.map(({ end }) => end));
  const stats = await sandbox.stats();
  return {
    requests: starts.length,
    ofLists: ofLists.length,
    idealSeconds,
    seconds,
    secondsOverIdeal: seconds - idealSeconds,
    overIdeal: seconds / idealSeconds,
    // When the first window's requests had left: whatever starts late in it starts late in each window.
    firstWindowSeconds: (starts[Math.min(limit, starts.length) - 1] ?? first) - first,
    // Nothing is in flight while the lists are stored and what is due is looked up.
    idleSecondsAfterLists: (starts.find((start) => start > listsEnd) ?? listsEnd) - listsEnd,
    status429: stats.tooManyRequests,
    runSeconds: report.minutes * 60,
    cpuSeconds,
  };
}

/** @param {string} name @param {Record<string, number>} figures */
function named(name, figures) {
  const of = (/** @type {string} */ figure) => `${name}${figure[0]?.toUpperCase()}${figure.slice(1)}`;
  return Object.fromEntries(Object.entries(figures).map(([figure, value]) => [of(figure), value]));
}
