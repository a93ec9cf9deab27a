/**
 * Everything that can happen to the sandbox's organization, by request or as time passes. Each change happens one
 * millisecond after the last (`world.now`), records history where the service would, moves `updatedAt`, and drops
 * exactly the derived numbers that it moves. An entity that is not there is an `UnknownEntityError`.
 */

export * from './changes/companies.js';
export * from './changes/conversations.js';
export * from './changes/people.js';
export * from './changes/topics.js';
export { type Actor, agentActor, historyOf, systemActor, UnknownEntityError } from './history.js';
