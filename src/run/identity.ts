import type { Attempt } from '../api/attempt.js';
import type { Api } from '../api/client.js';
import { Priority } from '../api/request.js';
import type { Arrival } from '../base/clock.js';
import { ContractError, RefusedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import type { Organization } from '../store/runs.js';

/** The answer of whoami, which is asked before the warehouse is opened. */
export interface Identity {
  readonly organization: { readonly id: string; readonly name: string | null };
  /** The organization as the API returned it. */
  readonly body: Record<string, unknown>;
  readonly arrivedAt: Arrival;
  /** The attempts that the call took; the run counts them as its own. */
  readonly attempts: readonly Attempt[];
}

/** Asks the API which organization the key belongs to. Throws RefusedError when the API does not accept the key. */
export async function whoAmI(api: Api, stop?: AbortSignal): Promise<Identity> {
  const attempts: Attempt[] = [];
  const onAttempt = (attempt: Attempt) => void attempts.push(attempt);
  api.events.on('attempt', onAttempt);
  try {
    const { body, arrivedAt } = await api.call('whoami', {}, { priority: Priority.essential, signal: stop });
    const organization = isObject(body) && isObject(body.organization) ? body.organization : undefined;
    const { id, name } = organization ?? {};
    if (organization === undefined || typeof id !== 'string' || id === '') {
      const where = { endpoint: 'whoami', method: 'GET', path: '/whoami' };
      throw new ContractError('GET /whoami: the answer names no organization', where, {
        hint: 'Check that SIGNALHOUSE_BASE_URL is the address of a Product-Signals API.',
      });
    }
    return {
      organization: { id, name: typeof name === 'string' ? name : null },
      body: organization,
      arrivedAt,
      attempts,
    };
  } finally {
    api.events.off('attempt', onAttempt);
  }
}

/** Throws RefusedError when the warehouse holds the data of another organization than the key's. */
export function refuseAnother(owner: Organization | null, { organization }: Identity, dataDir: string): void {
  if (owner === null || owner.id === organization.id) return;
  const called = (one: { id: string; name: string | null }) =>
    one.name ? `${one.name} (${one.id})` : one.id;
  throw new RefusedError(
    `the warehouse in ${dataDir} belongs to ${called(owner)}, but the key belongs to ${called(organization)}`,
    { hint: 'Use the key of the first, or point SIGNALHOUSE_DATA_DIR at another directory.' },
  );
}
