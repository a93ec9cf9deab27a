import { Priority } from '../api/client.js';
import {
  ContractError,
  messageOf,
  RejectedError,
  type SignalhouseError,
  UnavailableError,
} from '../base/errors.js';
import { isObject } from '../base/json.js';
import { type ChildRequest, plainRequestFor, requestFor } from './child-request.js';
import type { Context } from './context.js';
import { fetchConversations } from './conversations.js';
import { covered, type Task } from './due.js';
import { landChild } from './landing/children.js';
import { Landing } from './landing/landing.js';
import { present } from './missing.js';
import { lists, unpaged } from './resources.js';

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
  const endpoint = unpaged(child.endpoint);
  const answer = await ask(context, task, requestFor(endpoint, entityId));
  const landing = new Landing(answer.arrivedAt, context.schemaDrift, context.seenContent);
  landChild[endpoint](landing, entityId, answer.body, { endpoint, method: 'GET', path: `of ${entityId}` });
  if (isShort(answer.body)) context.shortHistories.add(`${endpoint} ${entityId}`);
  landing.coverage.push(covered(task, answer.arrivedAt, answer.status));
  await context.batcher.add(landing);
}

async function ask(context: Context, task: Task, request: ChildRequest) {
  const unread = task.child.endpoint === 'topic_groups' ? 'messages' : undefined;
  const options = { priority: Priority.detail, signal: context.stop, unread };
  const name = task.child.asks as 'topic';
  try {
    return await context.api.call(name, request as never, options);
  } catch (error) {
    const plain = plainRequestFor(task.child.endpoint, task.entityId);
    if (!plain || !(error instanceof RejectedError) || error.status !== 400) throw error;
    return context.api.call(name, plain as never, options);
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
    endpoint: child.endpoint,
    entityId,
    fetchedAt: landing.fetchedAt,
    fingerprint,
    status: error.status,
    error: error.message,
    reason: error.reason ?? error.code ?? null,
  });
  const list = lists.find((one) => one.detail === child.endpoint);
  if (error.status === 404 && list?.presence) {
    // Listed, but not answered by id: the row stays, and says why it has no detail.
    const detailUnavailableReason = error.reason ?? 'not_found';
    landing.document(
      list.presence,
      { id: entityId, parentId: null },
      { ...present, detailUnavailableReason },
    );
  }
  await context.batcher.add(landing);
  if (error.status === 404) return 'absent';
  context.failures.push(failureOf(task, error));
  return 'absent';
}

async function failed(context: Context, task: Task, error: SignalhouseError): Promise<ChildOutcome> {
  const landing = new Landing(new Date(context.clock.now()), context.schemaDrift);
  landing.coverage.push({
    endpoint: task.child.endpoint,
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
    endpoint: task.child.endpoint,
    entityId: task.entityId,
    message: error.message,
    hint: error.hint ?? null,
  };
}
