import { advance } from '../../../../src/sandbox/world/advance.js';
import * as change from '../../../../src/sandbox/world/changes/index.js';
import { Random } from '../../../../src/sandbox/world/random.js';
import type { World } from '../../../../src/sandbox/world/types.js';

/** One arbitrary change of the world, chosen by `code`; every exported change is among them. */
export function mutate(world: World, code: number): string {
  const random = new Random('mutate', code);
  const one = (map: ReadonlyMap<string, unknown>) => random.pick([...map.keys()]);
  const two = (map: ReadonlyMap<string, unknown>) => random.sample([...map.keys()], 2) as [string, string];
  const user = { by: 'user' as const, userId: one(world.members) };
  const changes: Record<string, () => unknown> = {
    patchTopic: () =>
      change.patchTopic(world, one(world.topics), { priority: 'high', lifecycleState: 'open' }, user),
    archiveTopic: () => change.archiveTopic(world, one(world.topics), 'why not', user),
    unarchiveTopic: () => change.unarchiveTopic(world, one(world.topics), user),
    supersedeTopic: () => change.supersedeTopic(world, ...two(world.topics)),
    migrateTopic: () => {
      const active = [...world.topics.values()].filter((topic) => topic.graphStatus === 'active');
      change.migrateTopic(world, random.pick(active).id);
    },
    mergeTopics: () => {
      const [source, target] = two(world.topics);
      change.mergeTopics(world, [source], target, user);
    },
    deleteTopic: () => {
      const removed = change.deleteTopic(world, one(world.topics), user);
      if (random.chance(0.5)) mutate(world, code + 1_000_003);
      change.restoreTopic(world, removed, user);
    },
    createTopic: () =>
      change.createTopic(
        world,
        { title: 'New', summary: '', issueType: null, keywords: [] },
        change.agentActor,
      ),
    patchPerson: () =>
      change.patchPerson(world, one(world.people), { isStaff: random.chance(0.5), isVip: true }, user),
    createPerson: () => change.createPerson(world, { primaryEmail: 'new@mail.example' }, user),
    employ: () =>
      change.employ(
        world,
        one(world.people),
        random.chance(0.3) ? null : one(world.companies),
        change.systemActor,
      ),
    mergePeople: () => {
      const [source, target] = two(world.people);
      change.mergePeople(world, [source, target], target, user);
    },
    deletePerson: () => {
      const removed = change.deletePerson(world, one(world.people), user);
      if (random.chance(0.7)) change.restorePerson(world, removed, user);
    },
    linkIdentity: () => {
      const author = world.authors.get(one(world.authors));
      const known = random.chance(0.7) && author !== undefined;
      const platformId = known ? author.sourceAuthorId : `U${code}`;
      change.linkIdentity(
        world,
        one(world.people),
        { platform: author?.sourceName ?? 'slack', platformId },
        user,
      );
    },
    patchCompany: () => change.patchCompany(world, one(world.companies), { name: 'Renamed' }, user),
    createCompany: () => change.createCompany(world, { primaryDomain: 'new.example' }, user),
    addCompanyPeople: () => change.addCompanyPeople(world, one(world.companies), two(world.people), user),
    mergeCompanies: () => {
      const [source, target] = two(world.companies);
      if (world.companies.size > 4) change.mergeCompanies(world, [source], target, user);
    },
    deleteCompany: () => {
      const removed = change.deleteCompany(world, one(world.companies), user);
      change.restoreCompany(world, removed, user);
    },
    linkCompanyIdentity: () =>
      change.linkCompanyIdentity(world, one(world.companies), { platform: 'crm', platformId: '1' }, user),
    addGroup: () => change.addGroup(world, { channelId: one(world.channels), topicId: one(world.topics) }),
    assignGroup: () =>
      change.assignGroup(world, one(world.groups), random.chance(0.3) ? null : one(world.topics)),
    addMessage: () =>
      change.addMessage(world, {
        groupId: one(world.groups),
        authorId: one(world.authors),
        content: 'Hello',
      }),
    editMessage: () => change.editMessage(world, one(world.messages), 'Better'),
    deleteMessage: () => change.deleteMessage(world, one(world.messages)),
    removeMessage: () => change.removeMessage(world, one(world.messages)),
    react: () => change.react(world, one(world.messages), { identifier: 'eyes', unicode: null }),
    advance: () => advance(world, 1, { merges: 0.02, archives: 0.05, deletions: 0.01 }),
  };
  const name = random.pick(Object.keys(changes));
  changes[name]?.();
  return name;
}
