/**
 * Everything that can happen to the sandbox's organization, by request or as time passes. Each change happens one
 * millisecond after the last (`world.now`), records history where the service would, moves `updatedAt`, and drops
 * exactly the derived numbers that it moves. An entity that is not there is an `UnknownEntityError`.
 */

export { type Actor, agentActor, historyOf, systemActor, UnknownEntityError } from '../history.js';
export * from './companies.js';
export * from './conversations.js';
export * from './people.js';
export * from './topics.js';
