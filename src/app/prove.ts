import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomicallySync } from '../base/atomic-file.js';
import { Scope } from '../base/scope.js';
import { decide, type Proof } from '../prove/assumptions.js';
import { forecast } from '../prove/forecast.js';
import { observe } from '../prove/observe.js';
import { connect } from './connect.js';
import type { Access } from './setup.js';

/** What `doctor --prove` found. */
export type Proving = Awaited<ReturnType<typeof prove>>;

interface Stored {
  readonly provedAt: string;
  readonly programVersion: string;
  readonly proof: readonly Pick<Proof, 'id' | 'verdict' | 'evidence'>[];
}

/**
 * Asks the API what it can, decides the assumptions, and replaces proof.json, the `file`, which is null without a data
 * directory. `before` is the proof before this one: null for the first. Throws what `observe` throws.
 */
export async function prove(access: Access) {
  const { config, programVersion } = access;
  return Scope.run(async (scope) => {
    // Each request is repeated once at the most.
    const api = connect(access, { waits: false, retry: { attempts: 2, rateLimitedMs: 1 } });
    scope.defer(() => api.close());
    const observations = await observe(api);
    const proof = decide(observations);
    const file = existsSync(config.dataDir) ? join(config.dataDir, 'proof.json') : null;
    const before = file === null ? null : read(file);
    const verdicts = proof.map(({ id, verdict, evidence }) => ({ id, verdict, evidence }));
    const stored: Stored = { provedAt: new Date().toISOString(), programVersion, proof: verdicts };
    if (file !== null) writeAtomicallySync(file, `${JSON.stringify(stored, null, 2)}\n`);
    const expected = forecast(observations, config.sync.personGroups);
    return { requests: observations.requests, proof, forecast: expected, before, file };
  });
}

/** A file that is missing or damaged is no proof to compare with. */
function read(path: string): Stored | null {
  try {
    const stored = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(stored?.proof) && typeof stored.provedAt === 'string' ? stored : null;
  } catch {
    return null;
  }
}
