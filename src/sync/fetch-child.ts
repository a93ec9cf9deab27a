import { InvalidIdError, Priority } from '../api/request.js';
import { arrivalNow } from '../base/clock.js';
import {
  AnswerTooLargeError,
  isAboutOneRequest,
  messageOf,
  RejectedError,
  type SignalhouseError,
} from '../base/errors.js';
import { millisecondsOf } from '../contract/fields.js';
import { type Child, type ReadRequest, requestFor } from '../contract/resources.js';
import type { Coverage } from '../load/batch.js';
import type { Failure } from '../run/tally.js';
import type { Context } from './context.js';
import { fetchConversations } from './conversations.js';
import { coverageInDoubt, furtherItems, older } from './doubts.js';
import { failureOf, isApiRefusal } from './failures.js';
import { fetchMissingRecords, isHistory, isShort } from './histories.js';
import { arrayIn, stageAnswer, whereOf } from './staging/answers.js';
import { Staging } from './staging/staging.js';
import { coverageOf, type Task, tooLargeCoverage } from './task.js';
import { present } from './tombstones.js';

/** How fetching one child ended: fetched, refused by the API, or with a failure, so that a later run tries it again. */
export type ChildOutcome = 'fetched' | 'absent' | Failure;

/**
 * Fetches one child and adds it to the batch together with the state that says so. A child that the API does not have
 * (404) or cannot be asked for (400) is remembered with its parent's fingerprint, so that it is not asked for again until
 * the parent changes or the sweep comes, and so is one whose id cannot be sent. One whose answer is too large is rejected,
 * and asked for again when it changes or is old. Any other failure concerns this child only, which stays due. Errors that
 * end the run (a refused key, an outage, a stop) are thrown.
 */
export async function fetchChild(context: Context, asked: Task): Promise<ChildOutcome> {
  const task = { ...asked, askedNo: arrivalNow(context.clock).no };
  try {
    if (task.child.paged) await fetchConversations(context, task);
    else await fetchWhole(context, task);
    return 'fetched';
  } catch (error) {
    if (isApiRefusal(error)) return refused(context, task, error);
    if (error instanceof AnswerTooLargeError && isGood(error.size.status))
      return tooLarge(context, task, error);
    if (error instanceof InvalidIdError) return notFetchable(context, task, error);
    if (isAboutOneRequest(error)) return failed(context, task, error);
    throw error;
  }
}

async function fetchWhole(context: Context, task: Task): Promise<void> {
  const { child, entityId, isUnanswered } = task;
  const answer = await request(context, task);
  const staging = new Staging(answer.arrivedAt, context.schemaDrift, context.seenContent);
  const where = whereOf(child, entityId);
  const { form } = child.answer;
  const isList = form === 'members' || form === 'conversations';
  const { more, problem } = isList
    ? await furtherItems(context, task, answer, arrayIn(answer.body, child.answer.names, where))
    : { more: [], problem: null };
  stageAnswer(staging, child, entityId, answer.body, where, more);
  const { presence } = child.list;
  // It was answered 404 before: the row no longer has a reason for having no detail.
  if (isUnanswered && presence !== null && isDetail(child))
    staging.document(presence, { id: entityId, parentId: null }, { ...present });
  const hasNews = form !== 'conversations' || staging.hasNews(child.name);
  const coverage = await coverageInDoubt(context, task, staging, { problem, hasNews, status: answer.status });
  if (isHistory(child) && isShort(child, entityId, answer.body)) {
    await context.batcher.add(staging);
    await fetchMissingRecords(context, child, entityId, answer.body);
    await context.batcher.add({ coverage: [coverage] });
    return;
  }
  if (await lags(context, task, staging)) {
    context.lagging.add(`${child.name} ${entityId}`);
    const error = 'the answer is older than the item of the list';
    staging.coverage.push({ ...coverage, error, reason: older });
  } else staging.coverage.push(coverage);
  await context.batcher.add(staging);
}

/** After this many answers in a row that are older than the list's item, the next one is accepted: its time means something else. */
const mostLags = 3;

