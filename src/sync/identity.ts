import { type Api, Priority } from '../api/client.js';
import type { Attempt } from '../api/events.js';
import { ContractError, RefusedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import type { Organization } from '../warehouse/store/runs.js';
import type { Identity } from './running.js';

/** Asks whose key it is. Throws RefusedError for a key that the API does not take. */
export async function whoAmI(api: Api, stop?: AbortSignal): Promise<Identity> {
  const attempts: Attempt[] = [];
  const seen = (attempt: Attempt) => void attempts.push(attempt);
  api.events.on('attempt', seen);
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
    const known = { id, name: typeof name === 'string' ? name : null };
    return { organization: known, body: organization, arrivedAt, attempts };
  } finally {
    api.events.off('attempt', seen);
  }
}

/** Refuses to mix two organizations in one warehouse. */
export function refuseAnother(owner: Organization | null, { organization }: Identity, dataDir: string): void {
  if (owner === null || owner.id === organization.id) return;
  const called = (one: { id: string; name: string | null }) =>
    one.name ? `${one.name} (${one.id})` : one.id;
  throw new RefusedError(
    `the warehouse in ${dataDir} belongs to ${called(owner)}, and the key to ${called(organization)}`,
    { hint: 'Use the key of the first, or point SIGNALHOUSE_DATA_DIR at another directory.' },
  );
}
