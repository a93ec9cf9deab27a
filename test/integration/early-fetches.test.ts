import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Gateway } from '../support/gateway.js';
import { Pulling, townForEachTest } from '../support/pulling.js';
import type { Folders } from '../support/signalhouse.js';

let sandbox: Sandbox;
let pulling: Pulling;
let folders: Folders;
townForEachTest({}, (made) => {
  ({ sandbox, pulling, folders } = made);
});

/** Pages of four items, so that every list but the small ones has several. */
const paged = { api: { paging: { pageSize: 4 } } };

const isTopic = (path: string) => /^[/]topics[/][^/?]+$/.test(path);
const isList = (path: string) =>
  /^[/](topics|companies|people|channels|stories|automation-templates)([?]|$)/.test(path);
const secondPage = (list: string) => (path: string) => new RegExp(`^/${list}[?].*page=2`).test(path);

/** Only so that a test fails instead of waiting for ever. */
const longestMs = 20_000;

/**
 * A pull in which the answers to some requests arrive only after `until` was requested, or after `ms`. What was requested,
 * what of it while an answer was held, and whether `until` was.
 */
async function pullHolding(
  args: readonly string[],
  isHeld: (path: string) => boolean,
  { until, ms = longestMs }: { until: (path: string) => boolean; ms?: number },
) {
  const gateway = await Gateway.start(sandbox);
  const paths: string[] = [];
  const meanwhile: string[] = [];
  let holding = 0;
  let release: (isRequested: boolean) => void = () => undefined;
  const requested = new Promise<boolean>((resolve) => {
    release = resolve;
  });
  gateway.hold = async ({ path }) => {
    paths.push(path);
    if (holding > 0) meanwhile.push(path);
    if (holding > 0 && until(path)) release(true);
    if (!isHeld(path)) return;
    holding += 1;
    void delay(ms, undefined, { ref: false }).then(() => release(false));
    await requested;
    holding -= 1;
  };
  pulling.set(paged);
  pulling.env.SIGNALHOUSE_BASE_URL = gateway.baseUrl;
  try {
    const ran = await pulling.sync(args);
    release(false);
    const children = paths.filter((path) => path !== '/whoami' && !isList(path));
    return { ...ran, children, meanwhile, wasRequested: await requested };
  } finally {
    await gateway.stop();
  }
}

it('children are fetched while a list is still being read, each once, and the warehouse is what the API says', async () => {
  const pull = await pullHolding([], secondPage('companies'), { until: isTopic });
  expect(pull).toMatchObject({ code: 0, stderr: '', wasRequested: true });
  expect(pull.report).toMatchObject({ outcome: 'done', failures: [], left: { due: 0 } });
  expect(pull.children.length).toBe(new Set(pull.children).size);
  expect(await pulling.differences()).toEqual([]);
});

it('what an earlier run left is not fetched before its list has shown whether it changed', async () => {
  const lists = await pulling.sync(['--max-requests', '15']);
  expect(lists.report.left.due).toBeGreaterThan(100);
  sandbox.advance(1, { activeTopics: 1 });
  const pull = await pullHolding([], secondPage('topics'), { until: isTopic });
  expect(pull).toMatchObject({ code: 0, stderr: '', wasRequested: true });
  expect(pull.report).toMatchObject({ outcome: 'done', failures: [], left: { due: 0 } });
  expect(pull.children.length).toBe(new Set(pull.children).size);
  expect(await pulling.differences()).toEqual([]);
});

it('a cap that leaves enough for the lists is spent early on the details of topics alone', async () => {
  const pull = await pullHolding(['--max-requests', '150'], secondPage('companies'), { until: isTopic });
  expect(pull).toMatchObject({ code: 0, wasRequested: true });
  expect(pull.meanwhile.filter((path) => !isTopic(path) && !isList(path))).toEqual([]);
});

it('a cap that the lists may need is spent on them first', async () => {
  const isChild = (path: string) => !isList(path);
  const pull = await pullHolding(['--max-requests', '40'], secondPage('companies'), {
    until: isChild,
    ms: 500,
  });
  expect(pull).toMatchObject({ code: 0, wasRequested: false });
  expect(pull.report.scans.map(({ verified }) => verified)).toEqual(Array(6).fill(true));
  expect(pull.children.length).toBeGreaterThan(0);
});

it('a night looks early at what has changed, and at everything only when the last sync left something due', async () => {
  pulling = await Pulling.filled(folders, sandbox);
  const neverFetched = "DELETE FROM ops.coverage WHERE endpoint = 'topic'";
  await pulling.edit(neverFetched);
  const unchanged = await pullHolding([], secondPage('companies'), { until: isTopic, ms: 500 });
  expect(unchanged).toMatchObject({ code: 0, wasRequested: false });
  expect(unchanged.report).toMatchObject({ outcome: 'done', left: { due: 0 } });
  expect(unchanged.children.filter(isTopic).length).toBeGreaterThan(10);

  await pulling.edit(neverFetched, 'UPDATE ops.runs SET left_due = 1');
  const left = await pullHolding([], secondPage('companies'), { until: isTopic });
  expect(left).toMatchObject({ code: 0, wasRequested: true });

  sandbox.advance(1, { activeTopics: 0.2 });
  const changed = await pullHolding([], secondPage('companies'), { until: isTopic });
  expect(changed).toMatchObject({ code: 0, wasRequested: true });
  expect(await pulling.differences()).toEqual([]);
});

it('with children alone there is no list whose items could be looked at', async () => {
  await pulling.sync(['--only', 'topics']);
  expect(await pulling.sync(['--only', 'topic'])).toMatchObject({ code: 0, report: { left: { due: 0 } } });
});