/**
 * Whether a detail is older than the list's item, by their `updatedAt`: a server answered that lags behind. What the list
 * says counts (raw.is_younger), and the next sync asks for the rest, also where the detail was not due but checked. A stored
 * detail that is newer stays, however long ago it came: the list shows that the service was not put back.
 */
async function lags({ store }: Context, task: Task, staging: Staging): Promise<boolean> {
  const { child, entityId, updatedAt, attempts } = task;
  if (!isDetail(child) || updatedAt === null || attempts >= mostLags) return false;
  const at = staging.documents.findIndex(({ endpoint, id }) => endpoint === child.name && id === entityId);
  const body = JSON.parse(staging.documents[at]?.body ?? '{}') as { updatedAt?: unknown };
  const answered = millisecondsOf(body.updatedAt);
  // A time that cannot be read is NaN, which is not less than any.
  if (!(answered < millisecondsOf(updatedAt))) return false;
  const rows = await store.all<{ endpoint: string; updated: number | null }>(
    `SELECT endpoint, epoch_ms(raw.updated_at(body, fetched_at)) AS updated FROM raw.documents
      WHERE endpoint IN ($list, $name) AND id = $id`,
    { list: child.list.name, name: child.name, id: entityId },
  );
  const isOlderThan = (kind: string) =>
    rows.some(({ endpoint, updated }) => endpoint === kind && updated !== null && answered < Number(updated));
  if (!isOlderThan(child.list.name)) return false;
  if (isOlderThan(child.name)) staging.documents.splice(at, 1);
  return true;
}

function isDetail({ name, list }: Child): boolean {
  return list.detail === name;
}

async function request(context: Context, { child, entityId }: Task) {
  const unparsed = child.answer.form === 'conversations' ? 'messages' : undefined;
  const options = { priority: Priority.detail, signal: context.stop, unparsed };
  const get = (one: ReadRequest) => context.api.call(child.endpointName, one, options);
  try {
    return await get(requestFor(child, entityId));
  } catch (error) {
    const isRefused = error instanceof RejectedError && error.status === 400;
    if (!isRefused || child.extraQuery === undefined) throw error;
    return get(requestFor(child, entityId, { plain: true }));
  }
}

async function refused(context: Context, task: Task, error: RejectedError): Promise<ChildOutcome> {
  const { child, entityId } = task;
  const staging = new Staging(arrivalNow(context.clock), context.schemaDrift);
  staging.coverage.push({
    ...coverageOf(task, staging.arrivedAt, error.status),
    error: error.message,
    reason: error.reason ?? error.code ?? null,
  });
  const { presence } = child.list;
  if (error.status === 404 && presence !== null && isDetail(child)) {
    // Listed, but not answered by id: the row stays, and says why it has no detail.
    const detailUnavailableReason = error.reason ?? 'not_found';
    staging.document(presence, { id: entityId, parentId: null }, { ...present, detailUnavailableReason });
  }
  await context.batcher.add(staging);
  if (error.status !== 404) context.failures.push(failureOf(child.name, entityId, error));
  return 'absent';
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

async function tooLarge(context: Context, task: Task, error: AnswerTooLargeError): Promise<ChildOutcome> {
  const staging = new Staging(arrivalNow(context.clock), context.schemaDrift);
  staging.rejectAnswer(task.child.name, { id: task.entityId, parentId: null }, error);
  staging.coverage.push(tooLargeCoverage(task, staging.arrivedAt, error));
  await context.batcher.add(staging);
  return 'absent';
}

/** Its id is not valid in a path: it says nothing about the API, and to try again would not help. */
async function notFetchable(context: Context, task: Task, error: InvalidIdError): Promise<ChildOutcome> {
  await failed(context, task, error, { reason: 'not fetchable: the id is not valid in a path' });
  return 'absent';
}

/** Stores that a task got no answer, in that state, and names it as a failure. */
async function failed(
  context: Context,
  task: Task,
  error: SignalhouseError,
  state: Partial<Coverage> = { fingerprint: null, error: messageOf(error) },
): Promise<Failure> {
  const coverage = { ...coverageOf(task, arrivalNow(context.clock), null), ...state };
  await context.batcher.add({ coverage: [coverage] });
  const failure = failureOf(task.child.name, task.entityId, error);
  context.failures.push(failure);
  return failure;
}
