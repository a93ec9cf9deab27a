import type { Handlers } from './call.js';
import { companyHandlers } from './companies.js';
import { readGroups } from './groups.js';
import { readService, readStories } from './organization.js';
import { readPeople } from './people.js';
import { topicHandlers } from './topics.js';
import { plainWrites } from './writes.js';

/** The handler of each endpoint of the contract. */
export const handlers: Handlers = {
  ...readService,
  ...topicHandlers,
  ...companyHandlers,
  ...readPeople,
  ...readGroups,
  ...readStories,
  ...plainWrites,
};
