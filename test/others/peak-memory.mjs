// Loaded before the program (`node --import`): writes the most memory that its process had, in bytes, to PEAK_MEMORY_FILE.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  writeFileSync(process.env.PEAK_MEMORY_FILE ?? '', String(process.resourceUsage().maxRSS * 1024));
});
