import {
  addGroup,
  addMessage,
  archiveTopic,
  createCompany,
  createPerson,
  createTopic,
  deleteMessage,
  employ,
  linkCompanyIdentity,
  linkIdentity,
  migrateTopic,
  react,
  supersedeTopic,
} from '../../../src/sandbox/world/changes/index.js';
import { emptyWorld } from '../../../src/sandbox/world/generate.js';
import type {
  StoredAuthor,
  StoredGroup,
  StoredMessage,
  StoredPerson,
  StoredTopic,
  World,
} from '../../../src/sandbox/world/types.js';

const colleague = { by: 'user', userId: 'member-1' } as const;
const start = Date.UTC(2026, 5, 15);

/** A very small organization that has every resource and every state of a topic. */
export function smallWorld() {
  const world = emptyWorld({ id: 'org_small', name: 'Small & Co', slug: 'small' }, start);
  world.members.set('member-1', { id: 'member-1', name: 'Mia Member', image: null });
  addChannel(world, 'a0000000-0000-4000-8000-000000000001', 'support', 'slack', true);
  addChannel(world, 'a0000000-0000-4000-8000-000000000002', 'left-behind', 'discord', false);

  const acme = createCompany(
    world,
    { fields: { name: 'Acme', primaryDomain: 'acme.test', logoUrl: 'https://logo.test/a.png' } },
    colleague,
  );
  const globex = createCompany(
    world,
    { fields: { name: 'Globex', primaryDomain: 'globex.test' } },
    colleague,
  );
  linkCompanyIdentity(world, { companyId: acme.id, platform: 'salesforce', platformId: '001' }, colleague);
  const ada = createPerson(
    world,
    {
      fields: {
        displayName: 'Ada',
        primaryEmail: 'ada@acme.test',
        avatarUrl: 'https://avatar.test/ada.png',
        isVip: true,
      },
    },
    colleague,
  );
  const bob = createPerson(
    world,
    { fields: { displayName: 'Bob 🐙', connections: { github: 'bob' } } },
    colleague,
  );
  const staff = createPerson(world, { fields: { displayName: 'Sam Staff', isStaff: true } }, colleague);
  employ(world, { personId: ada.id, companyId: acme.id }, colleague);
  const adaSlack = linkIdentity(world, account(ada, 'slack', 'U1', 'ada'), colleague);
  const bobSlack = linkIdentity(world, account(bob, 'slack', 'U2', 'bob'), colleague);
  const staffSlack = linkIdentity(world, account(staff, 'slack', 'U3', 'sam'), colleague);

  const exports = topic(world, 'Exports time out', 'Large CSV exports never finish', ['export', 'csv']);
  const login = topic(world, 'Login loops', 'Single sign-on sends people in circles', ['login', 'sso']);
  const archived = topic(world, 'Old pricing', 'Questions on the price list of last year', ['pricing']);
  const migrated = topic(world, 'A v1 topic', 'From before the migration', ['legacy']);
  const superseded = topic(world, 'Export is slow', 'Dissolved into another', ['export']);
  const first = conversation(world, exports, [adaSlack, staffSlack, adaSlack]);
  const second = conversation(world, exports, [bobSlack]);
  conversation(world, login, [adaSlack, bobSlack]);
  conversation(world, migrated, [bobSlack]);
  const loose = conversation(world, null, [bobSlack]);
  const [, , last = ''] = first.messageIds;
  react(world, { messageId: last, identifier: 'thumbsup', unicode: '👍' }, colleague);
  deleteMessage(world, { messageId: second.messageIds[0] ?? '' }, colleague);
  archiveTopic(world, { topicId: archived.id, reason: 'answered in the docs' }, colleague);
  migrateTopic(world, { topicId: migrated.id }, colleague);
  supersedeTopic(world, { topicId: superseded.id, successorId: exports.id }, colleague);

  addStory(world, 'read-for-me', { isRead: true, forMe: true, archived: false, day: 1 });
  addStory(world, 'unread', { isRead: false, forMe: false, archived: false, day: 2 });
  addStory(world, 'put-away', { isRead: true, forMe: false, archived: true, day: 3 });
  world.templates.set('weekly-digest', { slug: 'weekly-digest', name: 'Weekly digest', prompt: 'Sum up' });
  return {
    world,
    topics: { exports, login, archived, migrated, superseded },
    people: { ada, bob, staff },
    companies: { acme, globex },
    groups: { first, second, loose },
  };
}

export type SmallWorld = ReturnType<typeof smallWorld>;

function account(person: StoredPerson, platform: string, platformId: string, platformUsername: string) {
  return { personId: person.id, platform, platformId, platformUsername };
}

function topic(world: World, title: string, summary: string, keywords: string[]): StoredTopic {
  return createTopic(world, { title, summary, keywords, issueType: 'bug_report' }, colleague);
}

/** A conversation with one message of each author; each message answers the one before. */
function conversation(world: World, of: StoredTopic | null, authors: StoredAuthor[]): StoredGroup {
  const channelId = 'a0000000-0000-4000-8000-000000000001';
  const given = { topicId: of?.id, title: of?.title, similarityAtAssignment: of ? 0.9 : null };
  const group = addGroup(world, { channelId, ...given }, colleague);
  let threadId: string | null = null;
  let replyToId: string | null = null;
  for (const author of authors) {
    world.now += 60_000;
    const content = `${author.displayName} says <b>so</b> 🐛`;
    const written = { groupId: group.id, authorId: author.id, content, replyToId, threadId };
    const message: StoredMessage = addMessage(world, written, colleague);
    replyToId = message.id;
    threadId ??= message.id;
  }
  return group;
}

function addChannel(
  world: World,
  id: string,
  channelName: string,
  sourceName: string,
  isConnected: boolean,
): void {
  world.channels.set(id, {
    id,
    channelName,
    context: 'Questions of customers',
    description: isConnected ? 'Where customers ask' : null,
    createdAt: start,
    updatedAt: start,
    isConnected,
    serverName: 'Small server',
    sourceChannelId: `source-${channelName}`,
    sourceName,
    sourceServerId: 'server-1',
  });
}

function addStory(
  world: World,
  slug: string,
  story: { isRead: boolean; forMe: boolean; archived: boolean; day: number },
): void {
  const layout = { root: 'top', elements: { top: { type: 'Text', props: { text: slug }, children: [] } } };
  world.stories.set(slug, {
    slug,
    createdAt: start + story.day * 86_400_000,
    isRead: story.isRead,
    archive: story.archived
      ? {
          actor: { type: 'member', name: 'Mia', image: null, userId: 'member-1' },
          archivedAt: start,
          reason: null,
        }
      : null,
    draft: {
      slug,
      title: slug,
      summary: 'What happened',
      version: 1,
      sourceRefs: [{ id: 'x', type: 'topic' }],
      list: layout,
      detail: { main: layout, sidebar: layout, title: slug },
    },
    relevantMembers: story.forMe
      ? [
          {
            memberId: 'member-1',
            linkedAuthorIds: [],
            relevanceKind: 'action',
            relevanceLabel: null,
            relevanceRationale: 'it is theirs',
            user: { id: 'member-1', image: null, name: 'Mia Member' },
          },
        ]
      : [],
    viewerMemberId: story.forMe ? 'member-1' : null,
  });
}
