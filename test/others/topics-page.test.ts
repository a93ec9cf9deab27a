import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Random } from '../../src/sandbox/world/random.js';
import { type Agreed, Browsing, beforeNow, shownChanges, untruths } from '../support/browsing.js';
import { axeFindings, keepPicture, tooWide } from '../support/chromium.js';
import { serve } from '../support/serving.js';

/** The page where people work with topics: by mouse and by keyboard, by two people beside a colleague in the API, through kills. */

const rounds = Number(process.env.RUNS ?? 2);
const steps = 50;
const priorities = ['very_high', 'high', 'default', 'low', 'very_low'];

// A proxy on this machine says who it is, so that nobody has to log in again after a kill.
const browsing = Browsing.ofFile({ proxies: ['127.0.0.1'], userHeader: 'X-User' });

/** Somebody with a browser, who works on the list. */
class Member {
  readonly agreed: Agreed[] = [];
  readonly complaints: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly random: Random,
  ) {
    page.on('pageerror', (error) => this.complaints.push(String(error)));
  }

  static async of(name: string, random: Random): Promise<Member> {
    const context = await browsing.browser.newContext({ extraHTTPHeaders: { 'x-user': name } });
    return new Member(await context.newPage(), random);
  }

  /** Does one thing that the list offers. */
  async act(topics: readonly string[]): Promise<void> {
    await this.page.goto(`${browsing.served.url}/topics?state=any`);
    const offers = (selector: string) => this.page.locator(selector).count();
    const chosen = this.random.weighted({
      edit: 6,
      keys: 3,
      review: (await offers('#draft')) * 5,
      overwrite: (await offers('#draft button[value="overwrite"]')) * 4,
      decide: (await offers('#sent button[value="retry"]')) * 3,
      undo: await offers('#sent button[value="undo"]'),
    });
    if (chosen === 'edit') await this.#edit(this.random.pick(topics));
    else if (chosen === 'keys') await this.#press(this.random.pick(topics));
    else if (chosen === 'review') await this.#confirm('#draft button[value="review"]');
    else if (chosen === 'undo') await this.#confirm('#sent button[value="undo"]');
    else if (chosen === 'overwrite') await this.page.locator('#draft button[value="overwrite"]').click();
    else await this.#decide();
    await this.page.waitForLoadState();
  }

  async #edit(id: string): Promise<void> {
    const menu = this.page.locator(`select[name="priority/${id}"]`);
    if ((await menu.count()) === 0) return;
    await this.#saved(async () => {
      await menu.selectOption(this.random.pick(priorities));
    });
  }

  /** A topic is chosen by a click, and its priority by a key. */
  async #press(id: string): Promise<void> {
    const box = this.page.locator(`input[name="topic"][value="${id}"]`);
    if ((await box.count()) === 0) return;
    await box.click();
    await this.#saved(() => this.page.keyboard.press(this.random.pick(['1', '2', '3', '4', '5'])));
  }

  async #saved(work: () => Promise<void>): Promise<void> {
    const answer = this.page.waitForResponse((one) => one.url().includes('/topics/draft'), {
      timeout: 2_000,
    });
    await work();
    // The value may be the one that was there.
    await answer.catch(() => undefined);
  }

  /** Looks at a preview, and confirms it mostly. */
  async #confirm(button: string): Promise<void> {
    await this.page.locator(button).click();
    await this.page.locator('#summary, #problem').first().waitFor();
    const shown = await shownChanges(this.page, browsing.sandbox);
    const confirm = this.page.locator('button[value="confirm"]');
    if ((await confirm.count()) === 0 || this.random.chance(0.1)) return;
    this.agreed.push(...shown.map((one) => ({ ...one, isForced: false })));
    await confirm.click();
    await this.page.locator('#summary').waitFor();
  }

  async #decide(): Promise<void> {
    const shown = await shownChanges(this.page, browsing.sandbox);
    this.agreed.push(...shown.map((one) => ({ ...one, isForced: true })));
    await this.page.locator('#sent button[value="retry"]').click();
  }
}

/** Kills the service in the middle of whatever it does, and starts it again. */
async function kill(): Promise<void> {
  const { running } = browsing.served;
  running.child.kill('SIGKILL');
  await running.ended;
  browsing.served = await serve(browsing.pulling);
}

