import type { Answer } from '../api/attempt.js';
import { isObject } from '../base/json.js';
import type { Reference } from './change.js';
import { mergedInto, type Values } from './fields.js';

/** What the answer to the request of a change says about its entity. */
export type ItemAnswer =
  /** It returns the entity as it is after the request, or some of its fields. */
  | { readonly kind: 'entity'; readonly body: Readonly<Record<string, unknown>> }
  /** It says that the API did not apply the change. */
  | { readonly kind: 'refused'; readonly error: string }
  /** It proves nothing: the entity must be read. */
  | { readonly kind: 'unclear'; readonly answered: string; readonly error: string | null };

/** What the answer to the request that sets `wanted` says. */
export function answerAbout(
  { entityType, entityId }: Reference,
  wanted: Values,
  answer: Pick<Answer, 'status' | 'body'>,
): ItemAnswer {
  if (entityType === 'topic') return topicAnswer(entityId, answer);
  return entityType === 'company' ? companyAnswer(entityId, answer) : mergeAnswer(wanted, answer);
}

/** The answer to a merge says only how many people it merged. */
function mergeAnswer(wanted: Values, { status, body }: Pick<Answer, 'status' | 'body'>): ItemAnswer {
  const count = isObject(body) ? body.mergedCount : undefined;
  if (typeof count !== 'number') return unclear(`${status} without a number of merged people`);
  if (count === 0) return { kind: 'refused', error: 'The API answered that it merged nobody.' };
  return { kind: 'entity', body: { mergedIntoId: wanted[mergedInto] } };
}

function topicAnswer(id: string, { status, body }: Pick<Answer, 'status' | 'body'>): ItemAnswer {
  if (!isObject(body)) return unclear(`${status} without a topic`);
  const returnedId = idText(body.id);
  if (returnedId === undefined) return unclear(`${status} with something that has no topic id`);
  if (returnedId !== id) return unclear(`${status} with the topic ${returnedId}`);
  return { kind: 'entity', body };
}

/** A company is judged by its own result alone: neither their order nor results for others or in another form matter. */
function companyAnswer(id: string, { status, body }: Pick<Answer, 'status' | 'body'>): ItemAnswer {
  if (!isObject(body) || !Array.isArray(body.results)) return unclear(`${status} without a list of results`);
  const own = body.results.filter((one: unknown) => isObject(one) && idText(one.companyId) === id);
  const [only] = own;
  if (!isObject(only)) return unclear(`${status} without a result for this company`);
  if (own.length > 1) return unclear(`${status} with ${own.length} results for this company`);
  return resultAnswer(id, only, status);
}

function resultAnswer(id: string, result: Readonly<Record<string, unknown>>, status: number): ItemAnswer {
  const { success, data } = result;
  const error = errorText(result.error);
  if (success === false) {
    if (data !== null && data !== undefined)
      return unclear(`${status} with success: false and a company`, error);
    return { kind: 'refused', error: error ?? 'The API gives no reason.' };
  }
  if (success !== true) return unclear(`${status} with a result that does not say success`, error);
  if (error !== null) return unclear(`${status} with success: true and an error`, error);
  if (!isObject(data)) return unclear(`${status} with success: true and no company`);
  if (data.id !== undefined && idText(data.id) !== id)
    return unclear(`${status} with the data of another company`);
  return { kind: 'entity', body: data };
}

function unclear(answered: string, error: string | null = null): ItemAnswer {
  return { kind: 'unclear', answered, error };
}

/** An id as text, whether the API returns it as text or as a number; undefined for anything else. */
export function idText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function errorText(error: unknown): string | null {
  if (error === undefined || error === null || error === '') return null;
  const text = typeof error === 'string' ? error : JSON.stringify(error);
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
