import { z } from 'zod';
import { endpoints } from '../../contract/endpoints.js';
import { kindOf } from '../../contract/privacy.js';
import type { ReadEndpoints } from '../../contract/resources.js';
import type { World } from '../world/types.js';
import { type Handler, requireCompany, requirePerson, requireTopic } from './call.js';

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
 * Answers a read endpoint that has no handler of its own: with values made up from the schema of its answer, the same for the same
 * entity. Ids of people, companies and topics are those of entities that exist.
 */
export function standIn(name: keyof ReadEndpoints): Handler<keyof ReadEndpoints> {
  return ({ world, params }) => {
    const { topicId, companyId, personId } = params as Record<string, string | undefined>;
    if (topicId !== undefined) requireTopic(world, topicId);
    if (companyId !== undefined) requireCompany(world, companyId);
    if (personId !== undefined) requirePerson(world, personId);
    const of = Object.values(params).join(' ');
    return JSON.stringify(madeUp(endpoints[name].response, { world, of, field: name, nth: 0 }));
  };
}

function madeUp(schema: z.ZodType, place: Place): unknown {
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