it.for(Array.from({ length: rounds }, (_, at) => at + 1))(
  'two people, a colleague and kills, seed %i',
  { timeout: 600_000 },
  async (seed) => {
    const random = new Random('topics page', seed);
    const { sandbox, pulling } = browsing;
    const active = [...sandbox.world.topics.values()].filter(
      ({ graphStatus, migrated }) => graphStatus === 'active' && !migrated,
    );
    const topics = [0, 1, 2, 3].map((at) => active[(seed * 4 + at) % active.length]!.id);
    const before = beforeNow(sandbox, topics);
    const members = [await Member.of('anna', random), await Member.of('ben', random)];
    for (let step = 0; step < steps; step += 1) {
      const who = random.weighted({ anna: 6, ben: 6, colleague: 3, kill: 3, sync: 1 });
      if (who === 'anna') await members[0]!.act(topics);
      else if (who === 'ben') await members[1]!.act(topics);
      else if (who === 'kill') await kill();
      else if (who === 'sync') expect((await pulling.run(['sync', '--json', '--wait'])).code).toBe(0);
      else {
        const priority = random.pick(priorities) as 'low';
        sandbox.change({ kind: 'patchTopic', topicId: random.pick(topics), fields: { priority } });
      }
    }
    const looks = await Member.of('rita', random);
    await expect
      .poll(
        async () => {
          await looks.page.goto(`${browsing.served.url}/sheets`);
          return looks.page.locator('#history-table tr', { hasText: 'waits for its turn' }).count();
        },
        { timeout: 120_000, interval: 1_000 },
      )
      .toBe(0);
    await pulling.run(['push', '--json', '--wait']);
    const agreed = members.flatMap((one) => one.agreed);
    const found = members.flatMap(({ complaints }) => complaints);
    found.push(...(await untruths(browsing, topics, agreed, before)));
    for (const { page } of [...members, looks]) await page.context().close();
    expect(agreed.length).toBeGreaterThan(0);
    expect(found, `RUNS=${seed}`).toEqual([]);
  },
);

it('is worked with by keyboard alone: search, select, archive, review, confirm', async () => {
  const { page, complaints } = await Member.of('anna', new Random('keys', 1));
  await page.goto(`${browsing.served.url}/topics`);
  const count = await page.locator('#topics-table tbody tr').count();
  await page.keyboard.press('/');
  await page.keyboard.type('zzz');
  await page.locator('#list', { hasText: 'No topic matches' }).waitFor();
  expect(page.url()).toContain('q=zzz');
  for (const _ of 'zzz') await page.keyboard.press('Backspace');
  await expect.poll(() => page.locator('#topics-table tbody tr').count()).toBe(count);
  await page.keyboard.press('Escape');
  for (const key of ['j', 'x', 'j', 'x', 'e']) await page.keyboard.press(key);
  await page.keyboard.type('no longer needed');
  await page.keyboard.press('Enter');
  await page.locator('.marks', { hasText: 'will be archived' }).nth(1).waitFor();
  await page.getByRole('button', { name: /^Review/ }).press('Enter');
  await page.locator('#summary', { hasText: 'to confirm' }).waitFor();
  await page.getByRole('button', { name: /^Confirm/ }).press('Enter');
  await page.locator('#summary', { hasText: 'applied' }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

it.for([
  ['light', 1100, 1],
  ['dark', 1100, 1],
  ['light', 390, 1],
  ['dark', 390, 1],
  ['light', 1100, 2],
] as const)('can be read: %s, %i pixels, zoom %i', async ([colorScheme, width, zoom]) => {
  const { page } = await Member.of('anna', new Random('look', 1));
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width: width / zoom, height: 900 });
  await page.goto(`${browsing.served.url}/topics`);
  await page.locator('select[name^="priority/"]').first().selectOption({ index: 3 });
  await page.locator('#draft').waitFor();
  const topic = await page.locator('a.topic').first().getAttribute('href');
  const company = await page.locator('a[href^="/companies/"]').first().getAttribute('href');
  const look = async (name: string) => {
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.evaluate(tooWide)).toEqual([]);
    await keepPicture(page, `topics-${name}-${colorScheme}-${width}-${zoom}`);
  };
  const paths = { list: '/topics', topic, told: `${topic}/told`, company, missing: '/no-such-page' };
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(browsing.served.url + path);
    await look(name);
  }
  await page.goto(`${browsing.served.url}/topics`);
  await page.locator('#draft button[value="review"]').click();
  await page.locator('#summary').waitFor();
  await look('review');
  await page.context().close();
});
