import { changes } from '../../../src/sandbox/world/changes/index.js';
import { defaultSizes, generate } from '../../../src/sandbox/world/generate.js';
import type {
  StoredCompany,
  StoredPerson,
  StoredTopic,
  WorldSizes,
} from '../../../src/sandbox/world/types.js';

/** Small enough to be generated many times, large enough to contain every kind of entity. */
export const smallSizes: WorldSizes = {
  ...defaultSizes,
  topics: 40,
  people: 90,
  companies: 12,
  messages: 700,
  channels: 8,
  stories: 6,
  templates: 3,
};
const made = generate({ ...smallSizes, topics: 12, people: 30, companies: 6, messages: 150 });

/** A small organization of its own for a test, and some of it by what it is. */
export function smallWorld() {
  const world = structuredClone(made);
  const colleague = { by: 'user', userId: [...world.members.keys()][0] ?? '' } as const;
  const [exports, login, archived] = [...world.topics.values()].filter(
    ({ graphStatus, groupIds, migrated }) => graphStatus === 'active' && groupIds.length > 0 && !migrated,
  ) as [StoredTopic, StoredTopic, StoredTopic];
  changes.archiveTopic(world, { topicId: archived.id, reason: 'answered in the docs' }, colleague);
  Object.assign(exports, { priority: 'default', lifecycleState: null });
  const merged = new Set(world.merges.map(({ targetId }) => targetId));
  const [ada, bob, other] = [...world.people.values()].filter(
    ({ id, isStaff, authorIds }) => !isStaff && authorIds.length > 0 && !merged.has(id),
  ) as [StoredPerson, StoredPerson, StoredPerson];
  ada.avatarUrl = 'https://avatar.test/ada.png';
  const [acme, globex] = [...world.companies.values()].filter(({ isOrgCompany }) => !isOrgCompany) as [
    StoredCompany,
    StoredCompany,
  ];
  return {
    world,
    topics: { exports, login, archived },
    people: { ada, bob, other },
    companies: { acme, globex },
  };
}

export type SmallWorld = ReturnType<typeof smallWorld>;
