import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { launchChromium, noChromium } from './chromium.js';
import { Pulling, startTown, town } from './pulling.js';
import { type Served, serve, terminate } from './serving.js';
import { password, people } from './visiting.js';

/** A job that never runs by itself within a test. */
const yearly = { name: 'decisions', run: 'push', cron: '0 0 1 1 *', catchUp: false };

/** A town, a service with people that shows it, and a browser, for all tests of a file. */
export class Browsing {
  browser!: Browser;
  sandbox!: Sandbox;
  pulling!: Pulling;
  served!: Served;
  readonly #sessions = new Map<string, BrowserContextOptions['storageState']>();

  /** For the top of a file. Where there is no Chromium, its tests are skipped. */
  static ofFile(serveSettings: object = {}): Browsing {
    const browsing = new Browsing();
    let hasBrowser = false;
    beforeAll(async () => {
      const browser = await launchChromium();
      if (!browser) return;
      hasBrowser = true;
      browsing.browser = browser;
      browsing.sandbox = await startTown({ sizes: town });
      browsing.pulling = await Pulling.filled(browsing.sandbox);
      browsing.pulling.set({ serve: { users: people, jobs: [yearly], ...serveSettings } });
      browsing.served = await serve(browsing.pulling);
    });
    afterAll(async () => {
      if (!hasBrowser) return;
      await browsing.browser.close();
      await terminate(browsing.served);
      await browsing.sandbox.stop();
    });
    beforeEach(({ skip }) => skip(!hasBrowser, noChromium));
    return browsing;
  }

  /** A page of the service in a new browser of somebody, who logs in once: attempts are limited. */
  async pageOf(name: string, path: string): Promise<Page> {
    const storageState = this.#sessions.get(name);
    const context = await this.browser.newContext(storageState === undefined ? {} : { storageState });
    const page = await context.newPage();
    await page.goto(this.served.url + path);
    if (storageState !== undefined) return page;
    await logIn(page, name);
    await page.waitForURL(`**${path}`);
    this.#sessions.set(name, await context.storageState());
    return page;
  }
}

export async function logIn(page: Page, name: string, given = password): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(given);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** A value of a topic that a page showed before somebody pressed a button: the change that was agreed to. */
export interface Agreed {
  readonly title: string;
  readonly from: string;
  readonly to: string;
  /** Whether the button was one that replaces whatever is there. */
  readonly isForced: boolean;
}

/**
 * What the open page says would change, or has changed. A button that is named by a selector is pressed in the same moment: a page
 * that follows its sheet may show more in the next.
 */
export async function shownChanges(
  page: Page,
  sandbox: Sandbox,
  press?: string,
): Promise<Omit<Agreed, 'isForced'>[]> {
  const rows = '#changes-table tbody tr, #conflicts tbody tr, #conflicts li';
  const texts = await page.evaluate<string[]>(`(() => {
    const texts = [...document.querySelectorAll('${rows}')].map((row) => row.innerText);
    ${press === undefined ? '' : `document.querySelector('${press}').click();`}
    return texts;
  })()`);
  const titles = [...sandbox.world.topics.values()].map(({ title }) => title);
  const shown = texts.map((row) => {
    const text = row.replaceAll(/\s+/g, ' ');
    const [from = '', to = ''] = /priority: (.*?) → (very high|very low|\w+)/.exec(text)?.slice(1) ?? [];
    const [title = ''] = titles.filter((one) => text.includes(one)).sort((a, b) => b.length - a.length);
    return { title, from: from.replace(' ', '_'), to: to.replace(' ', '_') };
  });
  return shown.filter(({ to }) => to !== '');
}

interface ToldChange {
  readonly id: string;
  readonly entityId: string;
  readonly status: string;
  readonly idempotencyKey: string;
  readonly wanted: Readonly<Record<string, unknown>>;
  readonly settledAt: string | null;
  /** Values that it has replaced and nobody had seen: somebody else set them after it was compared. */
  readonly replaced: readonly { readonly field: string; readonly value: unknown }[];
}

