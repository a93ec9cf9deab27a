// A first pull of 1,000,000 messages, a day of changes and a run with nothing new, with the default settings: time, memory and
// exit codes. Takes about an hour of CPU, so it runs only when it is named. BENCH_CGROUP names a memory cgroup (v1) with a
// limit, in which the worker runs and the sandbox does not:
//   mkdir /sys/fs/cgroup/memory/bench; echo 1073741824 > /sys/fs/cgroup/memory/bench/memory.limit_in_bytes
//   BENCH_CGROUP=/sys/fs/cgroup/memory/bench npm run bench -- large
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { limited, makeDataDir, startSandbox, worker } from './processes.mjs';

const sizes = { topics: 1_500, people: 4_000, companies: 400, messages: 1_000_000 };

export async function benchLarge() {
  const cgroup = process.env.BENCH_CGROUP;
  const sandbox = await startSandbox(sizes);
  const data = makeDataDir();
  const env = limited(sandbox.env);
  /** @type {Record<string, number>} */
  const figures = {};
  /** @param {string} name */
  const sync = async (name) => {
    if (cgroup) writeFileSync(join(cgroup, 'memory.max_usage_in_bytes'), '0');
    // Raises when the command does not end with 0.
    const { report, seconds, cpuSeconds, peakRssMB } = await worker(['sync'], env, data.dir, cgroup);
    figures[`${name}Requests`] = report.requests.total;
    figures[`${name}Seconds`] = seconds;
    figures[`${name}CpuSeconds`] = cpuSeconds;
    figures[`${name}PeakRssMB`] = peakRssMB;
    // What comes after it may take hours, or fail.
    console.error(`${name}: ${cpuSeconds.toFixed(0)} s of CPU, ${peakRssMB.toFixed(0)} MB`);
    if (cgroup) {
      figures[`${name}PeakWithFileCacheMB`] =
        Number(readFileSync(join(cgroup, 'memory.max_usage_in_bytes'), 'utf8')) / 1e6;
    }
  };
  try {
    if (cgroup) {
      figures.memoryLimitMB = Number(readFileSync(join(cgroup, 'memory.limit_in_bytes'), 'utf8')) / 1e6;
    }
    await sync('first');
    await sandbox.post('/__sandbox/advance', { days: 1 });
    await sync('day');
    await sync('idle');
    figures.publishedMB = statSync(join(data.dir, 'data', 'signals.duckdb')).size / 1e6;
    return figures;
  } finally {
    await sandbox.stop();
    data.remove();
  }
}
