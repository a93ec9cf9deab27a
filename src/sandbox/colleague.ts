import { z } from 'zod';
import { priority } from '../contract/topics.js';
import * as changes from './world/changes/index.js';
import type { World } from './world/types.js';

/** What was deleted by a change, so that another change can restore it. */
interface Removed {
  readonly topics: Map<string, changes.RemovedTopic>;
  readonly people: Map<string, changes.RemovedPerson>;
  readonly companies: Map<string, changes.RemovedCompany>;
}

interface Context {
  readonly world: World;
  readonly actor: changes.Actor;
  readonly removed: Removed;
}

const id = z.string().min(1);
const ids = z.array(id).min(1);
const text = z.string();

/** A kind of change: the fields it needs, and what it does. */
function defineChange<T extends z.ZodRawShape>(
  shape: T,
  apply: (given: z.infer<z.ZodObject<T>>, context: Context) => unknown,
) {
  const schema = z.strictObject({ kind: text, ...shape });
  return (given: unknown, context: Context) => {
    // The name of the kind is not one of its fields.
    const { kind: _, ...needed } = schema.parse(given) as { kind: string };
    return apply(needed as z.infer<z.ZodObject<T>>, context) ?? null;
  };
}

const topicFields = z.strictObject({
  title: text.optional(),
  summary: text.optional(),
  keywords: z.array(text).optional(),
  issueType: text.nullish(),
  priority: priority.optional(),
  priorityReasoning: text.nullish(),
  lifecycleState: text.nullish(),
  lifecycleStateConfidence: z.number().nullish(),
});
const personFields = z.strictObject({
  displayName: text.optional(),
  primaryEmail: text.nullish(),
  avatarUrl: text.nullish(),
  description: text.nullish(),
  title: text.nullish(),
  isVip: z.boolean().optional(),
  isBot: z.boolean().optional(),
  isStaff: z.boolean().optional(),
});
const companyFields = z.strictObject({
  name: text.optional(),
  primaryDomain: text.nullish(),
  logoUrl: text.nullish(),
  isVip: z.boolean().optional(),
});
const identity = { platform: text, platformId: text, platformUsername: text.nullish() };

