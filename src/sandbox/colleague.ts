import { z } from 'zod';
import { priority } from '../contract/topics.js';
import * as changes from './world/changes/index.js';
import type { World } from './world/types.js';

type Restore = (actor: changes.Actor) => unknown;

/** Who makes a change, and where; `removed` restores what an earlier change deleted. */
interface Context {
  readonly world: World;
  readonly actor: changes.Actor;
  readonly removed: Map<string, Restore>;
}

const id = z.string().min(1);
const text = z.string();
const flag = z.boolean();

/** A kind of change: the fields it needs, and what it does. */
function defineChange<T extends z.ZodRawShape>(
  shape: T,
  apply: (context: Context, given: z.infer<z.ZodObject<T>>) => unknown,
) {
  const schema = z.object(shape).strict();
  return (context: Context, given: unknown) => apply(context, schema.parse(given));
}

/** The fields that name what a change is about. */
const topic = { topicId: id };
const person = { personId: id };
const company = { companyId: id };
const merge = { sourceIds: z.array(id).min(1), targetId: id };
const identity = { platform: text, platformId: text, platformUsername: text.nullish() };

/** What can be set of a topic, a person and a company. */
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
  isVip: flag.optional(),
  isBot: flag.optional(),
  isStaff: flag.optional(),
});
const companyFields = z.strictObject({
  name: text.optional(),
  primaryDomain: text.nullish(),
  logoUrl: text.nullish(),
  isVip: flag.optional(),
});
const group = { channelId: id, topicId: id.nullish(), title: text.nullish() };
const message = {
  groupId: id,
  authorId: id,
  content: text,
  isInternal: flag.optional(),
  replyToId: id.nullish(),
};

/** Every kind of change, by the name of its function in world/changes. */
const kinds = {
  createTopic: defineChange({ title: text, summary: text.default('') }, ({ world, actor }, fields) =>
    changes.createTopic(world, { ...fields, issueType: null, keywords: [] }, actor),
  ),
  patchTopic: defineChange({ ...topic, fields: topicFields }, ({ world, actor }, { topicId, fields }) =>
    changes.patchTopic(world, topicId, fields, actor),
  ),
  archiveTopic: defineChange({ ...topic, reason: text.optional() }, ({ world, actor }, { topicId, reason }) =>
    changes.archiveTopic(world, topicId, reason, actor),
  ),
  unarchiveTopic: defineChange(topic, ({ world, actor }, { topicId }) =>
    changes.unarchiveTopic(world, topicId, actor),
  ),
  supersedeTopic: defineChange({ ...topic, successorId: id.nullable() }, ({ world }, given) =>
    changes.supersedeTopic(world, given.topicId, given.successorId),
  ),
  migrateTopic: defineChange(topic, ({ world }, { topicId }) => changes.migrateTopic(world, topicId)),
  mergeTopics: defineChange(merge, ({ world, actor }, { sourceIds, targetId }) =>
    changes.mergeTopics(world, sourceIds, targetId, actor),
  ),
  deleteTopic: defineChange(topic, ({ world, actor, removed }, { topicId }) => {
    removed.set(`topic ${topicId}`, changes.deleteTopic(world, topicId, actor));
  }),
  restoreTopic: defineChange(topic, (context, { topicId }) => restore(context, 'topic', topicId)),

  createPerson: defineChange({ fields: personFields }, ({ world, actor }, { fields }) =>
    changes.createPerson(world, fields, actor),
  ),
  patchPerson: defineChange({ ...person, fields: personFields }, ({ world, actor }, { personId, fields }) =>
    changes.patchPerson(world, personId, fields, actor),
  ),
  mergePeople: defineChange(merge, ({ world, actor }, { sourceIds, targetId }) =>
    changes.mergePeople(world, sourceIds, targetId, actor),
  ),
  deletePerson: defineChange(person, ({ world, actor, removed }, { personId }) => {
    removed.set(`person ${personId}`, changes.deletePerson(world, personId, actor));
  }),
  restorePerson: defineChange(person, (context, { personId }) => restore(context, 'person', personId)),
  employ: defineChange({ ...person, companyId: id.nullable() }, ({ world, actor }, given) =>
    changes.employ(world, given.personId, given.companyId, actor),
  ),
  linkIdentity: defineChange({ ...person, ...identity }, ({ world, actor }, { personId, ...account }) =>
    changes.linkIdentity(world, personId, account, actor),
  ),

  createCompany: defineChange({ fields: companyFields }, ({ world, actor }, { fields }) =>
    changes.createCompany(world, fields, actor),
  ),
  patchCompany: defineChange({ ...company, fields: companyFields }, ({ world, actor }, given) =>
    changes.patchCompany(world, given.companyId, given.fields, actor),
  ),
  mergeCompanies: defineChange(merge, ({ world, actor }, { sourceIds, targetId }) =>
    changes.mergeCompanies(world, sourceIds, targetId, actor),
  ),
  deleteCompany: defineChange(company, ({ world, actor, removed }, { companyId }) => {
    removed.set(`company ${companyId}`, changes.deleteCompany(world, companyId, actor));
  }),
  restoreCompany: defineChange(company, (context, { companyId }) => restore(context, 'company', companyId)),
  linkCompanyIdentity: defineChange({ ...company, ...identity }, ({ world, actor }, given) =>
    changes.linkCompanyIdentity(world, given.companyId, given, actor),
  ),

  addGroup: defineChange(group, ({ world }, fields) => changes.addGroup(world, fields)),
  assignGroup: defineChange({ groupId: id, topicId: id.nullable() }, ({ world }, { groupId, topicId }) =>
    changes.assignGroup(world, groupId, topicId),
  ),
  addMessage: defineChange(message, ({ world }, fields) => changes.addMessage(world, fields)),
  editMessage: defineChange({ messageId: id, content: text }, ({ world }, { messageId, content }) =>
    changes.editMessage(world, messageId, content),
  ),
  deleteMessage: defineChange({ messageId: id }, ({ world }, { messageId }) =>
    changes.deleteMessage(world, messageId),
  ),
  removeMessage: defineChange({ messageId: id }, ({ world }, { messageId }) =>
    changes.removeMessage(world, messageId),
  ),
  react: defineChange(
    { messageId: id, identifier: text, unicode: text.nullable() },
    ({ world }, { messageId, ...reaction }) => changes.react(world, messageId, reaction),
  ),
} as const;

type ChangeKind = keyof typeof kinds;

/** A change that another member of the organization makes: `kind`, and the fields which that kind needs. */
export type Change = { readonly kind: ChangeKind } & Record<string, unknown>;

export const changeKinds = Object.keys(kinds) as ChangeKind[];

/** A colleague: another member who changes the same organization while a client reads and writes. */
export class Colleague {
  readonly #removed = new Map<string, Restore>();

  constructor(private readonly world: World) {}

  /**
   * Applies one change as the first member of the organization (as no user when it has no members). Returns the stored
   * entity or merge, if there is one.
   * @throws z.ZodError for a change that is not valid, UnknownEntityError for an entity that does not exist
   */
  change({ kind, ...given }: Change): unknown {
    const [userId = null] = this.world.members.keys();
    const context = { world: this.world, actor: { by: 'user', userId }, removed: this.#removed } as const;
    return kinds[kind](context, given) ?? null;
  }
}

function restore({ actor, removed }: Context, what: string, removedId: string): unknown {
  const found = removed.get(`${what} ${removedId}`);
  if (!found) throw new changes.UnknownEntityError(`deleted ${what}`, removedId);
  removed.delete(`${what} ${removedId}`);
  return found(actor);
}
