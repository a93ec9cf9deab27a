import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { silentLog } from '../../src/base/log.js';
import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import { withDefaults } from '../../src/sandbox/options.js';
import { buildServer } from '../../src/sandbox/server.js';
import { Service } from '../../src/sandbox/service.js';
import type { Change } from '../../src/sandbox/world/changes/index.js';
import { defaultSizes, generate } from '../../src/sandbox/world/generate.js';
import { Random } from '../../src/sandbox/world/random.js';
import type { StoredTopic, World } from '../../src/sandbox/world/types.js';
import { Follower } from '../support/follower.js';
import { busiestPerson, stringsOfPerson } from '../support/personal-strings.js';
import {
  everyNight,
  everything,
  Failed,
  forgotten,
  type Moment,
  noLostWishes,
  nothingLost,
  nothingUndone,
  nothingUntrue,
  ownTexts,
  servedNightly,
  shownValues,
  waitingChanges,
} from './judges.js';
import { type ActMove, type ChangeMove, doubts, type Night, type StormMove } from './life.js';
import { Meddler, type Meddling } from './meddling.js';
import type { Network, Weather } from './network.js';
import type { Ended, Interruption, Program } from './program.js';
import type { VirtualTime } from './virtual-time.js';
import { changeOf, columnOf, concernedBy, isShown, Removed, setBy } from './world-changes.js';

export interface Platform {
  readonly time: VirtualTime;
  readonly network: Network;
  readonly program: Program;
}

/** A value that somebody wants. */
export interface Wish {
  readonly type: 'topic' | 'company';
  readonly id: string;
  readonly column: string;
  readonly value: string;
}

/** A change as `changes list` shows it. */
export interface ListedChange {
  readonly id: string;
  readonly status: string;
  readonly entityId: string;
  readonly idempotencyKey: string;
  readonly replaced: readonly { readonly field: string; readonly value: unknown }[];
}

interface Sheet {
  readonly file: string;
  readonly wishes: readonly Wish[];
}

/** What sheets ask for, by column. */
const values: Readonly<Record<Wish['type'], Readonly<Record<string, readonly string[]>>>> = {
  topic: {
    priority: ['very_low', 'low', 'default', 'high', 'very_high'],
    lifecycle_state: ['open', 'in_progress', 'completed', 'dismissed'],
    archived: ['TRUE', 'FALSE'],
  },
  company: { is_vip: ['TRUE', 'FALSE'], name: ['One Ltd', 'Two  Ltd', 'Three Ltd'] },
};

/** What a colleague sets while a sheet asks for something else. */
function otherwise({ type, id, column, value }: Wish, of: number): Change | null {
  if (column === 'archived')
    return { kind: value === 'TRUE' ? 'unarchiveTopic' : 'archiveTopic', topicId: id };
  const others = values[type][column]?.filter((one) => one !== value) ?? [];
  const other = others[of % others.length];
  if (column === 'priority') return { kind: 'patchTopic', topicId: id, fields: { priority: other } };
  if (column === 'lifecycle_state')
    return { kind: 'patchTopic', topicId: id, fields: { lifecycleState: other } };
  if (column === 'name') return { kind: 'patchCompany', companyId: id, fields: { name: other } };
  return null;
}

const memoryError =
  'Out of Memory Error: failed to allocate data of size 16.0 MiB (189.6 MiB/196.4 MiB used)';
const diskError =
  'IO Error: Could not write all bytes to file "worker.duckdb.wal": wanted=4096 wrote=0 (No space left on device)';

/** What somebody pulls who does not wait for the rest. */
const parts = ['people', 'companies', 'topics', 'person_groups', 'company_groups', 'topics,people'];

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
/** Nothing that was fetched so long ago is taken for current (the ages of the resource table). */
const longerThanAnyAge = 61 * day;

/** So small an organization has one of everything. */
const sizes = { topics: 30, people: 20, companies: 8, messages: 120, channels: 3, stories: 2, templates: 2 };

/** Most of the time goes into loading batches, so that there are few. */
const largeBatches = { megabytes: 5, answers: 500, seconds: 300 };
const smallBatches = { megabytes: 0.01, answers: 50, seconds: 5 };

