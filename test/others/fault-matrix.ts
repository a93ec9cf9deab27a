import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tuning } from '../../src/config/load.js';
import { type Child, type List, resources } from '../../src/contract/resources.js';
import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { runInProcess } from '../support/in-process.js';
import { Pulling, type Synced, startTown } from '../support/pulling.js';
import { Folders, type Ran } from '../support/signalhouse.js';

/**
 * The fault matrix: every read endpoint x every kind of failure x how long it lasts. The endpoints and everything that
 * is expected of a cell are derived from the resource table, so a new resource is included without a line here.
 */

/** One endpoint of the API, with the resources that are read through it. */
interface Route {
  readonly name: string;
  readonly list: List | undefined;
  /** The children that it serves. */
  readonly children: readonly Child[];
}

const routes: readonly Route[] = Object.keys(resources.endpoints).map((name) => ({
  name,
  list: resources.lists.find((list) => list.name === name),
  children: resources.children.filter(({ endpointName }) => endpointName === name),
}));

/** How the program may take a fault. */
type Nature =
  /** The client tries again, so one failure costs nothing. */
  | 'transient'
  /** The endpoint or the entity fails. */
  | 'failure'
  /** A child's answer that stands until the parent changes or the sweep comes; in a list it proves nothing. */
  | 'answer'
  /** One item is rejected; the rest of the answer loads. */
  | 'item';

interface Fault {
  readonly nature: Nature;
  /** The rule without what it matches and how long it lasts; null where the fault cannot apply to this route. */
  rule(route: Route): FaultOnly | null;
}
type FaultOnly = { readonly kind: FaultRuleInput['kind'] } & Readonly<Record<string, unknown>>;

/** One item that is larger than this is rejected. */
const maxItemBytes = 65_536;

const status = (code: number): FaultOnly => ({ kind: 'status', status: code });

const faults: Readonly<Record<string, Fault>> = {
  '403': { nature: 'failure', rule: () => status(403) },
  '404': { nature: 'answer', rule: () => status(404) },
  '410': { nature: 'failure', rule: () => status(410) },
  '500': { nature: 'transient', rule: () => status(500) },
  '503 as HTML': { nature: 'transient', rule: () => ({ kind: 'html', status: 503 }) },
  hang: { nature: 'transient', rule: () => ({ kind: 'hang' }) },
  reset: { nature: 'transient', rule: () => ({ kind: 'reset' }) },
  truncated: { nature: 'transient', rule: () => ({ kind: 'truncate', bytes: 20 }) },
  'empty list': {
    nature: 'answer',
    // One object has no list to empty.
    rule: (route) => (isObject(route) ? null : { kind: 'replace', delete: [`${listPath(route)}.*`] }),
  },
  'wrong shape': {
    nature: 'failure',
    rule: () => ({ kind: 'replace', body: { items: 'moved', more: 3 } }),
  },
  'huge item': {
    nature: 'item',
    rule: (route) => ({
      kind: 'replace',
      set: [{ path: `${itemPath(route)}padding`, value: 'x'.repeat(2 * maxItemBytes) }],
    }),
  },
  'deep item': {
    nature: 'item',
    rule: (route) => ({
      kind: 'replace',
      set: [{ path: `${itemPath(route)}nested`, json: `${'['.repeat(20_000)}${']'.repeat(20_000)}` }],
    }),
  },
  'item without an id': {
    nature: 'item',
    // An object is stored under the id that was asked for, whatever it contains.
    rule: (route) =>
      isObject(route)
        ? null
        : { kind: 'replace', delete: keyOf(route).map((field) => `${itemPath(route)}${field}`) },
  },
};

/** How many requests a fault applies to. `for a while`: more than one request tries. */
const durations = { once: 1, 'for a while': 4, always: undefined } as const;
type Duration = keyof typeof durations;

interface Cell {
  readonly route: Route;
  readonly fault: string;
  readonly duration: Duration;
}

function namesOf(cells: readonly Cell[]): string {
  return cells.map(nameOf).join('; ');
}

function nameOf({ route, fault, duration }: Cell): string {
  return `${route.name}: ${fault}, ${duration}`;
}