/** Every kind of change, by the name of its function in world/changes. */
const kinds = {
  createTopic: defineChange(
    { title: text, summary: text.default('') },
    ({ title, summary }, { world, actor }) =>
      changes.createTopic(world, { title, summary, issueType: null, keywords: [] }, actor),
  ),
  patchTopic: defineChange({ topicId: id, fields: topicFields }, ({ topicId, fields }, { world, actor }) =>
    changes.patchTopic(world, topicId, fields, actor),
  ),
  archiveTopic: defineChange(
    { topicId: id, reason: text.optional() },
    ({ topicId, reason }, { world, actor }) => changes.archiveTopic(world, topicId, reason, actor),
  ),
  unarchiveTopic: defineChange({ topicId: id }, ({ topicId }, { world, actor }) =>
    changes.unarchiveTopic(world, topicId, actor),
  ),
  supersedeTopic: defineChange(
    { topicId: id, successorId: id.nullable() },
    ({ topicId, successorId }, { world }) => changes.supersedeTopic(world, topicId, successorId),
  ),
  migrateTopic: defineChange({ topicId: id }, ({ topicId }, { world }) =>
    changes.migrateTopic(world, topicId),
  ),
  mergeTopics: defineChange({ sourceIds: ids, targetId: id }, ({ sourceIds, targetId }, { world, actor }) =>
    changes.mergeTopics(world, sourceIds, targetId, actor),
  ),
  deleteTopic: defineChange({ topicId: id }, ({ topicId }, { world, actor, removed }) => {
    removed.topics.set(topicId, changes.deleteTopic(world, topicId, actor));
  }),
  restoreTopic: defineChange({ topicId: id }, ({ topicId }, { world, actor, removed }) =>
    changes.restoreTopic(world, takeRemoved(removed.topics, 'topic', topicId), actor),
  ),

  createPerson: defineChange({ fields: personFields }, ({ fields }, { world, actor }) =>
    changes.createPerson(world, fields, actor),
  ),
  patchPerson: defineChange(
    { personId: id, fields: personFields },
    ({ personId, fields }, { world, actor }) => changes.patchPerson(world, personId, fields, actor),
  ),
  mergePeople: defineChange({ sourceIds: ids, targetId: id }, ({ sourceIds, targetId }, { world, actor }) =>
    changes.mergePeople(world, sourceIds, targetId, actor),
  ),
  deletePerson: defineChange({ personId: id }, ({ personId }, { world, actor, removed }) => {
    removed.people.set(personId, changes.deletePerson(world, personId, actor));
  }),
  restorePerson: defineChange({ personId: id }, ({ personId }, { world, actor, removed }) =>
    changes.restorePerson(world, takeRemoved(removed.people, 'person', personId), actor),
  ),
  employ: defineChange(
    { personId: id, companyId: id.nullable() },
    ({ personId, companyId }, { world, actor }) => changes.employ(world, personId, companyId, actor),
  ),
  linkIdentity: defineChange({ personId: id, ...identity }, ({ personId, ...account }, { world, actor }) =>
    changes.linkIdentity(world, personId, account, actor),
  ),

  createCompany: defineChange({ fields: companyFields }, ({ fields }, { world, actor }) =>
    changes.createCompany(world, fields, actor),
  ),
  patchCompany: defineChange(
    { companyId: id, fields: companyFields },
    ({ companyId, fields }, { world, actor }) => changes.patchCompany(world, companyId, fields, actor),
  ),
  mergeCompanies: defineChange(
    { sourceIds: ids, targetId: id },
    ({ sourceIds, targetId }, { world, actor }) => changes.mergeCompanies(world, sourceIds, targetId, actor),
  ),
  deleteCompany: defineChange({ companyId: id }, ({ companyId }, { world, actor, removed }) => {
    removed.companies.set(companyId, changes.deleteCompany(world, companyId, actor));
  }),
  restoreCompany: defineChange({ companyId: id }, ({ companyId }, { world, actor, removed }) =>
    changes.restoreCompany(world, takeRemoved(removed.companies, 'company', companyId), actor),
  ),
  linkCompanyIdentity: defineChange(
    { companyId: id, ...identity },
    ({ companyId, ...record }, { world, actor }) =>
      changes.linkCompanyIdentity(world, companyId, record, actor),
  ),

  addGroup: defineChange(
    { channelId: id, topicId: id.nullish(), title: text.nullish() },
    (fields, { world }) => changes.addGroup(world, fields),
  ),
  assignGroup: defineChange({ groupId: id, topicId: id.nullable() }, ({ groupId, topicId }, { world }) =>
    changes.assignGroup(world, groupId, topicId),
  ),
  addMessage: defineChange(
    { groupId: id, authorId: id, content: text, isInternal: z.boolean().optional(), replyToId: id.nullish() },
    (fields, { world }) => changes.addMessage(world, fields),
  ),
  editMessage: defineChange({ messageId: id, content: text }, ({ messageId, content }, { world }) =>
    changes.editMessage(world, messageId, content),
  ),
  deleteMessage: defineChange({ messageId: id }, ({ messageId }, { world }) =>
    changes.deleteMessage(world, messageId),
  ),
  removeMessage: defineChange({ messageId: id }, ({ messageId }, { world }) =>
    changes.removeMessage(world, messageId),
  ),
  react: defineChange(
    { messageId: id, identifier: text, unicode: text.nullable() },
    ({ messageId, ...reaction }, { world }) => changes.react(world, messageId, reaction),
  ),
} as const;

export type ChangeKind = keyof typeof kinds;

/** A change that another member of the organization makes: `kind`, and the fields which that kind needs. */
export type Change = { readonly kind: ChangeKind } & Record<string, unknown>;

export const changeKinds = Object.keys(kinds) as ChangeKind[];

/** A colleague: another member who changes the same organization while a client reads and writes. */
export class Colleague {
  readonly #removed: Removed = { topics: new Map(), people: new Map(), companies: new Map() };

  constructor(private readonly world: World) {}

  /**
   * Applies one change as the first member of the organization (as no user when it has no members). Returns the stored
   * entity or merge, if there is one.
   * @throws z.ZodError for a change that is not valid, UnknownEntityError for an entity that does not exist
   */
  change(change: Change): unknown {
    const [userId = null] = this.world.members.keys();
    return kinds[change.kind](change, {
      world: this.world,
      actor: { by: 'user', userId },
      removed: this.#removed,
    });
  }
}

function takeRemoved<T>(removed: Map<string, T>, what: string, id: string): T {
  const found = removed.get(id);
  if (!found) throw new changes.UnknownEntityError(`deleted ${what}`, id);
  removed.delete(id);
  return found;
}
