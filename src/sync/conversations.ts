import { createHash } from 'node:crypto';
import { Priority } from '../api/client.js';
import { type Page, pages } from '../api/paging.js';
import { isObject } from '../base/json.js';
import { requestFor } from './child-request.js';
import type { Context } from './context.js';
import { covered, type Task } from './due.js';
import { type GroupsOf, landGroups } from './landing/conversations.js';
import { Landing } from './landing/landing.js';
import { heldStill } from './scan.js';
import { fill, literal, syncSql } from './sql.js';

const memberIdsSql = syncSql('member_ids');
const alreadyKnownSql = syncSql('already_known');

/** A reading is tried this often until it holds still; then what it showed is kept, and nothing is taken for gone. */
const readings = 2;

/**
 * Fetches the conversations of a company or person page by page, and lands each page as it comes. When they were
 * fetched before and are listed newest first, which is checked on the pages read, the reading ends at the first page
 * without news, provided that the list is then as long as what is known; the sweep reads all of it.
 */
export async function fetchConversations(context: Context, task: Task): Promise<void> {
  const known = task.wholeAt ? await memberIds(context, task) : undefined;
  for (let attempt = 1; attempt <= readings; attempt += 1) {
    const shown = new Set<string>();
    if (await readOnce(context, task, known, shown, attempt === readings)) return;
    // What the next reading shows no more may be taken away, and has to be whole when another list brings it.
    context.recent.forget(shown);
  }
}

/** One reading from the first page on, of what `ids` gathers; false when it did not hold still and is not the last one. */
async function readOnce(
  context: Context,
  task: Task,
  known: ReadonlySet<string> | undefined,
  ids: Set<string>,
  isLastReading: boolean,
): Promise<boolean> {
  const { child, entityId } = task;
  const { query } = requestFor(child.endpoint, entityId);
  const order = new NewestFirst();
  let withoutId = 0;
  let firstTotal: number | null | undefined;
  const options = { priority: Priority.detail, signal: context.stop };
  for await (const page of pages(context.api, 'groups', { query: query as never }, options)) {
    const landing = new Landing(page.arrivedAt, context.shapes, context.recent);
    const found = landGroups(landing, child.endpoint as GroupsOf, entityId, page.items);
    for (const id of found) ids.add(id);
    withoutId += page.items.length - found.length;
    firstTotal ??= page.totalCount;
    order.read(page.items);
    if (page.last) {
      const reading = { ids, withoutId, firstTotal: firstTotal ?? null, lastTotal: page.totalCount };
      const whole = page.totalCount === null || heldStill(reading);
      if (whole) landing.set(child.endpoint, entityId, [...ids]);
      if (whole || isLastReading) landing.coverage.push(covered(task, page.arrivedAt, 200));
      await context.batcher.add(landing);
      return whole || isLastReading;
    }
    if (known && order.holds && isAllOf(known, ids, page) && (await bringsNoNews(context, landing))) {
      // The age stays that of the last whole reading, or what is busy every day would never be swept.
      landing.coverage.push(covered(task, task.wholeAt ?? page.arrivedAt, 200));
      await context.batcher.add(landing);
      return true;
    }
    await context.batcher.add(landing);
  }
  return true;
}

/** Whether what is known and what was shown so far is together as much as the list says it holds. */
function isAllOf(known: ReadonlySet<string>, shown: ReadonlySet<string>, page: Page): boolean {
  const together = known.size + [...shown].filter((id) => !known.has(id)).length;
  return together === page.totalCount;
}

/** Whether items come in the order of their last message, newest first, as far as they were read. */
export class NewestFirst {
  #last = Number.POSITIVE_INFINITY;
  #holds = true;

  get holds(): boolean {
    return this.#holds;
  }

  read(items: readonly unknown[]): void {
    for (const item of items) {
      const ended = isObject(item) && isObject(item.group) ? momentOf(item.group.endTimestamp) : Number.NaN;
      // NaN compares as false: an item without a readable time proves nothing, and ends the proof.
      this.#holds &&= ended <= this.#last;
      this.#last = ended;
    }
  }
}

function momentOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

async function memberIds(context: Context, { child, entityId }: Task): Promise<Set<string>> {
  const values = { child: literal(child.endpoint), parent_id: literal(entityId) };
  const rows = await context.store.all<{ id: string }>(fill(memberIdsSql, values));
  return new Set(rows.map(({ id }) => id));
}

async function bringsNoNews(context: Context, { documents, rejections }: Landing): Promise<boolean> {
  // Authors change by themselves (signed addresses), and are no news of a conversation.
  const shown = documents.filter(({ endpoint }) => endpoint !== 'authors');
  if (shown.length === 0 || rejections.length > 0) return false;
  const rows = shown.map(({ endpoint, id, parentId, body }) => {
    const hash = createHash('md5').update(body).digest('hex');
    return `(${[endpoint, id, parentId ?? '', hash].map(literal).join(', ')})`;
  });
  const [answer] = await context.store.all<{ known: number }>(
    fill(alreadyKnownSql, { shown: rows.join(', ') }),
  );
  return Number(answer?.known) === shown.length;
}
