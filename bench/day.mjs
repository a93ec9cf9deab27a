// A larger organization: the first pull, one after a day in which 1 % of its topics changed, and one after a day without
// changes. Compares the requests with the minimum for the same data, which follows from the sandbox's own answers.
import { LeastCost } from './least-cost.mjs';
import { limited, makeDataDir, nothingNew, startSandbox, worker } from './processes.mjs';

const sizes = { topics: 2_000, companies: 500, people: 10_000, messages: 40_000 };

export async function benchDay() {
  const sandbox = await startSandbox(sizes);
  const data = makeDataDir();
  const env = limited(sandbox.env);
  const least = new LeastCost(sandbox.env);
  const sync = () => worker(['sync'], env, data.dir);
  /** A day with new messages, in that share of the topics, and nothing else. @param {number} activeTopics */
  const day = async (activeTopics) => {
    await least.mark();
    await sandbox.post('/__sandbox/advance', { days: 1, shape: { ...nothingNew, activeTopics } });
    const cost = await least.changed();
    const { report, seconds } = await sync();
    const { report: answer } = await worker(
      ['sql', `SELECT path FROM ops.requests WHERE run_id = '${report.runId}'`],
      env,
      data.dir,
    );
    const asked = new Set((answer.rows ?? answer).map(askedFor));
    const elsewhere = cost.answers.filter((/** @type {{path: string}} */ { path }) => !asked.has(path));
    return { report, seconds, least: cost, elsewhere: elsewhere.length };
  };
  try {
    const everything = await least.mark();
    const first = await sync();
    const changed = await day(0.01);
    const none = await day(0);
    return {
      firstSeconds: first.seconds,
      ...compared('first', first.report, everything),
      // Not fetched again, because no list shows the change: the new data came with another answer.
      changedButToldElsewhere: changed.elsewhere,
      changedSeconds: changed.seconds,
      ...compared('changed', changed.report, changed.least),
      noneSeconds: none.seconds,
      ...compared('none', none.report, none.least),
    };
  } finally {
    await sandbox.stop();
    data.remove();
  }
}

/**
 * Requests, the minimum, their ratio, and the difference by endpoint.
 * @param {string} name @param {{requests: {total: number, byEndpoint: Record<string, number>}}} report
 * @param {import('./least-cost.mjs').Cost} least
 */
function compared(name, { requests }, least) {
  const needed = { ...least.lists, ...least.children };
  const names = [...new Set([...Object.keys(requests.byEndpoint), ...Object.keys(needed)])].sort();
  const over = names.map(
    (one) => /** @type {const} */ ([one, (requests.byEndpoint[one] ?? 0) - (needed[one] ?? 0)]),
  );
  return {
    [`${name}Requests`]: requests.total,
    [`${name}Least`]: least.total,
    [`${name}Ratio`]: requests.total / least.total,
    ...Object.fromEntries(
      over.filter(([, more]) => more !== 0).map(([one, more]) => [`${name}Over_${one}`, more]),
    ),
  };
}

/** The entity of a request: its path with the query that names it, without paging and the like. @param {{path: string}} row */
function askedFor({ path }) {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  for (const name of ['companyId', 'personId']) {
    if (searchParams.has(name)) return `${pathname}?${name}=${searchParams.get(name)}`;
  }
  return pathname;
}
