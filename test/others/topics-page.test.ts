import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Random } from '../../src/sandbox/world/random.js';
import { type Agreed, Browsing, beforeNow, shownChanges, untruths } from '../support/browsing.js';
import { axeFindings, keepPicture, tooWide } from '../support/chromium.js';
import { serve } from '../support/serving.js';

/** The page where people work with topics: by mouse and by keyboard, by two people beside a colleague in the API, through kills. */

const rounds = Number(process.env.RUNS ?? 2);
/** What each round has at least. */
const [minEdits, minKills] = [50, 20];
const priorities = ['very_high', 'high', 'default', 'low', 'very_low'] as const;

// A proxy on this machine says who it is, so that nobody has to log in again after a kill.
const browsing = Browsing.ofFile({ proxies: ['127.0.0.1'], userHeader: 'X-User' });

/** The service that people use while it is killed. */
const service = {
  kills: 0,
  /** Resolves when it runs again. */
  running: Promise.resolve(),

  /** Kills the service in the middle of whatever it does, and starts it again. */
  async kill(): Promise<void> {
    const { running } = browsing.served;
    const again = async () => {
      await running.ended;
      browsing.served = await serve(browsing.pulling);
    };
    running.child.kill('SIGKILL');
    this.kills += 1;
    this.running = again();
    await this.running;
  },
};

/** Somebody with a browser, who works on the list. */
class Member {
  readonly agreed: Agreed[] = [];
  readonly complaints: string[] = [];
  /** Edits that the service has taken. */
  edits = 0;
  acts = 0;
  /** The priorities that the draft must have, by topic. */
  readonly #draft = new Map<string, string>();
  /** The sheets whose confirmation was answered, and the titles that they must list as changes. */
  readonly #confirmed = new Map<string, readonly string[]>();

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

  /** Does one thing after the other. What a kill interrupts may fail. */
  async work(topics: readonly string[], isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await service.running;
      const { kills } = service;
      this.acts += 1;
      try {
        await this.#act(topics);
      } catch (error) {
        // A page that follows its sheet, or the browser's own of an error, may load while a visit to another one begins.
        const isOvertaken = /net::ERR_ABORTED|interrupted by another navigation/.test(String(error));
        if (service.kills === kills && !isOvertaken) throw error;
      }
    }
  }

  /** Does one thing that the list offers. */
  async #act(topics: readonly string[]): Promise<void> {
    await this.page.goto(`${browsing.served.url}/topics?state=any`);
    await this.#checkDraft();
    const offers = (selector: string) => this.page.locator(selector).count();
    const chosen = this.random.weighted({
      edit: 6,
      keys: 3,
      review: (await offers('#draft')) * 5,
      overwrite: (await offers('#draft button[value="overwrite"]')) * 4,
      decide: (await offers('#sent button[value="retry"]')) * 3,
      undo: await offers('#sent button[value="undo"]'),
    });
    if (chosen === 'edit' || chosen === 'keys') await this.#edit(this.random.pick(topics), chosen);
    else if (chosen === 'review') await this.#confirm('#draft button[value="review"]');
    else if (chosen === 'undo') await this.#confirm('#sent button[value="undo"]');
    else if (chosen === 'overwrite') await this.page.locator('#draft button[value="overwrite"]').click();
    else await this.#decide();
    await this.page.waitForLoadState();
  }

  async #checkDraft(): Promise<void> {
    for (const [id, wanted] of this.#draft) {
      const shown = await this.page.locator(`select[name="priority/${id}"]`).inputValue();
      if (shown !== wanted)
        this.complaints.push(`${id}: the draft took ${wanted}, and the list shows ${shown}`);
    }
  }

  /** Sets the priority of a topic by its menu, or clicks on it and presses a key. */
  async #edit(id: string, how: 'edit' | 'keys'): Promise<void> {
    const menu = this.page.locator(`select[name="priority/${id}"]`);
    const shown = await menu.inputValue();
    const was = this.page.locator(`select[name="priority/${id}"] + .was`);
    const seen = (await was.count()) === 0 ? shown : (await was.innerText()).slice(4).replaceAll(' ', '_');
    const wanted = this.random.pick(priorities.filter((one) => one !== shown));
    const press = async () => {
      if (how === 'edit') {
        await menu.selectOption(wanted);
      } else {
        await this.page.locator(`input[name="topic"][value="${id}"]`).click();
        await this.page.keyboard.press(String(priorities.indexOf(wanted) + 1));
      }
    };
    this.#draft.delete(id);
    const [request] = await Promise.all([
      this.page.waitForRequest((one) => one.url().includes('/topics/draft')),
      press(),
    ]);
    const status = (await request.response())?.status();
    if (status === undefined || status >= 400) throw new Error(`an edit was answered with ${status}`);
    this.edits += 1;
    // What is set back to what was seen is no edit.
    if (wanted !== seen) this.#draft.set(id, wanted);
  }

  /** Looks at a preview, and confirms it mostly. */
  async #confirm(button: string): Promise<void> {
    await this.page.locator(button).click();
    await this.page.locator(shownPage).first().waitFor();
    const shown = await shownChanges(this.page, browsing.sandbox);
    const confirm = this.page.locator('button[value="confirm"]');
    if ((await confirm.count()) === 0 || this.random.chance(0.1)) return;
    this.agreed.push(...shown.map((one) => ({ ...one, isForced: false })));
    if (button.startsWith('#draft')) this.#draft.clear();
    const { pathname } = new URL(this.page.url());
    await confirm.click();
    await this.page
      .locator('#summary:not(:has(button[value="confirm"])), #main-frame-error')
      .first()
      .waitFor();
    if ((await this.page.locator('#summary').count()) > 0)
      this.#confirmed.set(
        pathname,
        shown.map(({ title }) => title),
      );
  }

  async #decide(): Promise<void> {
    const button = '#sent button[value="retry"]';
    const shown = await shownChanges(this.page, browsing.sandbox, button);
    this.agreed.push(...shown.map((one) => ({ ...one, isForced: true })));
  }

  /** What was confirmed, and is neither among the changes of its sheet nor told to be left out, since an open change wants the same. */
  async lost(): Promise<string[]> {
    const found: string[] = [];
    for (const [path, titles] of this.#confirmed) {
      await this.page.goto(browsing.served.url + path);
      const told = await this.page.locator('main').innerText();
      found.push(...titles.filter((title) => !told.includes(title)).map((title) => `${path} lost ${title}`));
    }
    return found;
  }
}

