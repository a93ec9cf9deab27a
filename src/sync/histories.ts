import { identityOf } from '../api/page.js';
import { Priority } from '../api/request.js';
import { RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { type Child, type ChildOf, requestFor } from '../contract/resources.js';
import type { Context } from './context.js';
import { historyIn, stageRecords, whereOf } from './staging/answers.js';
import { Staging } from './staging/staging.js';

export function isHistory(child: Child): child is ChildOf<'history'> {
  return child.answer.form === 'history';
}

/** Whether a history counts more records than it returned. */
export function isShort(child: ChildOf<'history'>, entityId: string, body: unknown): boolean {
  const { records, totalCount } = historyIn(child, body, whereOf(child, entityId));
  return totalCount !== null && records.length < totalCount;
}

/**
 * Asks for the records that a short history left out, where the resource says how: once for each kind of actor, since a
 * limit then holds for that actor alone. Stages what comes; remembers the history as short when records are still missing.
 */
export async function fetchMissingRecords(
  context: Context,
  child: ChildOf<'history'>,
  entityId: string,
  body: unknown,
): Promise<void> {
  const where = whereOf(child, entityId);
  const { records, totalCount } = historyIn(child, body, where);
  const found = new Set(records.map(identityOf));
  const { parameter, values } = child.dividedBy ?? { parameter: '', values: [] };
  for (const value of values) {
    const answer = await requestOne(context, child, entityId, parameter, value);
    if (!answer) break;
    const own = historyIn(child, answer.body, where).records;
    // A server that ignores the filter returns the same records each time.
    if (own.some((record) => isObject(record) && record.changedBy !== value)) break;
    const staging = new Staging(answer.arrivedAt, context.schemaDrift);
    stageRecords(staging, child, entityId, own);
    await context.batcher.add(staging);
    for (const record of own) found.add(identityOf(record));
  }
  if (found.size < (totalCount ?? 0)) context.shortHistories.add(`${child.name} ${entityId}`);
}

/** The records of one actor; undefined when the server refuses to filter. */
async function requestOne(
  context: Context,
  child: ChildOf<'history'>,
  entityId: string,
  parameter: string,
  value: string,
) {
  const request = requestFor(child, entityId);
  const options = { priority: Priority.detail, signal: context.stop };
  const query = { ...request.query, [parameter]: [value] };
  try {
    return await context.api.call(child.endpointName, { ...request, query }, options);
  } catch (error) {
    if (error instanceof RejectedError && error.status === 400) return undefined;
    throw error;
  }
}
