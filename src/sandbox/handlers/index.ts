import { writeAutomations } from './automations.js';
import type { Handlers } from './call.js';
import { readCompanies, writeCompanies } from './companies.js';
import { readGroups } from './groups.js';
import { readService, readStories } from './organization.js';
import { readPeople, writePeople } from './people.js';
import { readTopics, writeTopics } from './topics.js';

/** The handler of each endpoint of the contract. */
export const handlers: Handlers = {
  ...readService,
  ...readTopics,
  ...writeTopics,
  ...readPeople,
  ...writePeople,
  ...readCompanies,
  ...writeCompanies,
  ...readGroups,
  ...readStories,
  ...writeAutomations,
};
