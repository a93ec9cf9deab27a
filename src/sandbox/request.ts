import type { EndpointName } from '../contract/endpoints.js';
import type { FaultRule } from './faults.js';
import type { Principal } from './service.js';

/** What the service notes on a request on its way through the hooks of server.ts. */
declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
    /** The fault that strikes this request, if any. */
    fault: FaultRule | null;
    /** The body as it was sent, byte for byte (as text), and as it was before validation. */
    sentText: string;
    given: unknown;
    /** The idempotency claim that the answer has to settle. */
    claim: string | null;
  }
  interface FastifyContextConfig {
    endpoint?: EndpointName;
  }
}
