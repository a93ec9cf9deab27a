/**
 * Every change of the sandbox's organization, by request or as time passes. Each change happens one millisecond after the
 * last (`world.now`), records history as the service would, and sets `updatedAt`. It throws an `UnknownEntityError` for an
 * entity that does not exist.
 */

export { type Actor, agentActor, UnknownEntityError } from '../history.js';
export * from './companies.js';
export * from './conversations.js';
export * from './people.js';
export * from './topics.js';
