import { Priority } from '../api/client.js';
import {
  ContractError,
  messageOf,
  RejectedError,
  type SignalhouseError,
  UnavailableError,
} from '../base/errors.js';
import { isObject } from '../base/json.js';
import { type ReadRequest, requestFor } from '../contract/resources.js';
import type { Context } from './context.js';
import { fetchConversations } from './conversations.js';
import { covered, type Task } from './due.js';
import { landAnswer } from './landing/answers.js';
import { Landing } from './landing/landing.js';
import { present } from './missing.js';

/** How fetching one child ended: 'fetched', not there to be had, or to be tried again in a later run. */
export type ChildOutcome = 'fetched' | 'absent' | 'failed';

/**
 * Fetches one child and hands it to the batch together with the state that says so. A child that the API refuses
 * (4xx) is remembered with its parent's fingerprint, so that it is not asked again until the parent changes or the
 * sweep comes; one that got no answer stays due. Errors that end the run (a refused key, a stop) are thrown.
 */
export async function fetchChild(context: Context, task: Task): Promise<ChildOutcome> {
  try {
    if (task.child.paged) await fetchConversations(context, task);
    else await fetchWhole(context, task);
    return 'fetched';
  } catch (error) {
    if (isTheApis(error)) return refused(context, task, error);
    if (isAboutOne(error)) return failed(context, task, error);
    throw error;
  }
}

/** Refused by the API itself: without the documented error body, it was something in front of it that said no. */
export function isTheApis(error: unknown): error is RejectedError {
  return error instanceof RejectedError && error.code !== undefined;
}

/** About this one request: whatever went wrong with it, others may go through. */
export function isAboutOne(error: unknown): error is RejectedError | UnavailableError | ContractError {
  return (
    error instanceof RejectedError || error instanceof UnavailableError || error instanceof ContractError
  );
}

async function fetchWhole(context: Context, task: Task): Promise<void> {
  const { child, entityId } = task;
  const answer = await ask(context, task);
  const landing = new Landing(answer.arrivedAt, context.schemaDrift, context.seenContent);
  const where = { endpoint: child.name, method: 'GET', path: `of ${entityId}` };
  landAnswer(landing, child, entityId, answer.body, where);
  if (isShort(answer.body)) context.shortHistories.add(`${child.name} ${entityId}`);
  landing.coverage.push(covered(task, answer.arrivedAt, answer.status));
  await context.batcher.add(landing);
}

async function ask(context: Context, { child, entityId }: Task) {
  const unparsed = child.answer.form === 'conversations' ? 'messages' : undefined;
  const options = { priority: Priority.detail, signal: context.stop, unparsed };
  const get = (request: ReadRequest) => context.api.get(child.endpointName, request, options);
  try {
    return await get(requestFor(child, entityId));
  } catch (error) {
    const isRefused = error instanceof RejectedError && error.status === 400;
    if (!isRefused || child.extraQuery === undefined) throw error;
    return get(requestFor(child, entityId, { plain: true }));
  }
}

/** The document shows no way to ask for the records beyond those that an answer shows. */
function isShort(body: unknown): boolean {
  if (!isObject(body) || !Array.isArray(body.history) || typeof body.totalCount !== 'number') return false;
  return body.history.length < body.totalCount;
}

async function refused(context: Context, task: Task, error: RejectedError): Promise<ChildOutcome> {
  const { child, entityId, fingerprint } = task;
  const landing = new Landing(new Date(context.clock.now()), context.schemaDrift);
  landing.coverage.push({
    endpoint: child.name,
    entityId,
    fetchedAt: landing.fetchedAt,
    fingerprint,
    status: error.status,
    error: error.message,
    reason: error.reason ?? error.code ?? null,
  });
  const { presence, detail } = child.list;
  if (error.status === 404 && presence !== null && detail === child.name) {
    // Listed, but not answered by id: the row stays, and says why it has no detail.
    const detailUnavailableReason = error.reason ?? 'not_found';
    landing.document(presence, { id: entityId, parentId: null }, { ...present, detailUnavailableReason });
  }
  await context.batcher.add(landing);
  if (error.status === 404) return 'absent';
  context.failures.push(failureOf(task, error));
  return 'absent';
}

async function failed(context: Context, task: Task, error: SignalhouseError): Promise<ChildOutcome> {
  const landing = new Landing(new Date(context.clock.now()), context.schemaDrift);
  landing.coverage.push({
    endpoint: task.child.name,
    entityId: task.entityId,
    fetchedAt: landing.fetchedAt,
    fingerprint: null,
    status: null,
    error: messageOf(error),
    reason: null,
  });
  await context.batcher.add(landing);
  context.failures.push(failureOf(task, error));
  return 'failed';
}

function failureOf(task: Task, error: SignalhouseError) {
  return {
    endpoint: task.child.name,
    entityId: task.entityId,
    message: error.message,
    hint: error.hint ?? null,
  };
}