/** A page of ours, or that of the browser where the service does not answer. */
const shownPage = '#summary, #problem, #main-frame-error';

it.for(Array.from({ length: rounds }, (_, at) => at + 1))(
  'two people, a colleague and kills, seed %i',
  { timeout: 600_000 },
  async (seed) => {
    const { sandbox, pulling } = browsing;
    const active = [...sandbox.world.topics.values()].filter(
      ({ graphStatus, migrated }) => graphStatus === 'active' && !migrated,
    );
    const topics = [0, 1, 2, 3, 4, 5].map((at) => active[(seed * 6 + at) % active.length]!.id);
    const before = beforeNow(sandbox, topics);
    const members = [
      await Member.of('anna', new Random('anna on the topics page', seed)),
      await Member.of('ben', new Random('ben on the topics page', seed)),
    ];
    const total = (of: (one: Member) => number) => members.reduce((sum, one) => sum + of(one), 0);
    const killsBefore = service.kills;
    const isOver = () => total(({ edits }) => edits) >= minEdits && service.kills - killsBefore >= minKills;
    const syncs: Promise<{ code: number | null }>[] = [];
    /** Changes topics in the API. */
    async function colleague(random: Random): Promise<void> {
      while (!isOver()) {
        await delay(random.whole(200, 1_500));
        const fields = { priority: random.pick(priorities) };
        sandbox.change({ kind: 'patchTopic', topicId: random.pick(topics), fields });
      }
    }
    /** A kill whenever people have done a few things, while they do the next. */
    async function kills(random: Random): Promise<void> {
      while (!isOver()) {
        const acts = total((one) => one.acts) + random.whole(2, 6);
        while (total((one) => one.acts) < acts && !isOver()) await delay(20);
        await delay(random.whole(0, 600));
        if (random.chance(0.1)) syncs.push(pulling.run(['sync', '--json', '--wait']));
        await service.kill();
      }
    }
    await Promise.all([
      ...members.map((one) => one.work(topics, isOver)),
      colleague(new Random('colleague', seed)),
      kills(new Random('kills', seed)),
    ]);
    for (const sync of syncs) expect((await sync).code).toBe(0);
    const looks = await Member.of('rita', new Random('looks', seed));
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
    for (const one of members) found.push(...(await one.lost()));
    found.push(...(await untruths(browsing, topics, agreed, before)));
    for (const { page } of [...members, looks]) await page.context().close();
    expect(agreed.length).toBeGreaterThan(0);
    expect(found, `RUNS=${seed}`).toEqual([]);
  },
);

