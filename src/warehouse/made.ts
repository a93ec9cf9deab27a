import { createHash } from 'node:crypto';
import type { Session, Statements } from './store/session.js';

/**
 * What the live file has that is made of the rest of it: the views that publications copy, the tables derived from others, and
 * ops.entities.
 */
type What = 'views' | 'derived' | 'entities';

/** Until it is finished. */
const inTheMaking = '';

/**
 * Makes something with `make`, unless it was made of the same texts and `forgetMade` was not called since. What is made while
 * `forgetMade` is called, or while the process is killed, is made again the next time.
 */
export async function makeOnce<T>(
  session: Session,
  what: What,
  texts: readonly string[],
  make: () => Promise<T>,
): Promise<T | null> {
  const checksum = createHash('sha256').update(texts.join('\n')).digest('hex');
  const params = { what, checksum };
  const known = await session.all(
    'SELECT 1 FROM appended.made WHERE what = $what AND checksum = $checksum',
    params,
  );
  if (known.length > 0) return null;
  await session.transaction(async (tx) => {
    await forgetMade(tx, what);
    await tx.run('INSERT INTO appended.made VALUES ($what, $checksum)', { what, checksum: inTheMaking });
  });
  const made = await make();
  await session.run('UPDATE appended.made SET checksum = $checksum WHERE what = $what', params);
  return made;
}

/** Has something made again: call it in the transaction that changes what it is made of. */
export async function forgetMade(tx: Statements, what: What): Promise<void> {
  await tx.run('DELETE FROM appended.made WHERE what = $what', { what });
}