/** One organization, its users and the program that follows it, night after night. */
export class Simulation {
  readonly world: World;
  readonly service: Service;
  /** What happened, in words, for people who read a failure. */
  readonly story: string[] = [];
  /** How many nights there were. */
  nights = 0;
  readonly #trace = createHash('sha256');
  readonly removed = new Removed();
  /** What was shown the night before, and where (judges.ts). */
  shownBefore: readonly { name: string; place: string | null }[] = [];
  /** What somebody copies from night to night. */
  readonly follower = new Follower();
  /** What there was on the last nights of which everything was shown. */
  readonly moments: Moment[] = [];
  /** What the changes of the day were about. */
  readonly #concerned = new Set<string>();
  /** Requests in a minute: one seed has what the API documents, the next one a fourth of it, which a night uses up. */
  readonly mostRequests: number;
  readonly #random: Random;
  /** What was imported, for what comes later. */
  readonly #imported: Sheet[] = [];
  readonly #contents = new Set<string>();
  /** What the organization had in a field right before a request that changes it arrived, by the key of the request. */
  readonly before = new Map<string, Record<string, unknown>>();
  /** The changes that had a key when it was sent, by key: a conflict that is retried gets another one. */
  readonly changesOfKeys = new Map<string, readonly string[]>();
  /** How many writes there were before somebody decided to send some changes again. */
  writesBeforeRetry = 0;
  /** And before the queue was restored, which knew of none of them: what became of their changes is found out, or not at all. */
  writesBeforeRestore = 0;
  /** Who leaves a company while it is read: their conversations are shown when the next run knows where they are. */
  readonly leftMeanwhile = new Set<string>();
  /** False once something was forgotten or expires. */
  hasEverything = true;
  /** The texts of people who were forgotten this evening. */
  #forgottenTexts: readonly string[] = [];
  readonly #forgottenIds = new Set<string>();
  #expires = false;
  /** The night of the backup, and how many writes there were by then. */
  #backedUp = { night: 0, writes: 0, shown: this.shownBefore };
  /** Fields that somebody else set, by entity, and those of changes that a restored queue does not know. */
  readonly colleagueSet = new Set<string>();
  readonly meddler = new Meddler();
  /** What a colleague had set right before a change of ours was made, by the key of the request; null where it was so already. */
  readonly outpaced = new Map<string, { readonly field: string; readonly value: unknown } | null>();
  /** Those of which a quiet night has shown that they are told. */
  readonly told = new Set<string>();
  #downFrom = Number.POSITIVE_INFINITY;
  #downMs = 0;
  #downUntil = 0;
  #skew = 0;

  private constructor(
    readonly platform: Platform,
    readonly folder: string,
    seed: number,
    /** Told of each line of the trace. */
    readonly traced: ((line: string) => void) | undefined,
  ) {
    const now = platform.time.now();
    this.world = generate({ ...defaultSizes, ...sizes, seed, now });
    // Lists of one page, and of several.
    const maxPageSize = [100, 12, 7][seed % 3] ?? 100;
    this.mostRequests = seed % 2 ? 30 : 120;
    const rate = { requests: this.mostRequests, windowMs: minute };
    const settings = withDefaults({ maxPageSize, pageSize: Math.min(maxPageSize, 50), rate });
    this.service = new Service(settings, this.world, silentLog);
    this.#random = new Random(seed, 'network');
  }

  /** Runs the nights of a plan. Throws a Failed as soon as a judge finds something; returns the hash of the trace. */
  static async run(
    platform: Platform,
    folder: string,
    seed: number,
    plan: readonly Night[],
    traced?: (line: string) => void,
  ): Promise<string> {
    const simulation = new Simulation(platform, folder, seed, traced);
    try {
      return await simulation.#live(plan);
    } catch (error) {
      throw error instanceof Failed
        ? error
        : simulation.#failed('unexpected', String((error as Error).stack));
    }
  }

  get dataDir(): string {
    return this.platform.program.dataDir;
  }

