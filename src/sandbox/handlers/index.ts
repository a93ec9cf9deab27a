import type { EndpointName } from '../../contract/endpoints.js';
import type { ReadEndpoints } from '../../contract/resources.js';
import type { Handler, Handlers } from './call.js';
import { companyHandlers } from './companies.js';
import { groupHandlers } from './groups.js';
import { organizationHandlers } from './organization.js';
import { personHandlers } from './people.js';
import { standIn } from './stand-in.js';
import { topicHandlers } from './topics.js';
import { plainWrites } from './writes.js';

/** Writes and whoami need a handler: a missing one fails to compile. A read may have one. */
const handlers: Partial<Handlers> & Omit<Handlers, keyof ReadEndpoints> = {
  ...topicHandlers,
  ...companyHandlers,
  ...personHandlers,
  ...groupHandlers,
  ...organizationHandlers,
  ...plainWrites,
};

/** Whether an endpoint is answered from the organization, and not with made-up values. */
export function hasHandler(name: EndpointName): boolean {
  return handlers[name] !== undefined;
}

/** The handler of an endpoint of the contract. */
export function handlerOf(name: EndpointName): Handler<EndpointName> {
  return (handlers[name] ?? standIn(name as keyof ReadEndpoints)) as unknown as Handler<EndpointName>;
}
