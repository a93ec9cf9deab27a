import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { serveAssistant as serve } from '../assistant/server.js';
import { openPublished, type Snapshot } from '../warehouse/read/query.js';
import { assistantLimitsOf, type Setup } from './setup.js';

/** Beside `src/` and beside `dist/`. */
const cookbook = fileURLToPath(new URL('../../docs/cookbook.md', import.meta.url));

/**
 * Serves an assistant over stdin and stdout until `stop`. The snapshot is opened for each request, which takes 30 ms: an
 * assistant that runs for days sees the newest one, and keeps no old one on the disk.
 */
export async function serveAssistant(
  { config, log, programVersion: version }: Setup,
  stop: AbortSignal,
): Promise<void> {
  const limits = assistantLimitsOf(config);
  await serve(
    {
      ...{ maxRows: config.mcp.maxRows, querySeconds: config.mcp.querySeconds, version, log },
      cookbook: await readFile(cookbook, 'utf8'),
      withSnapshot: async <T>(work: (snapshot: Snapshot) => Promise<T>) => {
        const snapshot = await openPublished(config.dataDir, limits);
        try {
          return await work(snapshot);
        } finally {
          snapshot.close();
        }
      },
    },
    stop,
  );
}
