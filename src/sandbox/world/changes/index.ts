/**
 * Every change of the sandbox's organization, by request or as time passes, with the fields that it needs. Each happens one
 * millisecond after the last (`world.now`), records history as the service would, and sets `updatedAt`. It throws an
 * `UnknownEntityError` for an entity that does not exist.
 */

export * from './conversations.js';
export * from './people.js';
export * from './topics.js';