const lasting = Object.keys(durations) as Duration[];

function possibleFaults(route: Route): string[] {
  return Object.entries(faults).flatMap(([name, { rule }]) => (rule(route) === null ? [] : [name]));
}

/**
 * The routes in two halves, each with all that belongs to a list: while the routes of one half fail together, the tables
 * of the other half must be correct.
 */
function halves(): [Set<Route>, Set<Route>] {
  const first = new Set<Route>();
  for (const { name } of resources.lists) {
    if (first.size < routes.length / 3) for (const route of routesOf(name)) first.add(route);
  }
  return [first, new Set(routes.filter((route) => !first.has(route)))];
}

function routesOf(list: string): Route[] {
  return routes.filter(
    (route) => route.name === list || route.children.some((child) => child.list.name === list),
  );
}

/**
 * All cells of a half, in about forty runs. Those of one run hit different routes with different faults, or with the same
 * fault for another time: each route begins at another fault.
 */
export function allRuns(half: 0 | 1): Cell[][] {
  const runs = new Map<string, Cell[]>();
  for (const [shift, route] of [...halves()[half]].entries()) {
    const possible = possibleFaults(route);
    for (const answered of [true, false]) {
      const ofKind = Object.keys(faults).filter((fault) => isAnswered({ fault }) === answered);
      const kinds = ofKind.flatMap((fault) => lasting.map((duration) => ({ fault, duration })));
      for (const [index, { fault, duration }] of kinds.entries()) {
        if (!possible.includes(fault)) continue;
        const run = `${answered} ${(index + shift) % kinds.length}`;
        runs.set(run, [...(runs.get(run) ?? []), { route, fault, duration }]);
      }
    }
  }
  return [...runs.values()];
}

/** A test for each run, over one sandbox and one pulled warehouse. */
export function testRuns(title: string, runs: readonly Cell[][]): void {
  describe(title, () => {
    const folders = new Folders();
    let matrix: FaultMatrix;
    beforeAll(async () => {
      matrix = await FaultMatrix.start(folders);
    });
    afterAll(async () => {
      await matrix?.sandbox.stop();
      folders.remove();
    });
    it.each(runs.map((cells) => [namesOf(cells), cells] as const))('%s', async (_, cells) => {
      expect(await matrix.failing(cells)).toEqual([]);
    });
  });
}

function isObject({ list, children }: Route): boolean {
  return list === undefined && children.every(({ answer }) => answer.form === 'object');
}

/** The path of the list in an answer: `*` where the list is the only one in it. */
function listPath({ children }: Route): string {
  const [answer] = children.map((child) => child.answer);
  return answer?.form === 'history' ? (answer.names[0] ?? '') : '*';
}

/** The path of the first item in an answer, with its dot. */
function itemPath(route: Route): string {
  if (!isObject(route)) return `${listPath(route)}.0.`;
  const [answer] = route.children.map((child) => child.answer);
  return answer?.form === 'object' && answer.under !== undefined ? `${answer.under}.` : '';
}

function keyOf({ list, children }: Route): readonly string[] {
  if (list) return list.key;
  const [answer] = children.map((child) => child.answer);
  return answer?.form === 'members' ? answer.key : ['id'];
}

/** The documents that a route brings, directly or because what it names is asked about. */
function documentsOf({ list, children }: Route): Set<string> {
  const served = [...children, ...resources.children.filter((child) => child.list.name === list?.name)];
  const names = new Set<string>([...served.map(({ name }) => name)]);
  if (list) names.add(list.name).add(list.presence ?? list.name);
  for (const { answer } of served) if (answer.form === 'history') names.add(answer.merges.kind);
  const embeds = [list, ...served].some(
    (one) =>
      one !== undefined &&
      (('embeds' in one && one.embeds) || ('answer' in one && one.answer.form !== 'members')),
  );
  if (embeds) for (const name of Object.keys(resources.embedded)) names.add(name);
  return names;
}

const models = fileURLToPath(new URL('../../sql/models/', import.meta.url));

