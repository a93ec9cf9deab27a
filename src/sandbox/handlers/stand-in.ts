import { z } from 'zod';
import { type EndpointName, endpoints } from '../../contract/endpoints.js';
import { kindOf } from '../../contract/privacy.js';
import { HttpError } from '../errors.js';
import { getOrThrow } from '../world/history.js';
import type { World } from '../world/types.js';
import { type Handler, requireTopic } from './call.js';

/** How many items a made-up list has. */
const listed = 2;

const aTime = '2026-01-02T03:04:05Z';

/** What a made-up value is of. */
interface Place {
  readonly world: World;
  /** The ids in the request's path. */
  readonly of: string;
  readonly field: string;
  /** The place in the list that it is in. */
  readonly nth: number;
}

/**
 * Answers an endpoint that has no handler of its own: with values made up from the schema of its answer, the same for the same
 * entity, and with an empty object where the document shows no answer. A write changes nothing. Ids of people, companies and
 * topics are those of entities that exist.
 */
export function standIn(name: EndpointName): Handler<EndpointName> {
  return ({ world, params, principal }) => {
    if (name === 'create_automation' && principal.isJwt)
      throw new HttpError(403, 'This endpoint accepts organization API keys only, not a service JWT');
    const { topicId, companyId, personId } = params as Record<string, string | undefined>;
    if (topicId !== undefined) requireTopic(world, topicId);
    if (companyId !== undefined) getOrThrow(world.companies, 'company', companyId);
    if (personId !== undefined) getOrThrow(world.people, 'person', personId);
    const of = Object.values(params).join(' ');
    return JSON.stringify(madeUp(endpoints[name].response, { world, of, field: name, nth: 0 }));
  };
}

function madeUp(schema: z.ZodType, place: Place): unknown {
  // An item of a batch succeeds, so that it has no error.
  if (place.field === 'error') return undefined;
  if (place.field === 'success') return true;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return madeUp(schema.unwrap() as z.ZodType, place);
  if (schema instanceof z.ZodArray)
    return Array.from({ length: listed }, (_, nth) => madeUp(schema.element as z.ZodType, { ...place, nth }));
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(
      Object.entries(schema.shape).map(([field, inner]) => [
        field,
        madeUp(inner as z.ZodType, { ...place, field }),
      ]),
    );
  if (schema instanceof z.ZodUnion) return madeUp(schema.options[0] as z.ZodType, place);
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodBoolean) return place.nth % 2 === 0;
  if (schema instanceof z.ZodNumber) return place.nth + 1;
  return schema instanceof z.ZodString ? text(schema, place) : {};
}

function text(schema: z.ZodString, { world, of, field, nth }: Place): string {
  const idIn = (entities: ReadonlyMap<string, unknown>) => [...entities.keys()][nth] ?? `${field} ${nth}`;
  switch (kindOf(schema)) {
    case 'person_id':
      return idIn(world.people);
    case 'company_id':
      return idIn(world.companies);
    case 'topic_id':
      return idIn(world.topics);
    case 'time':
    case 'seen':
      return aTime;
    default:
      return `${field} ${nth + 1} of ${of}`;
  }
}