async function changesTold({ pulling }: Browsing): Promise<ToldChange[]> {
  return (await pulling.json<{ changes: ToldChange[] }>(['changes', 'list', '--limit', '5000'])).changes;
}

/** How much had been written, and recorded of each topic, before something. */
export interface Before {
  readonly writes: number;
  readonly records: readonly number[];
}

function historyOf({ world }: Sandbox, id: string) {
  return world.history.get(`topic:${id}`) ?? [];
}

/**
 * Whether a colleague had set what was asked for when the change was settled: after a kill in the middle of sending, a reading
 * shows the wanted value, and nothing says whose it is.
 */
function isSetByColleague(sandbox: Sandbox, { entityId, wanted, settledAt }: ToldChange): boolean {
  const last = historyOf(sandbox, entityId)
    .filter(({ changedAt, changes }) => 'priority' in changes && changedAt <= Date.parse(settledAt ?? ''))
    .sort((one, other) => other.changedAt - one.changedAt)[0];
  return last !== undefined && last.userId !== null && last.changes.priority === wanted.priority;
}

export function beforeNow(sandbox: Sandbox, topics: readonly string[]): Before {
  return {
    writes: sandbox.writes().length,
    records: topics.map((id) => historyOf(sandbox, id).length),
  };
}

/**
 * What is wrong since: changes that were executed twice, told wrongly, left behind, or sent without anybody having agreed to them.
 * What a colleague set between the comparison and the request has to be told.
 */
export async function untruths(
  browsing: Browsing,
  topics: readonly string[],
  agreed: readonly Agreed[],
  before: Before,
): Promise<string[]> {
  const { sandbox, pulling } = browsing;
  await pulling.run(['sync', '--json', '--wait']);
  const titleOf = (id: string) => sandbox.world.topics.get(id)?.title ?? '';
  const changes = await changesTold(browsing);
  const writes = sandbox.writes().slice(before.writes);
  const keys = writes.map(({ idempotencyKey }) => idempotencyKey);
  const found = keys.filter((key, at) => keys.indexOf(key) !== at).map((key) => `${key} was executed twice`);
  for (const { idempotencyKey, touched } of writes) {
    const change = changes.find((one) => one.idempotencyKey === idempotencyKey);
    if (change?.status !== 'applied')
      found.push(`${JSON.stringify(touched)} was executed, and is told as ${change?.status}`);
  }
  const all = new Set(sandbox.writes().map(({ idempotencyKey }) => idempotencyKey));
  for (const change of changes) {
    const { id, status, entityId, idempotencyKey } = change;
    if (!topics.includes(entityId)) continue;
    if (status === 'queued' || status === 'sending') found.push(`${id} is still ${status}`);
    if (status === 'applied' && !all.has(idempotencyKey) && !isSetByColleague(sandbox, change))
      found.push(
        `${id} is told as applied, and was not: ${JSON.stringify({ change, history: historyOf(sandbox, entityId) })}`,
      );
  }
  for (const [at, id] of topics.entries()) {
    for (const { changes: set, previousValues, userId } of historyOf(sandbox, id).slice(before.records[at])) {
      if (userId !== null || !('priority' in set)) continue;
      const [replaced, after] = [String(previousValues?.priority), String(set.priority)];
      const isTold = changes.some(
        (one) =>
          one.entityId === id &&
          one.replaced.some(({ field, value }) => field === 'priority' && value === replaced),
      );
      const matching = agreed.filter(({ title, to }) => title === titleOf(id) && to === after);
      if (matching.length === 0) found.push(`${titleOf(id)}: ${after} was sent, and no page showed it`);
      else if (!isTold && !matching.some(({ from, isForced }) => isForced || from === replaced))
        found.push(
          `${titleOf(id)}: ${replaced} was replaced by ${after}, and the pages showed ${JSON.stringify(matching)}; ${JSON.stringify({ changes: changes.filter(({ entityId }) => entityId === id), history: historyOf(sandbox, id) })}`,
        );
    }
  }
  return found;
}
