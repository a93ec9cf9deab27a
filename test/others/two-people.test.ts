import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Random } from '../../src/sandbox/world/random.js';
import {
  type Agreed,
  Browsing,
  beforeNow,
  changesTold,
  shownChanges,
  untruths,
} from '../support/browsing.js';

/** Two people on the page and a colleague in the API, in random order: nothing is sent that was not shown, and all that is told is true. */

const rounds = Number(process.env.RUNS ?? 20);
const steps = 40;
const priorities = ['very_low', 'low', 'default', 'high', 'very_high'];

const browsing = Browsing.ofFile();

/** Somebody with a browser, who uploads lists and presses the buttons that a page shows. */
class Member {
  readonly agreed: Agreed[] = [];
  /** The sheets that were uploaded or undone. */
  readonly pages = new Set<string>();
  readonly complaints: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly random: Random,
  ) {
    page.on('pageerror', (error) => this.complaints.push(String(error)));
  }

  static async of(name: string, random: Random): Promise<Member> {
    return new Member(await browsing.pageOf(name, '/sheets'), random);
  }

  /** Does one thing that the open page offers. */
  async act(topics: readonly string[]): Promise<void> {
    const buttons = await this.page.locator('#summary button, #changes button').allInnerTexts();
    const weights = Object.fromEntries(
      buttons.map((text) => [text, /^(Confirm|Undo \d|Over)/.test(text) ? 6 : 1]),
    );
    const chosen = this.random.weighted({ ...weights, think: 1, reload: 1, upload: 2 });
    if (chosen === 'think') return;
    if (chosen === 'upload') await this.#upload(topics);
    else if (chosen === 'reload') await this.page.reload();
    else await this.#press(chosen);
    const { pathname } = new URL(this.page.url());
    if (pathname.startsWith('/sheets/')) this.pages.add(pathname);
  }

  async #upload(topics: readonly string[]): Promise<void> {
    const wanted = topics.filter(() => this.random.chance(0.4));
    const lines = wanted.map((id) => `${id},${this.random.pick(priorities)}`);
    await this.page.goto(`${browsing.served.url}/sheets`);
    const buffer = Buffer.from(['topic_id,priority', ...lines, ''].join('\n'));
    await this.page.getByLabel('File').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer });
    await this.page.getByRole('button', { name: 'Upload and preview' }).click();
    await this.page.locator('#summary, #problem').first().waitFor();
  }

  async #press(text: string): Promise<void> {
    const isForced = text.startsWith('Overwrite');
    const shown = await shownChanges(this.page, browsing.sandbox);
    const button = this.page.locator('button', { hasText: text }).first();
    // A page follows its sheet by itself: what is gone by now cannot be pressed.
    if (
      !(await button.click({ timeout: 3_000 }).then(
        () => true,
        () => false,
      ))
    )
      return;
    if (/^(Confirm|Undo \d)/.test(text) || isForced)
      this.agreed.push(...shown.map((one) => ({ ...one, isForced })));
    await this.page.waitForLoadState();
    await this.page.locator('#summary, #problem').first().waitFor();
  }
}

it.for(Array.from({ length: rounds }, (_, at) => at + 1))(
  'two people and a colleague, seed %i',
  { timeout: 300_000 },
  async (seed) => {
    const random = new Random('two people', seed);
    const { sandbox, pulling } = browsing;
    const { change, world } = sandbox;
    const active = [...world.topics.values()].filter(
      ({ graphStatus, migrated }) => graphStatus === 'active' && !migrated,
    );
    const topics = [0, 1, 2, 3].map((at) => active[(seed * 4 + at) % active.length]!.id);
    const before = beforeNow(sandbox, topics);
    const members = [await Member.of('anna', random), await Member.of('ben', random)];
    const syncs: Promise<{ code: number | null }>[] = [];
    for (let step = 0; step < steps; step++) {
      const who = random.weighted({ anna: 5, ben: 5, colleague: 3, sync: 1 });
      if (who === 'anna') await members[0]!.act(topics);
      else if (who === 'ben') await members[1]!.act(topics);
      else if (who === 'sync') syncs.push(pulling.run(['sync', '--json', '--wait']));
      else
        change({
          kind: 'patchTopic',
          topicId: random.pick(topics),
          fields: { priority: random.pick(priorities) as 'low' },
        });
    }
    for (const sync of syncs) expect((await sync).code).toBe(0);
    // What was confirmed while something else held the warehouse is queued in a moment.
    await expect.poll(waiting, { timeout: 120_000, interval: 1_000 }).toEqual([]);
    await pulling.run(['push', '--json', '--wait']);
    const agreed = members.flatMap((one) => one.agreed);
    const found = members.flatMap(({ complaints }) => complaints);
    found.push(...(await untruths(browsing, topics, agreed, before)));
    for (const { page } of members) await page.context().close();
    expect(found, `RUNS=${seed}`).toEqual([]);
  },
);

it('something was sent, and something was not', async ({ skip }) => {
  skip(rounds < 10, 'too few rounds for that');
  const changes = await changesTold(browsing);
  const statuses = new Set(changes.map(({ status }) => status));
  expect([...statuses].sort()).toEqual(expect.arrayContaining(['applied', 'conflict', 'superseded']));
});

/** The sheets whose confirmation waits. */
async function waiting(): Promise<string[]> {
  const page = await browsing.pageOf('rita', '/sheets');
  const rows = await page.locator('#history-table tr', { hasText: 'waits for its turn' }).allInnerTexts();
  await page.context().close();
  return rows;
}
