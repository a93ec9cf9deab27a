import type { StoredOrganization, World } from './world/types.js';

/** An organization in which nothing has happened yet. */
export function emptyWorld(organization: StoredOrganization, now: number): World {
  return {
    seed: 0,
    now,
    organization,
    members: new Map(),
    topics: new Map(),
    groups: new Map(),
    messages: new Map(),
    authors: new Map(),
    people: new Map(),
    companies: new Map(),
    channels: new Map(),
    stories: new Map(),
    templates: new Map(),
    automations: new Map(),
    history: new Map(),
    merges: [],
  };
}