/** The tables that these routes feed: those whose model reads a document of theirs, or is derived from such a table. */
function tablesOf(together: readonly Cell[]): Set<string> {
  const documents = [...new Set(together.flatMap(({ route }) => [...documentsOf(route)]))];
  const texts = readdirSync(models).map((file) => {
    const text = readFileSync(join(models, file), 'utf8');
    const named = (header: string) => new RegExp(`^-- ${header}: (.*)$`, 'm').exec(text)?.[1]?.split(', ');
    return { table: file.replace('.sql', ''), text, read: named('documents'), derived: named('derived') };
  });
  const tables = new Set<string>();
  for (const { table, read } of texts) if (read?.some((name) => documents.includes(name))) tables.add(table);
  for (const { table, text, derived } of texts) {
    const isFed = derived?.some((name) => tables.has(name)) ?? false;
    if (isFed || (derived && documents.some((name) => text.includes(`'${name}'`)))) tables.add(table);
  }
  return tables;
}

/** Where nothing answers, a cell does not wait for long; elsewhere a busy machine may take longer over an answer that comes. */
export const impatient = { connectMs: 5_000, firstByteMs: 1_000, totalMs: 30_000 };

/** A command within this process, however the other tests of the project run theirs. */
export class InProcess extends Pulling {
  override run(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
    const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env;
    return runInProcess(args, { PATH, HOME, TMPDIR, ...this.env, ...env }, { tuning: this.tuning });
  }
}

type Seen = Readonly<Record<string, number>>;

/**
 * One sandbox and one pulled warehouse for all cells. A cell starts from a copy of the warehouse as it was a day before:
 * every child is due, and the organization has changed since.
 */
class FaultMatrix {
  /** The lines by which the template differs from the API. */
  #stale: ReadonlySet<string> = new Set();
  /** The requests of a run from the template without a fault. */
  #whole: Seen = {};

  private constructor(
    readonly sandbox: Sandbox,
    private readonly folders: Folders,
    private readonly template: string,
  ) {}

  static async start(folders: Folders): Promise<FaultMatrix> {
    const sizes = { topics: 6, people: 7, companies: 2, messages: 40, channels: 2, stories: 2, templates: 2 };
    const sandbox = await startTown({ sizes });
    const first = new InProcess(sandbox, join(folders.make(), 'data'));
    first.tuning = { maxItemBytes };
    expectCode(await first.sync(), 0);
    sandbox.advance(1);
    await first.age();
    const matrix = new FaultMatrix(sandbox, folders, first.dataDir);
    matrix.#stale = new Set(await first.differences({ most: Number.POSITIVE_INFINITY }));
    const reference = copyOf(sandbox, folders, first.dataDir, { maxItemBytes });
    const whole = await reference.sync();
    expectCode(whole, 0);
    const wrong = await reference.differences();
    if (wrong.length > 0) throw new Error(`without a fault: ${wrong.join('; ')}`);
    matrix.#whole = whole.seen;
    return matrix;
  }

