import type { EndpointName } from '../../contract/endpoints.js';
import type { Handler, Handlers } from './call.js';
import { companyHandlers } from './companies.js';
import { groupHandlers } from './groups.js';
import { organizationHandlers } from './organization.js';
import { personHandlers } from './people.js';
import { standIn } from './stand-in.js';
import { topicHandlers } from './topics.js';

const handlers: Partial<Handlers> = {
  ...topicHandlers,
  ...companyHandlers,
  ...personHandlers,
  ...groupHandlers,
  ...organizationHandlers,
};

/** Whether an endpoint is answered from the organization, and not with made-up values. */
export function hasHandler(name: EndpointName): boolean {
  return handlers[name] !== undefined;
}

/** The handler of an endpoint of the contract. */
export function handlerOf(name: EndpointName): Handler<EndpointName> {
  return (handlers[name] ?? standIn(name)) as Handler<EndpointName>;
}
