import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type ExplainedKind, serveAssistant as serve } from '../assistant/server.js';
import { UsageError } from '../base/errors.js';
import { count } from '../base/units.js';
import type { Snapshot } from '../read/query.js';
import { recordRead } from './audit.js';
import { candidates, type Explanation, explainEntity } from './explain.js';
import { readingLimitsOf, type Setup } from './setup.js';
import { withSnapshot } from './snapshot.js';

/** Beside `src/` and beside `dist/`. */
const cookbook = fileURLToPath(new URL('../../docs/cookbook.md', import.meta.url));

const hint = 'Use query: the views have what there is to know from this file.';

/** The most entities to choose from. */
const most = 10;

/**
 * Serves an assistant over stdin and stdout until `stop`; `textOf` writes an explanation for it. The snapshot is opened
 * for each request, which takes 30 ms: an assistant that runs for days sees the newest one, and keeps no old one on the
 * disk.
 */
export async function serveAssistant(
  setup: Setup,
  stop: AbortSignal,
  textOf: (explanation: Explanation) => string,
): Promise<void> {
  const { config, log, programVersion: version } = setup;
  // Nobody reads its queries before they run.
  const limits = { ...readingLimitsOf(config), spillLimit: '1GB' };

  async function explain(snapshot: Snapshot, kind: ExplainedKind, what: string): Promise<string> {
    const leftOut = await snapshot.leftOut();
    if (leftOut !== undefined)
      throw new UsageError(`explain needs a file with everything. ${leftOut}`, [], { hint });
    const { found, others } = await candidates(snapshot, kind, what);
    const [only] = found;
    if (only && found.length === 1) return textOf(await explainEntity(setup, snapshot, kind, only.id));
    if (!only) {
      const other = others.map((one) => `There is a ${one.kind} with this id.`).join(' ');
      return `There is no ${kind} with the id, title or name ${JSON.stringify(what)}, or a part of it. ${other}`.trim();
    }
    const lines = found.slice(0, most).map(({ id, name }) => `- ${id}: ${name ?? 'without a name'}`);
    return [`${count(found.length)} match; ask again with the id of one:`, ...lines].join('\n');
  }

  await serve(
    {
      version,
      log,
      explain,
      recordRead: (tool, rows, tables) => recordRead(setup, { by: tool, tables, rows }),
      cookbook: await readFile(cookbook, 'utf8'),
      withSnapshot: (work) => withSnapshot(setup, work, { limits }),
    },
    stop,
  );
}