  async #live(plan: readonly Night[]): Promise<string> {
    const { network, program, time } = this.platform;
    network.app = await time.run(async () => {
      const app = await buildServer(this.service);
      await app.ready();
      return app;
    });
    network.heard = (what) => this.#traced(`${time.now()} ${what}`);
    network.arrivals.length = 0;
    network.arriving = (request) => this.#remember(request);
    network.handling = this.meddler.handle;
    this.meddler.beforeWrite = (key, topicId, fields) => this.#outpace(key, topicId, fields);
    mkdirSync(join(this.folder, 'data-0'), { recursive: true });
    Object.assign(program.env, {
      SIGNALHOUSE_BASE_URL: 'http://127.0.0.1:9/v1',
      SIGNALHOUSE_API_KEY: this.service.settings.apiKey,
      SIGNALHOUSE_DATA_DIR: join(this.folder, 'data-0'),
      SIGNALHOUSE_CONFIG: join(this.folder, 'settings.yaml'),
      SIGNALHOUSE_LOG_LEVEL: 'warn',
    });
    this.#settings(0);
    for (const night of plan) await this.#night(night);
    await this.#forgetSomebody();
    return this.#trace.digest('hex').slice(0, 16);
  }

  async #night(night: Night): Promise<void> {
    this.nights += 1;
    this.leftMeanwhile.clear();
    this.#say(`night ${night.no} (${night.kind})`);
    this.#pass(20 * hour);
    for (const move of night.moves) {
      this.#pass(10 * minute);
      if ('act' in move) await this.#act(move, night);
      else this.#change(move, night);
    }
    this.#weather(0);
    // Nothing is wrong any more: what is newer than the truth protects itself for three syncs, and these begin now.
    if (night.kind === 'calm') this.#clear();
    for (const move of night.storm) this.#storm(move, night);
    this.#pass(hour);
    const code = await this.#sync(night);
    if (night.kind === 'misled') await this.#misled();
    if (night.kind === 'calm') await this.#calm(night);
    else
      await everyNight(this, {
        isQuiet: ['quiet', 'misled'].includes(night.kind),
        code,
      });
    if (this.#forgottenTexts.length > 0) await forgotten(this, this.#forgottenTexts);
    this.removed.nightIsOver(night.kind !== 'stormy' || code === 0);
    this.#concerned.clear();
    this.#forgottenTexts = [];
  }

  /**
   * The run of a night, as it goes; what has to show everything is followed by one that comes to its end. Returns the exit code where
   * there was one run, which nothing cut short.
   */
  async #sync(night: Night): Promise<Ended['code'] | null> {
    const { run, after, pause, meanwhile } = night.run;
    const isStormy = ['misled', 'stormy'].includes(night.kind);
    const args = ['sync', '--push', '--json', ...(isStormy ? [] : ['--accept-deletes'])];
    if (run === 'capped') await this.#command([...args, '--max-requests', String(after)]);
    else if (run === 'killed') await this.#command(args, { killAfter: after });
    else if (run === 'stopped') await this.#command(args, { stopAfter: after });
    else if (run === 'killedSending') await this.#command(args, { killSending: after });
    else if (run === 'killedPushing') await this.#command(args, { killPushing: after });
    else if (run === 'served') await this.#serve();
    // Also with all that there is: what is done at once has to be divided.
    else if (run === 'tight')
      await this.#command(args, { failing: { after, times: 12, error: memoryError } });
    else if (run === 'full') await this.#command(args, { failing: { after, times: 12, error: diskError } });
    if (run !== 'whole') this.#pass(pause * 1_000);
    if (meanwhile) await this.#act(meanwhile, night);
    if (run !== 'whole' && isStormy) return null;
    const { code } = await this.#command(args);
    return run === 'whole' ? code : null;
  }

  /** A day and an hour as a service: its job of each night has to run, whatever comes of it. */
  async #serve(): Promise<void> {
    const from = this.platform.time.now();
    await this.#command(['serve'], { stopAfterMs: day + hour });
    await servedNightly(this, from);
  }

  /** What was doubted is read again in the next two nights. */
  async #misled(): Promise<void> {
    // Before the next judge remembers what is shown now.
    await nothingUntrue(this);
    await nothingLost(this);
    this.#clear();
    for (const _ of [1, 2]) {
      this.#pass(20 * hour);
      await this.#command(['sync', '--push', '--json', '--accept-deletes']);
    }
  }

  /** What is known is right, and once it is old, what nothing betrayed is right as well. */
  async #calm({ no }: Night): Promise<void> {
    for (const _ of [1, 2]) {
      this.#pass(hour);
      await this.#command(['sync', '--push', '--json', '--accept-deletes']);
    }
    this.#pass(longerThanAnyAge);
    await this.#command(['sync', '--push', '--json', '--accept-deletes']);
    this.removed.calm(this.world);
    await everything(this);
    if (no % 3 === 0) {
      await this.#command(['rebuild']);
      await everything(this);
    }
  }

  /**
   * Who is forgotten is nowhere, also when a backup is restored and the API has brought everything once more. Last, because the rest
   * compares everybody.
   */
  async #forgetSomebody(): Promise<void> {
    this.#backUp();
    await this.#forget(busiestPerson(this.world), true);
    await this.#restoreOver(this.#random.whole(0, 3));
    await forgotten(this, this.#forgottenTexts);
    this.#pass(longerThanAnyAge);
    await this.#command(['sync', '--json', '--accept-deletes']);
    await forgotten(this, this.#forgottenTexts);
  }

  /**
   * `isShown`: the warehouse has seen what the organization has of them now. After the first one, it does not know which accounts
   * went to people who were forgotten.
   */
  async #forget(id: string, isShown: boolean): Promise<void> {
    const strings =
      isShown && this.#forgottenIds.size === 0
        ? await ownTexts(this.dataDir, id, stringsOfPerson(this.world, id))
        : [];
    const forget = ['forget', 'person', id, '--yes'];
    // Whatever was done when it was killed: the next one does the rest.
    await this.#command(forget, { killAfter: this.#random.whole(1, 100) });
    const { stdout } = await this.#command([...forget, '--json']);
    // What it names as out of its reach, such as a damaged file that was moved aside, its operator deletes.
    const { notReached } = JSON.parse(stdout) as { notReached: readonly string[] };
    for (const place of notReached) {
      const [name = '', found] = place.split(' in the data directory: ');
      if (found !== undefined) rmSync(join(this.dataDir, name));
    }
    this.hasEverything = false;
    this.#forgottenIds.add(id);
    this.#forgottenTexts = [...this.#forgottenTexts, ...strings];
  }

  #change(move: ChangeMove, night: Night): void {
    const change = this.#changeOf(move, night);
    if (!change) return;
    this.#say(JSON.stringify(change));
    this.removed.made(change, this.world);
    for (const field of setBy(change)) this.colleagueSet.add(field);
    this.service.change(change);
  }

  #changeOf(move: ChangeMove, { kind }: Night): Change | undefined {
    const change = changeOf(this.world, this.removed, move);
    if (!change) return undefined;
    const concerned = concernedBy(this.world, change);
    // What one change shows, another one of the same day may hide: a message more and one less are as many as before.
    const isHidden = concerned.some((id) => this.#concerned.has(id)) || !isShown(this.world, change);
    if (kind !== 'stormy' && isHidden) return undefined;
    if (isHidden && change.kind === 'linkIdentity')
      for (const id of concerned)
        for (const one of [id, this.world.people.get(id)?.companyId ?? id]) this.removed.exchanged.add(one);
    for (const id of concerned) this.#concerned.add(id);
    return change;
  }

  #storm(move: StormMove, night: Night): void {
    this.#say(JSON.stringify(move));
    if ('fault' in move) this.service.faults.add([move.fault]);
    else if ('weather' in move) this.#weather(move.weather);
    else if ('outage' in move) {
      this.#downFrom = this.service.stats.read().requests + 3;
      this.#downMs = move.outage * minute;
      this.#downUntil = 0;
    } else {
      const change = this.#changeOf(move.between, night);
      const person = this.world.people.get(change?.kind === 'employ' ? String(change.personId) : '');
      if (person && person.companyId !== null) this.leftMeanwhile.add(person.id);
      if (!change) return;
      this.removed.goes(change, this.world);
      this.service.faults.add([
        { kind: 'change', change, times: 1, match: { route: move.route }, after: move.after ?? 0 },
      ]);
    }
  }

  #weather(share: number): void {
    const faults = ['lost', 'answer lost', 'reset', 'cut short', 'twice'] as const;
    this.platform.network.weather = (): Weather => {
      const delays = [this.#random.whole(5, 60), this.#random.whole(5, 400)] as const;
      if (this.#isDown()) return { delays, fault: 'reset' };
      return { delays, fault: this.#random.chance(share) ? this.#random.pick(faults) : null };
    };
  }

  /** From some request on, nothing is answered for a while. */
  #isDown(): boolean {
    if (this.#downFrom === Number.POSITIVE_INFINITY) return false;
    if (this.service.stats.read().requests < this.#downFrom) return false;
    if (this.#downUntil === 0) this.#downUntil = this.platform.time.now() + this.#downMs;
    if (this.platform.time.now() < this.#downUntil) return true;
    this.#downFrom = Number.POSITIVE_INFINITY;
    return false;
  }

  #clear(): void {
    this.service.faults.clear();
    this.#downFrom = Number.POSITIVE_INFINITY;
    this.service.tenant.renderer.worldChanged();
    this.#weather(0);
  }

  async #act({ act, of, with: other }: ActMove, { kind }: Night): Promise<void> {
    const last = this.#imported.at(-1);
    switch (act) {
      case 'importTopics':
        return this.#import(this.#sheet('topic', of, other), other);
      case 'importCompanies':
        return this.#import(this.#sheet('company', of, other), other);
      case 'importAgain':
      case 'importAgainst': {
        const earlier = this.#imported.at(act === 'importAgainst' ? -1 : -1 - (of % this.#imported.length));
        if (earlier) await this.#import(this.#sheetLike(earlier, of, act === 'importAgainst'), other);
        return;
      }
      case 'importLater':
        if (last) await this.#import(this.#withAnother(last, of), other);
        return;
      case 'dropSheet': {
        mkdirSync(join(this.dataDir, 'inbox'), { recursive: true });
        this.#contents.add(
          readFileSync(this.#sheet('topic', of, other, join(this.dataDir, 'inbox')).file, 'utf8'),
        );
        return;
      }
      case 'colleagueAgainst': {
        const wish = last?.wishes[of % last.wishes.length];
        const change = wish && otherwise(wish, other);
        if (!change || !this.world[wish.type === 'topic' ? 'topics' : 'companies'].has(wish.id)) return;
        this.service.change(change);
        for (const field of setBy(change)) this.colleagueSet.add(field);
        this.#say(`colleague: ${JSON.stringify(change)}`);
        return;
      }
      case 'sync':
        await this.#command(['sync', '--json']);
        return;
      case 'syncOnly':
        await this.#command(['sync', '--json', '--only', parts[of % parts.length] ?? '']);
        return nothingLost(this);
      case 'push':
        await this.#command(['push', '--json']);
        return;
      case 'pushKilled':
        await this.#command(['push', '--json'], { killPushing: 1 + (of % 2) });
        return;
      case 'pushLagging':
        return this.#meddled('lagging');
      case 'pushLate':
        return this.#meddled('late');
      case 'pushAmong':
        await this.#meddled('among');
        return kind === 'quiet' ? this.#toldWhatWasReplaced() : undefined;
      case 'pushInDoubt':
        this.service.faults.add([
          {
            ...doubts[of % doubts.length],
            commit: true,
            times: [1, 30, 30][other % 3],
            match: { method: 'PATCH' },
          } as FaultRuleInput,
        ]);
        await this.#command(['push', '--json'], other % 2 ? { stopAfter: 1 + (of % 7) } : {});
        // What was not used is not left for a night without faults.
        if (kind !== 'stormy') this.service.faults.clear();
        return;
      case 'undo':
        if (last) await this.#command(['changes', 'undo', last.file, '--yes']);
        return;
      case 'cancel':
        await this.#command(['changes', 'cancel', '--status', 'queued']);
        return;
      case 'retry':
        this.writesBeforeRetry = this.service.stats.writes.length;
        await this.#command([
          'changes',
          'retry',
          '--status',
          'conflict',
          '--status',
          'failed',
          ...(other % 2 ? ['--overwrite'] : []),
        ]);
        return;
      case 'rebuild':
        await this.#command(['rebuild']);
        return;
      case 'loseLiveFile':
        if (kind === 'quiet') return;
        this.#say('the live file is lost');
        if (of % 2) rmSync(join(this.dataDir, 'worker.duckdb'), { force: true });
        else truncate(join(this.dataDir, 'worker.duckdb'), other % 100_000);
        return;
      case 'backUp':
        return this.#backUp();
      case 'restore':
        return this.#restore();
      case 'restoreOver':
        return this.#restoreOver(of % 4);
      case 'forget': {
        const people = [...this.world.people.keys()].filter((id) => !this.#forgottenIds.has(id));
        const id = people[of % people.length];
        if (id !== undefined && existsSync(join(this.dataDir, 'signals.duckdb')))
          await this.#forget(id, kind === 'quiet' && !this.#concerned.has(id));
        return;
      }
      case 'expire':
        this.hasEverything = false;
        this.#expires = true;
        return this.#settings(other);
      case 'clockJump': {
        const ms = ((other % 97) - 48) * hour + 1;
        this.#say(`the clock of the machine is set by ${ms / hour} hours`);
        this.platform.time.jump(ms);
        this.#skew -= ms;
        this.service.clock.skew(this.#skew);
        return;
      }
      case 'settings':
        this.#settings(other);
    }
  }

  /** As docs/operations.md says. */
  #backUp(): void {
    if (!existsSync(join(this.dataDir, 'signals.duckdb'))) return;
    const isLeftOut = (path: string) => /^(worker\.duckdb|\.unfinished-)/.test(basename(path));
    rmSync(join(this.folder, 'backup'), { recursive: true, force: true });
    cpSync(this.dataDir, join(this.folder, 'backup'), {
      recursive: true,
      filter: (path) => !isLeftOut(path),
    });
    const { length: writes } = this.service.stats.writes;
    this.#backedUp = { night: this.nights, writes, shown: this.shownBefore };
  }

  /** On another machine, which has nothing of the one that is lost. */
  async #restore(): Promise<void> {
    if (this.#backedUp.night !== this.nights) return;
    rmSync(this.dataDir, { recursive: true });
    await this.#command(['restore', join(this.folder, 'backup')]);
    this.shownBefore = this.#backedUp.shown;
    const { writes } = this.service.stats;
    this.writesBeforeRestore = writes.length;
    for (const { id, fields } of writes.slice(this.#backedUp.writes).flatMap(({ touched }) => touched))
      for (const field of fields) this.colleagueSet.add(columnOf(id, field));
  }

  /** Over a directory that went on since the backup; killed first where it copies a file for the so many-th time, 0 for never. */
  async #restoreOver(killCopying: number): Promise<void> {
    if (this.#backedUp.night !== this.nights) return;
    const before = await this.#changes();
    const restore = ['restore', join(this.folder, 'backup'), '--replace'];
    const { code } = await this.#command(restore, { killCopying });
    // Once everything is copied, the next command completes it. Before that none starts empty: the restore has to be repeated.
    if (code === 'killed' && (await this.#command(['sync', '--json'])).code === 1)
      await this.#command(restore);
    this.shownBefore = this.#backedUp.shown;
    nothingUndone(this, before, await this.#changes());
    for (const name of readdirSync(this.dataDir).filter((one) => one.startsWith('before-restore-')))
      rmSync(join(this.dataDir, name), { recursive: true });
  }

  async #changes(): Promise<readonly ListedChange[]> {
    const { stdout } = await this.#command(['changes', 'list', '--limit', '10000', '--json']);
    return (JSON.parse(stdout) as { changes: readonly ListedChange[] }).changes;
  }

  /** Some topics or companies of the organization with a value each, as a file. */
  #sheet(type: Wish['type'], of: number, other: number, folder = this.folder): Sheet {
    const all =
      type === 'topic'
        ? [...this.world.topics.keys()]
        : [...this.world.companies.values()].flatMap((one) => (one.isOrgCompany ? [] : one.id));
    const ids = [
      ...new Set(Array.from({ length: 1 + (other % 4) }, (_, index) => all[(of + index * 7) % all.length])),
    ];
    const columns = Object.entries(values[type]);
    const [column, allowed] = columns[of % columns.length] ?? ['', []];
    const wishes = ids.flatMap((id, index) =>
      id === undefined ? [] : [{ type, id, column, value: allowed[(of + index) % allowed.length] ?? '' }],
    );
    return this.#written(wishes, `${of}-${other}`, folder);
  }

  /** Another sheet for the same fields, with the same values or with others. */
  #sheetLike({ wishes }: Sheet, of: number, isAgainst: boolean): Sheet {
    const asked = wishes.map((wish) => {
      const all = values[wish.type][wish.column] ?? [];
      const next = all[(all.indexOf(wish.value) + 1 + (of % (all.length - 1))) % all.length];
      return isAgainst && next !== undefined ? { ...wish, value: next } : wish;
    });
    return this.#written(asked, `again-${of}`);
  }

  /** The same, and one more of its kind: a file that nobody has seen before. */
  #withAnother({ wishes }: Sheet, of: number): Sheet {
    const [first] = wishes;
    const all = first?.type === 'topic' ? this.world.topics : this.world.companies;
    const others = [...all.keys()].filter((id) => wishes.every((one) => one.id !== id));
    const id = others[of % others.length];
    return this.#written([...wishes, ...(first && id ? [{ ...first, id }] : [])], `later-${of}`);
  }

  #written(wishes: readonly Wish[], name: string, folder = this.folder): Sheet {
    const [{ type, column } = { type: '', column: '' }] = wishes;
    const file = join(folder, `sheet-${name}.csv`);
    const rows = wishes.map(({ id, value }) => `${id},${value}\n`);
    writeFileSync(file, `${type}_id,${column}\n${rows.join('')}`);
    this.#say(`${file}: ${column} ${rows.join(' ').replaceAll('\n', '')}`);
    const sheet = { file, wishes };
    this.#imported.push(sheet);
    return sheet;
  }

  /** Nothing that somebody wants is lost: it is queued, was so already, or is said to be wrong. */
  async #import({ file, wishes }: Sheet, other: number): Promise<void> {
    const shown = await shownValues(this.dataDir, wishes);
    const waited = await waitingChanges(this);
    const content = readFileSync(file, 'utf8');
    const isNew = !this.#contents.has(content);
    this.#contents.add(content);
    const by = `user ${other % 3}`;
    const { stdout } = await this.#command([
      'changes',
      'import',
      file,
      '--yes',
      '--skip-invalid',
      '--by',
      by,
      '--json',
    ]);
    if (shown.size > 0) await noLostWishes(this, { wishes, isNew, waited }, shown, stdout, by);
  }

  async #meddled(how: Meddling): Promise<void> {
    this.meddler.how = how;
    try {
      await this.#command(['push', '--json']);
    } finally {
      this.meddler.how = null;
    }
  }

  /** A colleague sets a field right before a change of it is made. */
  #outpace(key: string, topicId: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.outpaced.has(key)) return;
    const column = 'priority' in fields ? 'priority' : 'lifecycleState' in fields ? 'lifecycle_state' : null;
    if (column === null || !this.world.topics.has(topicId)) return;
    const value = String(fields.priority ?? fields.lifecycleState);
    const change = otherwise({ type: 'topic', id: topicId, column, value }, topicId.length + this.nights);
    if (!change) return;
    const had = this.valueOf({ type: 'topic', id: topicId, column });
    this.service.change(change);
    for (const field of setBy(change)) this.colleagueSet.add(field);
    this.#say(`a colleague is faster: ${JSON.stringify(change)}`);
    const set = this.valueOf({ type: 'topic', id: topicId, column });
    this.outpaced.set(key, set === had ? null : { field: column, value: set });
  }

  /** Once a sync has fetched the histories, a change says what it replaced that nobody had seen. */
  async #toldWhatWasReplaced(): Promise<void> {
    const { code } = await this.#command(['sync', '--json']);
    if (code !== 0 || this.outpaced.size === 0) return;
    const changes = await this.#changes();
    const untold = changes.filter(({ idempotencyKey: key, entityId, status, replaced }) => {
      const unseen = this.outpaced.get(key);
      // Nobody reads the history of a topic that is gone.
      if (!this.world.topics.has(entityId)) return false;
      const isTold = replaced.some(({ field, value }) => field === unseen?.field && value === unseen.value);
      return status === 'applied' && unseen && !this.told.has(key) && !isTold;
    });
    for (const { idempotencyKey: key } of changes) if (this.outpaced.has(key)) this.told.add(key);
    const [first] = untold;
    if (first)
      throw this.#failed('what was replaced unseen is told', `${first.id} does not say what it replaced`);
  }

  #remember({ method, path, headers, body }: Parameters<Network['arriving']>[0]): void {
    const { 'idempotency-key': key } = headers;
    if (method !== 'PATCH' || key === undefined) return;
    // Its command may have waited for minutes.
    this.#keepUp();
    // What is sent was stored before, whatever becomes of the table and its copies after that.
    const journal = join(this.dataDir, 'changes.journal');
    const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : [];
    const ids = lines.flatMap((line) => (line.includes(key) ? (/"id":"([^"]+)"/.exec(line)?.[1] ?? []) : []));
    if (ids.length > 0) this.changesOfKeys.set(key, [...new Set(ids)]);
    if (this.before.has(key)) return;
    const [, id] = /\/topics\/([^/?]+)/.exec(path) ?? [];
    const topic = this.world.topics.get(id ?? '');
    if (!topic || body === null) return;
    this.before.set(key, valuesOf(topic));
  }

  /** What the organization has now. */
  valueOf({ type, id, column }: Omit<Wish, 'value'>): unknown {
    const topic = this.world.topics.get(id);
    const company = this.world.companies.get(id);
    if (type === 'topic') return topic && valuesOf(topic)[column];
    return column === 'name' ? company?.name : company?.isVip;
  }

  #settings(of: number): void {
    const settings = {
      rateLimit: { requests: this.mostRequests },
      warehouse: { memoryLimit: '256MB' },
      retention: this.#expires
        ? { deletedContentDays: 2, messagesMonths: 3, peopleMonths: 2, recordsDays: 70 }
        : { deletedContentDays: 'never' },
      serve: { port: 0, host: '127.0.0.1' },
    };
    writeFileSync(join(this.folder, 'settings.yaml'), stringify(settings));
    this.platform.program.tuning = {
      threads: 1,
      memory: 4 * 1024 ** 3,
      // A publication takes as long as twenty requests.
      publishEveryMinutes: of % 2 ? 3 : 30,
      batch: of % 3 === 1 ? smallBatches : largeBatches,
      concurrency: of % 4 === 1 ? 2 : 12,
    };
  }

  async #command(args: readonly string[], how: Interruption = {}): Promise<Ended> {
    await this.meddler.makeLate();
    const ended = await this.platform.program.run(args, how);
    const { code, stdout, stderr } = ended;
    // Sizes and times of files, what the real clock measures, the port and where modules lie are not the program's doing.
    const printed = `${stdout} ${stderr}`
      .replaceAll(/"(bytes|ms)":\s*\d+|127\.0\.0\.1:\d+|(?<=snapshot published )[\dT:.-]+Z/g, '')
      .replaceAll(/"stack":"(?:[^"\\]|\\.)*"/g, '')
      .replaceAll(this.folder, '');
    this.#traced(`${code} ${printed}`);
    this.#say(
      `${args.join(' ')} ${JSON.stringify(how)} -> ${code} ${code === 1 ? (stderr + stdout).slice(0, 600) : ''}`,
    );
    if (code === 'killed') return ended;
    if ((stderr + stdout).includes('Unexpected error') || ![0, 1, 2, 3].includes(code))
      throw this.#failed(
        'the program says what happened',
        `${code}: ${stderr.slice(-2000)}${stdout.slice(-2000)}`,
      );
    return ended;
  }

  #failed(judge: string, detail: string): Failed {
    return new Failed(judge, [detail], this.story, this.nights);
  }

  #traced(what: string): void {
    this.#trace.update(`${what}\n`);
    this.traced?.(what);
  }

  #pass(ms: number): void {
    this.platform.time.pass(ms);
    this.#keepUp();
  }

  /** What is written next in the world has the service's time. */
  #keepUp(): void {
    this.world.now = Math.max(this.world.now, Math.floor(this.service.clock.now()));
  }

  #say(what: string): void {
    this.story.push(what);
    this.traced?.(what);
  }
}

function valuesOf({ priority, lifecycleState, archivedAt }: StoredTopic): Record<string, unknown> {
  return { priority, lifecycle_state: lifecycleState, archived: archivedAt !== null };
}

function truncate(path: string, bytes: number): void {
  try {
    truncateSync(path, bytes);
  } catch {
    // There is none yet.
  }
}
