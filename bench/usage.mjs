// Loaded into a worker with --import: notes what the process took, when it ends. Peak memory is the kernel's own figure.
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
