import { createHash } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';

/** How often the settings file is looked at. Its folder may be a mount that tells nobody of a change. */
const everyMs = 5_000;

/**
 * Calls `changed` when the settings file has other content, and on SIGHUP, until the returned function is called. On a terminal
 * SIGHUP means that its window was closed, and stays with those who end the process.
 */
export function watchSettings(
  path: string | undefined,
  isTerminal: boolean,
  changed: (why: 'SIGHUP' | 'the settings file has changed') => void,
): () => void {
  let content = contentOf(path);
  const onSignal = () => {
    content = contentOf(path);
    changed('SIGHUP');
  };
  const onFile = () => {
    const now = contentOf(path);
    // A file that is being replaced may be missing for a moment.
    if (now === content || now === undefined) return;
    content = now;
    changed('the settings file has changed');
  };
  if (!isTerminal) process.on('SIGHUP', onSignal);
  if (path !== undefined) watchFile(path, { interval: everyMs, persistent: false }, onFile);
  return () => {
    process.off('SIGHUP', onSignal);
    if (path !== undefined) unwatchFile(path, onFile);
  };
}

function contentOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch {
    return undefined;
  }
}
