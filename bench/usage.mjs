// Loaded into a worker with --import: records the resources of the process when it ends. Peak memory is the kernel's.
import { writeFileSync } from 'node:fs';

const path = process.env.BENCH_USAGE_FILE;
if (path) {
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(
      path,
      JSON.stringify({ peakRssMB: maxRSS / 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 }),
    );
  });
}
