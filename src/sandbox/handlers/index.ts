import type { Handlers } from '../call.js';
import { writeAutomations } from './automations.js';
import { readCompanies } from './companies.js';
import { writeCompanies } from './company-writes.js';
import { readGroups } from './groups.js';
import { readPeople } from './people.js';
import { writePeople } from './people-writes.js';
import { readService } from './service.js';
import { readStories } from './stories.js';
import { writeTopics } from './topic-writes.js';
import { readTopics } from './topics.js';

/** What each endpoint of the contract does. */
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
