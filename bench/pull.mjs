// A full pull of 200,000 messages without a limit, the steps after it, and whether memory grows with the stored data.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { limited, makeDataDir, startSandbox, worker } from './processes.mjs';

const messages = 200_000;

export async function benchPull() {
  const sandbox = await startSandbox({ topics: 400, people: 1_500, companies: 120, messages });
  const data = makeDataDir();
  const env = limited(sandbox.env);
  try {
    const pull = await worker(['sync'], env, data.dir);
    const rows = rowsOf(pull.report);
    const documents = await storedDocuments(env, data.dir);
    const again = await worker(['sync'], env, data.dir);
    await sandbox.post('/__sandbox/advance', { days: 1 });
    const day = await worker(['sync'], env, data.dir);
    const rebuild = await worker(['rebuild'], env, data.dir);
    const { published } = pull.report;
    const bytes = statSync(join(data.dir, 'data', 'signals.duckdb')).size;
    return {
      messages,
      requests: pull.report.requests.total,
      rows,
      seconds: pull.seconds,
      rowsPerSecond: rows / pull.seconds,
      documents,
      rowsAndDocumentsPerSecond: (rows + documents) / pull.seconds,
      cpuSeconds: pull.cpuSeconds,
      peakRssMB: pull.peakRssMB,
      cpuSecondsOfAnIdlePullOnTop: again.cpuSeconds,
      peakRssMBOfAnIdlePullOnTop: again.peakRssMB,
      requestsOfADayOnTop: day.report.requests.total,
      cpuSecondsOfADayOnTop: day.cpuSeconds,
      peakRssMBOfADayOnTop: day.peakRssMB,
      rebuiltDocuments: rebuild.report.documents,
      rebuiltDocumentsPerSecond: rebuild.report.documents / rebuild.report.seconds,
      rebuildCpuSeconds: rebuild.cpuSeconds,
      rebuildPeakRssMB: rebuild.peakRssMB,
      publishedMB: bytes / 1e6,
      publishedMBPerSecond: published.bytes / 1e6 / (published.ms / 1000),
    };
  } finally {
    await sandbox.stop();
    data.remove();
  }
}

/** How many documents a pull stored. @param {Record<string, string>} env @param {string} dir */
async function storedDocuments(env, dir) {
  const { report } = await worker(['sql', 'SELECT count(*) AS documents FROM raw.documents'], env, dir);
  return Number(report[0].documents);
}

/** The rows of the typed tables. @param {{rows: Record<string, {new: number, changed: number}>}} report */
function rowsOf(report) {
  return Object.values(report.rows).reduce((sum, counts) => sum + counts.new + counts.changed, 0);
}