  /**
   * What goes wrong when these cells happen in one run, by cell: when several fail together, each is repeated alone.
   * Several cells of different routes in one run prove less about the rest and cost less.
   */
  async failing(cells: readonly Cell[]): Promise<string[]> {
    const together = cells.filter((cell) => this.#canHappen(cell));
    const found = await this.#problems(together);
    if (found.length === 0) return [];
    const alone: string[] = [];
    if (together.length > 1) {
      for (const cell of together)
        for (const line of await this.#problems([cell])) alone.push(`${nameOf(cell)}: ${line}`);
    }
    return alone.length > 0 ? alone : found.map((line) => `${namesOf(together)}: ${line}`);
  }

  async #problems(together: readonly Cell[]): Promise<string[]> {
    const names = together.map(({ fault }) => fault);
    const tuning = names.includes('hang') ? { maxItemBytes, timeouts: impatient } : { maxItemBytes };
    const pulling = copyOf(this.sandbox, this.folders, this.template, tuning);
    const found = together.flatMap(({ route }) =>
      this.#isAsked(route) ? [] : [`${route.name} is not asked in this organization`],
    );
    this.sandbox.addFaults(together.map(ruleOf));
    let hurt: Synced;
    try {
      hurt = await pulling.sync();
    } catch (error) {
      return [`no report: ${String(error).slice(0, 600)}`];
    } finally {
      this.sandbox.clearFaults();
    }
    found.push(...exitProblems(together, hurt));
    found.push(...this.#requestProblems(together, hurt));
    found.push(...(await nameProblems(together, hurt, pulling)));
    found.push(...(await this.#rowProblems(together, pulling)));

    // What a child answered stands until the sweep, right or wrong.
    const isSwept = together.some(isAnswered);
    if (isSwept) await pulling.age();
    const next = await pulling.sync();
    if (next.code !== 0) found.push(`the next run exits ${next.code}: ${brief(next)}`);
    for (const line of await pulling.differences({ most: 5 })) found.push(`after the next run: ${line}`);
    if (!isSwept) found.push(...this.#costProblems(together, next));
    return found;
  }

  /** Whether the route is asked in this organization: a detail is not where the list has every field of it. */
  #canHappen({ route }: Cell): boolean {
    const isOptional = route.children.some(({ skippedWhenListHas }) => skippedWhenListHas !== undefined);
    return !isOptional || this.#isAsked(route);
  }

  #isAsked({ name }: Route): boolean {
    return (this.#whole[name] ?? 0) > 0;
  }

  /** Everything else that was due was fetched. */
  #requestProblems(together: readonly Cell[], { seen, report }: Synced): string[] {
    const affected = affectedBy(together);
    const found = Object.entries(this.#whole).flatMap(([name, count]) =>
      affected.has(name) || (seen[name] ?? 0) >= count
        ? []
        : [`${name} was asked ${seen[name] ?? 0} times instead of ${count}`],
    );
    const verified = new Set(report.scans.filter((scan) => scan.verified).map(({ endpoint }) => endpoint));
    for (const { name } of resources.lists) {
      const isHit = together.some(({ route }) => route.name === name);
      if (!isHit && !verified.has(name)) found.push(`the list ${name} was not verified`);
    }
    return found;
  }

  /** The next run costs what every run costs, and what the fault left due. */
  #costProblems(together: readonly Cell[], { seen }: Synced): string[] {
    const affected = affectedBy(together);
    const everyRun = new Set(['whoami', ...resources.lists.map(({ name }) => name)]);
    return Object.entries(seen).flatMap(([name, count]) => {
      const isDue = everyRun.has(name) || affected.has(name);
      const most = isDue ? (this.#whole[name] ?? 0) : 0;
      return count > most ? [`the next run asks ${name} ${count} times; ${most} are enough`] : [];
    });
  }

  /** Every row is as the API has it, or as it was before where the fault hit what brings it. */
  async #rowProblems(together: readonly Cell[], pulling: Pulling): Promise<string[]> {
    const own = tablesOf(together);
    const answered = tablesOf(together.filter(isAnswered));
    const lines = await pulling.differences({ most: Number.POSITIVE_INFINITY });
    return lines
      .filter((line) => {
        const table = line.split(/[ .:]/, 1)[0] ?? '';
        // A child's empty answer or 404 removes rows; any other fault leaves them.
        const isLoss = /: (is missing|should not be there)$/.test(line) && !this.#stale.has(line);
        return !own.has(table) || (isLoss && !answered.has(table));
      })
      .slice(0, 5)
      .map((line) => `row: ${line}`);
  }
}

function ruleOf({ route, fault, duration }: Cell): FaultRuleInput {
  const times = durations[duration];
  const rule = { ...faults[fault]?.rule(route), match: { route: route.name } };
  return { ...rule, ...(times !== undefined && { times }) } as FaultRuleInput;
}

function natureOf({ fault }: Pick<Cell, 'fault'>): Nature | undefined {
  return faults[fault]?.nature;
}

/** Whether the API answers, wrongly: what a child answered stands until the sweep. */
function isAnswered(cell: Pick<Cell, 'fault'>): boolean {
  return natureOf(cell) === 'answer' || natureOf(cell) === 'item';
}

function exitProblems(together: readonly Cell[], { code, report }: Synced): string[] {
  const isFused = report.scans.some(({ fused }) => fused);
  const isLoss = report.failures.length > 0 || report.rejected.new > 0 || isFused;
  if (code !== (isLoss ? 3 : 0))
    return [`exits ${code}, with ${JSON.stringify(report.failures).slice(0, 400)}`];
  const mayLose = together.some((cell) => natureOf(cell) !== 'transient' || cell.duration !== 'once');
  if (isLoss && !mayLose)
    return [`a retry does not make up for one failure: ${JSON.stringify(report.failures)}`];
  const mustLose = together.some((cell) => {
    const nature = natureOf(cell);
    return nature === 'item' || (nature !== 'answer' && cell.duration === 'always');
  });
  return mustLose && !isLoss ? ['exits 0 although something was lost'] : [];
}

/** What failed is named in the summary and in `status`, and nothing else is. */
async function nameProblems(together: readonly Cell[], hurt: Synced, pulling: Pulling): Promise<string[]> {
  const { report, code } = hurt;
  if (code !== 3) return [];
  const hit = new Set(
    together.flatMap(({ route }) => [route.name, ...route.children.map(({ name }) => name)]),
  );
  const found: string[] = [];
  const others = report.failures.filter(({ endpoint }) => !hit.has(endpoint));
  if (others.length > 0) found.push(`failures of others: ${JSON.stringify(others).slice(0, 300)}`);
  const ran = await pulling.run(['status', '--json']);
  const { contents } = JSON.parse(ran.stdout) as { contents: Contents };
  const inStatus = new Set([
    ...contents.children.flatMap(({ endpoint, failing }) => (failing > 0 ? [endpoint] : [])),
    ...contents.lists.flatMap(({ endpoint, note }) => (note ? [endpoint] : [])),
    ...contents.rejected.map(({ endpoint }) => endpoint),
  ]);
  for (const endpoint of new Set(report.failures.map((failure) => failure.endpoint)))
    if (!inStatus.has(endpoint)) found.push(`status does not name ${endpoint}`);
  if (report.rejected.new > 0 && contents.rejected.length === 0) found.push('status names no rejection');
  const named = new Set([
    ...report.failures.map(({ endpoint }) => endpoint),
    ...report.scans.flatMap(({ endpoint, note, fused }) => (note !== null || fused ? [endpoint] : [])),
  ]);
  for (const { route, fault, duration } of together) {
    const isNamed = [route.name, ...route.children.map(({ name }) => name)].some((name) => named.has(name));
    const isFailure = faults[fault]?.nature === 'failure' || faults[fault]?.nature === 'transient';
    if (isFailure && duration === 'always' && !isNamed) found.push(`the summary does not name ${route.name}`);
  }
  return found;
}

/** What `status --json` says of what failed. */
interface Contents {
  readonly children: readonly { readonly endpoint: string; readonly failing: number }[];
  readonly lists: readonly { readonly endpoint: string; readonly note: string | null }[];
  readonly rejected: readonly { readonly endpoint: string }[];
}

/** The routes that may be asked more or less often when these fail. */
function affectedBy(together: readonly Cell[]): Set<string> {
  // What a list shows of its items may make children of another list due, which counts them.
  const children = resources.children.filter(({ list, members }) =>
    together.some(({ route }) => route.name === list.name || route.name === members?.list),
  );
  return new Set([
    'whoami',
    ...together.map(({ route }) => route.name),
    ...children.map(({ endpointName }) => endpointName),
  ]);
}

function copyOf(sandbox: Sandbox, folders: Folders, template: string, tuning: Tuning): InProcess {
  const dataDir = join(folders.make(), 'data');
  cpSync(template, dataDir, { recursive: true });
  const pulling = new InProcess(sandbox, dataDir);
  pulling.tuning = tuning;
  return pulling;
}

function expectCode(ran: Synced, code: number): void {
  if (ran.code !== code) throw new Error(`it exits ${ran.code}: ${brief(ran)}${ran.stderr}`);
}

function brief({ report }: Synced): string {
  const { failures, rejected, notes } = report;
  return JSON.stringify({ failures, rejected, notes }).slice(0, 600);
}
