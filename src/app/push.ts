import { existsSync } from 'node:fs';
import { type Access, type Observe, push, type WorkerOptions } from '../app.js';
import type { PushOptions, PushReport } from '../push/report.js';
import { filesOf } from '../warehouse/engine.js';

/** As `push`, for whoever did not ask for it by name: null where there is no warehouse yet, and so no queue. */
export async function pushQueued(
  access: Access,
  options: PushOptions & WorkerOptions,
  observe: Observe,
): Promise<PushReport | null> {
  const { worker, published } = filesOf(access.config.dataDir);
  if (!existsSync(worker) && !existsSync(published)) return null;
  return push(access, options, observe);
}
