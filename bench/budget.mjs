// 1,200 requests with a limit of 120 in a shortened window: how close the time comes to the minimum that the limit
// allows, and whether the server ever answered 429.
import { makeDataDir, startSandbox, worker } from './processes.mjs';

const requests = 1_200;
const limit = 120;
const windowMs = 15_000;

export async function benchBudget() {
  const sandbox = await startSandbox({
    topics: 400,
    people: 1_500,
    rate: limit,
    window: windowMs,
    latency: '5-40',
  });
  const data = makeDataDir();
  const env = {
    ...sandbox.env,
    SIGNALHOUSE_RATE_LIMIT_REQUESTS: String(limit),
    SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: String(windowMs),
  };
  try {
    const { report } = await worker(['sync', '--max-requests', String(requests)], env, data.dir);
    const spans = await worker(
      [
        'sql',
        'SELECT epoch(max("at")) - epoch(min("at")) AS seconds, count(*) AS requests FROM ops.requests',
      ],
      env,
      data.dir,
    );
    const [span] = spans.report.rows ?? spans.report;
    const stats = await sandbox.stats();
    // The requests of the first window are sent at once, those of each further window one window later.
    const idealSeconds = ((requests / limit - 1) * windowMs) / 1000;
    return {
      requests: Number(span.requests),
      reported: report.requests.total,
      limit,
      windowMs,
      idealSeconds,
      seconds: Number(span.seconds),
      overIdeal: Number(span.seconds) / idealSeconds,
      status429: stats.tooManyRequests,
      mostInAnyWindow: stats.mostInAnyWindow,
    };
  } finally {
    await sandbox.stop();
    data.remove();
  }
}