it('is worked with by keyboard alone: search, select, archive, review, confirm', async () => {
  const { page, complaints } = await Member.of('anna', new Random('keys', 1));
  await page.goto(`${browsing.served.url}/topics?sort=title`);
  const count = await page.locator('#topics-table tbody tr').count();
  const search = page.locator('#filter input[name="q"]');
  const selected = page.locator('output[name="selected"]');
  await page.keyboard.press('/');
  await page.keyboard.type('zzz');
  await page.locator('#list', { hasText: 'No topic matches' }).waitFor();
  expect(page.url()).toContain('q=zzz');
  await page.keyboard.press('Escape');
  expect([await search.inputValue(), await page.locator('#topics-table').count()]).toEqual(['zzz', 0]);
  await page.keyboard.press('/');
  for (const _ of 'zzz') await page.keyboard.press('Backspace');
  await expect.poll(() => page.locator('#topics-table tbody tr').count()).toBe(count);
  await page.keyboard.press('Escape');
  for (const key of ['j', 'x', 'j', 'x', 'e']) await page.keyboard.press(key);
  expect(await selected.innerText()).toBe('2 selected');
  await page.keyboard.press('Enter');
  await page.locator('input[name="archive_reason"]:focus:invalid').waitFor();
  await page.keyboard.type('no longer needed');
  await page.keyboard.press('Enter');
  await page.locator('.marks', { hasText: 'will be archived' }).nth(1).waitFor();
  // The keys go on at the row, and nothing is selected.
  await page.locator('#topics-table tbody tr:nth-child(2) a.topic:focus').waitFor();
  expect(await selected.innerText()).toBe('0 selected');
  await page.keyboard.press('r');
  await page.locator('#summary', { hasText: 'to confirm' }).waitFor();
  expect(await page.locator('#changes').innerText()).toContain('archived: no → yes');
  await page.locator('button[value="confirm"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('#summary', { hasText: 'applied' }).waitFor();
  await page.getByRole('link', { name: 'Back to the topics' }).press('Enter');
  await page.locator('#sent', { hasText: 'applied' }).waitFor();
  expect(page.url()).toContain('/topics?sort=title');
  expect(complaints).toEqual([]);
  await page.context().close();
});

it('archives one duplicate after the other, and stays where they are', async () => {
  const [{ id } = { id: '' }] = await browsing.pulling.rows<{ id: string }>(
    "SELECT id_1 AS id FROM probable_duplicates WHERE entity_type = 'topic' GROUP BY id_1 HAVING count(*) > 2",
  );
  const { page, complaints } = await Member.of('cora', new Random('duplicates', 1));
  await page.goto(`${browsing.served.url}/topics/${id}`);
  const archive = page.locator('#related button[value="archive"]');
  const offered = await archive.count();
  await archive.first().focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => archive.count()).toBe(offered - 1);
  await page.locator('#related button[value="archive"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('#draft', { hasText: 'Draft: 2 changes' }).waitFor();
  expect(await page.evaluate('scrollY')).toBeGreaterThan(0);
  await page.locator('#draft summary').first().click();
  await page.locator('#draft details details summary').click();
  await page.getByRole('button', { name: 'Discard 2 changes' }).click();
  await expect.poll(() => page.locator('#draft').count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

it.for([
  [1280, 800],
  [1100, 900],
  [390, 844],
  [640, 400],
] as const)(
  'by keyboard, nothing lies over the draft or the topic with the focus: %i x %i',
  async ([width, height]) => {
    // Somebody who has no draft yet.
    const { page } = await Member.of('cora', new Random('cover', 1));
    await page.setViewportSize({ width, height });
    await page.goto(`${browsing.served.url}/topics`);
    for (const at of [0, 1, 2, 3, 4, 5]) {
      const menu = page.locator('select[name^="priority/"]').nth(at);
      const shown = await menu.inputValue();
      await menu.selectOption(priorities.find((one) => one !== shown) ?? null);
      await page.locator('#draft', { hasText: new RegExp(`Draft: ${at + 1} change`) }).waitFor();
    }
    await page.locator('#draft summary').first().click();
    const hidden = (selector: string) =>
      page.evaluate<string | null>(`(() => {
      const shown = document.querySelector('${selector}');
      const { left, top, width, bottom } = shown.getBoundingClientRect();
      const isClear = (y) => shown.contains(document.elementFromPoint(left + width / 2, y));
      return isClear(top + 3) && isClear(bottom - 3) ? null : shown.textContent;
    })()`);
    await page.evaluate('scrollTo(0, 0)');
    expect(await hidden('#draft button[value="review"]')).toBeNull();
    const rows = await page.locator('#topics-table tbody tr').count();
    for (const key of ['j', 'k'])
      for (let row = 0; row < rows; row += 1) {
        await page.keyboard.press(key);
        expect(await hidden('a.topic:focus')).toBeNull();
      }
    await page.locator('#draft details details summary').click();
    await page.getByRole('button', { name: 'Discard 6 changes' }).click();
    await expect.poll(() => page.locator('#draft').count()).toBe(0);
    await page.context().close();
  },
);

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
