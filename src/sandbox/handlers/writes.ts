import { randomInt, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { HttpError, invalid } from '../errors.js';
import { type Handlers, requireCompany, requirePerson, requireTopic } from './call.js';
import { iso } from './renderer.js';

/**
 * Writes that no client of ours calls. Each is checked as the document says and answered as it shows, with an empty object
 * where it shows nothing; none of them changes the organization.
 */
export const plainWrites = {
  update_topics: nothing,
  merge_topics: nothing,
  archive_topic: ({ params, world }) => nothing(requireTopic(world, params.topicId)),
  create_companies: nothing,
  merge_companies: nothing,
  update_company: ({ params, world }) => nothing(requireCompany(world, params.companyId)),
  add_company_people: ({ params, world }) => nothing(requireCompany(world, params.companyId)),
  update_people: nothing,
  update_person: ({ params, world }) => nothing(requirePerson(world, params.personId)),
  identify: nothing,

  create_people: ({ body }) => {
    const results = body.people.map((person) => {
      const { avatarUrl, connections = {}, description, displayName, isVip = false, primaryEmail } = person;
      const data = { avatarUrl, connections, description, displayName, isVip, primaryEmail };
      const id = String(randomInt(1_000_000, 1_000_000_000));
      return { success: true, displayName, data: { ...data, id } };
    });
    return JSON.stringify({ results });
  },

  create_automation: ({ body, principal, world }) => {
    if (principal.isJwt)
      throw new HttpError(403, 'This endpoint accepts organization API keys only, not a service JWT');
    const { sourceName, sourceChannelId, ...given } = body;
    const { schedule } = body;
    if ('at' in schedule && !z.iso.datetime({ offset: true }).safeParse(schedule.at).success)
      throw invalid(`schedule.at: ${schedule.at} is not a date-time`);
    const enabled = given.enabled ?? true;
    // Without a channel, the output goes to the organization's saved default destination.
    const output =
      sourceName === undefined || sourceChannelId === undefined
        ? { channel: 'slack', destinations: null, mode: 'any-internal' }
        : { channel: sourceName, destinations: [sourceChannelId], mode: 'specific' };
    return JSON.stringify({
      id: randomUUID(),
      modelLevel: 'med',
      capabilityMode: 'all',
      allowedCapabilities: null,
      templateSlug: null,
      ...given,
      enabled,
      status: enabled ? 'healthy' : 'paused',
      outputChannels: [output],
      createdAt: iso(world.now),
      updatedAt: iso(world.now),
      lastAttemptAt: null,
      lastRunAt: null,
      nextRunAt: null,
      lastErrorMessage: null,
    });
  },
} satisfies Partial<Handlers>;

/** Whatever exists by then: the document shows no answer. */
function nothing(_: unknown): string {
  return '{}';
}
