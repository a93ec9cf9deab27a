import { once } from 'node:events';
import { join } from 'node:path';
import type { Attempt } from '../../api/attempt.js';
import { iso, systemClock } from '../../base/clock.js';
import { type ExitCode, messageOf, type Problem } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import { oneAtATime } from '../../base/one-at-a-time.js';
import { Scope } from '../../base/scope.js';
import type { RunSignals } from '../../base/stop.js';
import type { Config, ServeConfig } from '../../config/load.js';
import { resources } from '../../contract/resources.js';
import { lakeProblems } from '../../lake/settings.js';
import { recordLogin } from '../../privacy/audit.js';
import { cacheFacts, type FactsCache } from '../../serve/facts-cache.js';
import { type LoginAttempt, needsLogin } from '../../serve/http/login.js';
import { Metrics, ServiceMetrics } from '../../serve/http/metrics.js';
import { startServer } from '../../serve/http/server.js';
import { DeliveryError, testMessage } from '../../serve/notify/deliver.js';
import { emailProblems } from '../../serve/notify/email.js';
import { Notifier } from '../../serve/notify/notifier.js';
import { notifyState } from '../../serve/notify/state.js';
import { webhookProblem } from '../../serve/notify/webhook.js';
import { exitCodeOf, type RunRecord, scheduleMemory } from '../../serve/schedule/record.js';
import { Scheduler } from '../../serve/schedule/scheduler.js';
import { FairSemaphore } from '../../serve/schedule/semaphore.js';
import { fileStore } from '../../serve/store.js';
import { createDataDir } from '../../store/engine.js';
import { holdServed } from '../../store/lock.js';
import { intakeOf } from '../changes-import.js';
import { factsReader, LiveSpending, readFacts, runReader } from '../facts.js';
import { reportSource } from '../report.js';
import type { ServeAccess, Setup } from '../setup.js';
import { scheduleFile } from '../status.js';
import { refuseTooLittleMemory } from '../worker.js';
import { type Channel, channelsOf } from './channels.js';
import { digestProblems } from './digest.js';
import { jobRunner } from './jobs.js';
import { sendNow } from './send-now.js';
import { type SendNow, sheetsOf } from './sheets.js';
import { topicsOf } from './topics.js';

/** The composition of `signalhouse serve`: schedule, HTTP and notifications. */

type Members = readonly [ServeAccess, ...ServeAccess[]];

/** One organization, or all of a list: then each has pages of its own below those of the service. */
export interface Service {
  readonly members: Members;
  readonly isList: boolean;
}

/**
 * Serves until `stop`. Calls `listening` with the address. `finished` is false when a job did not end in time.
 */
export async function serveAll(
  { members, isList }: Service,
  signals: RunSignals,
  listening: (url: string) => void,
): Promise<{ finished: boolean }> {
  const [first] = members;
  refuseTooLittleMemory(first.config);
  const { config, log, programVersion: version } = first;
  const { host, port, allowedHosts } = config.serve;
  const { token } = first.secrets;
  const access = needsLogin(config.serve) ? config.serve : undefined;
  // The report and the topics have titles of conversations and names of companies and users.
  const showsNames = access !== undefined || isLoopback(host);
  if (!showsNames)
    log.warn(
      { host },
      'serve listens beyond this machine, without serve.users: only its status, health and metrics are served, and no report, topics or sheets',
    );
  const service = isList ? new ServiceMetrics({ process: true }) : undefined;
  let finished = true;
  await Scope.run(async (scope) => {
    const all = await assembleAll(scope, members, signals, service);
    // One board is read at a time: each takes the memory of a query.
    const inTurn = oneAtATime();
    const sites = all.map(({ member, scheduler, metrics, facts, name }) => {
      const organization = isList ? { name, base: `/o/${name}` } : undefined;
      const sheets =
        access && sheetsOf(member, scheduler, signals.stop, senderOf(member, scheduler, signals.stop));
      return {
        organization,
        metrics,
        facts,
        schedule: scheduler,
        run: runReader(member),
        report: showsNames ? reportSource(member, { base: organization?.base ?? '' }) : undefined,
        intake: intakeOf(member, (what, work) => scheduler.exclusively(what, work)),
        topics: showsNames ? topicsOf(member, inTurn, signals.stop, sheets ?? null) : undefined,
        sheets,
      };
    });
    const about = { host, port, allowedHosts, token, version, log };
    const loggedIn = (login: LoginAttempt) => {
      for (const member of members) recordLogin(member, login);
    };
    const server = await startServer({ ...about, access, loggedIn, sites, service });
    scope.defer(() => server.close());
    const notifiers = all.flatMap((one) => one.notifiers);
    for (const notifier of notifiers) scope.defer(() => notifier.stop());
    scope.defer(async () => {
      const ended = await Promise.all(all.map(({ scheduler }) => scheduler.stop()));
      finished = ended.every((one) => one.finished);
    });
    for (const notifier of notifiers) notifier.start();
    for (const { scheduler } of all) await scheduler.start();
    listening(server.url);
    if (!signals.stop.aborted) await once(signals.stop, 'abort');
  });
  return { finished };
}

/** A run of `serve --once`, with the organization of a list. */
export type OnceRecord = RunRecord & { readonly organization?: string };

/** Runs every job that is due, sends its notifications, and ends: for external schedulers. */
export async function serveOnce(
  { members, isList }: Service,
  signals: RunSignals,
): Promise<{ runs: OnceRecord[]; exitCode: ExitCode }> {
  return Scope.run(async (scope) => {
    const all = await assembleAll(scope, members, signals, isList ? new ServiceMetrics() : undefined);
    const stop = () => {
      for (const { scheduler } of all) void scheduler.stop();
    };
    signals.stop.addEventListener('abort', stop, { once: true });
    scope.defer(() => signals.stop.removeEventListener('abort', stop));
    if (signals.stop.aborted) stop();
    const done = await Promise.all(
      all.map(async ({ scheduler, name }) => {
        const runs = await scheduler.runOnce();
        return isList ? runs.map((run): OnceRecord => ({ organization: name, ...run })) : runs;
      }),
    );
    const notifiers = all.flatMap((one) => one.notifiers);
    await Promise.all(notifiers.map((notifier) => notifier.idle()));
    await Promise.all(notifiers.map((notifier) => notifier.stop()));
    const runs = done.flat();
    return { runs, exitCode: exitCodeOf(runs) };
  });
}

/** The endpoints that runs call: the resources, whoami, and the writes of a push. */
const calledEndpoints = [...Object.keys(resources.endpoints), 'whoami', 'update_topic', 'update_companies'];

async function assembleAll(
  scope: Scope,
  members: Members,
  signals: RunSignals,
  service: ServiceMetrics | undefined,
) {
  const [first] = members;
  // Shared by the organizations of a process: the places for runs, and one reader of facts at a time.
  const shared = {
    turns: new FairSemaphore(first.config.serve.parallel, first.clock),
    inTurn: oneAtATime(),
    service,
  };
  const all = members.map((member) => {
    try {
      createDataDir(member.config.dataDir);
    } catch (error) {
      // Its runs will say the same; the others go on.
      if (service === undefined) throw error;
      member.log.error({ err: error }, 'the data directory cannot be made');
    }
    return assemble(member, signals, shared);
  });
  scope.defer(await holdServed(members.map(({ config }) => config.dataDir)));
  return all;
}

function assemble(
  member: ServeAccess,
  { kill }: RunSignals,
  shared: {
    turns: FairSemaphore;
    inTurn: ReturnType<typeof oneAtATime>;
    service: ServiceMetrics | undefined;
  },
) {
  const { turns, inTurn, service } = shared;
  const { config, log, clock, programVersion: version } = member;
  const organization = config.organization ?? undefined;
  const metrics = new Metrics(
    service ? { version, organization, service } : { version, organization, process: true },
  );
  metrics.begin({ jobs: config.serve.jobs.map(({ name }) => name), endpoints: calledEndpoints });
  const live = new LiveSpending(clock);
  const metered = {
    ...member,
    onAttempt: (attempt: Attempt) => {
      metrics.request(attempt);
      live.attempt(attempt);
    },
  };
  const read = factsReader(member, live);
  const facts = cacheFacts({ facts: () => inTurn(read), log, clock });
  const notifiers = notifiersOf(member, facts);
  const scheduler = new Scheduler({
    jobs: config.serve.jobs,
    run: jobRunner(metered, metrics, kill),
    memory: fileStore(scheduleFile(config.dataDir), scheduleMemory, log),
    shutdownSeconds: config.shutdownSeconds,
    log,
    clock,
    turns,
    onEnd: (record) => {
      metrics.run(record);
      for (const notifier of notifiers) notifier.run(record);
    },
  });
  return { member, name: organization ?? '', scheduler, notifiers, metrics, facts };
}

/** Everything that is wrong with notifications, and with the lake where a job publishes to it, and that no schema finds. */
export function serveProblems(
  config: Config,
  secrets: ServeConfig['secrets'],
  named: (path: string) => string,
  lake: ServeConfig['lake'],
): readonly Problem[] {
  const { webhookUrl, smtpPassword } = secrets;
  const problem = webhookUrl === undefined ? undefined : webhookProblem(webhookUrl);
  const hasLake = config.serve.jobs.some(({ run }) => run === 'lake');
  return [
    ...(problem === undefined ? [] : [{ setting: 'SIGNALHOUSE_WEBHOOK_URL', problem }]),
    ...emailProblems(config.serve.notify.email, smtpPassword, named),
    ...digestProblems(config, secrets, named),
    ...(hasLake ? lakeProblems(config.lake, lake, named) : []),
  ];
}

/** The channels that the settings name. */
function notifying(access: ServeAccess): Channel[] {
  const { to } = access.config.serve.notify.email;
  return channelsOf(access, { webhook: access.secrets.webhookUrl !== undefined, to });
}

/** Each channel has a file with the notifications that it has sent. */
const sentFiles: Readonly<Record<Channel['name'], string>> = {
  webhook: 'notify.json',
  'e-mail': 'notify-email.json',
};

/** A notifier for each channel. */
function notifiersOf(access: ServeAccess, facts: FactsCache): Notifier[] {
  const { config, log, clock } = access;
  return notifying(access).map(
    ({ name, deliver }) =>
      new Notifier({
        name,
        deliver,
        facts,
        log,
        clock,
        organization: config.organization ?? undefined,
        jobs: config.serve.jobs.map(({ name: job }) => job),
        store: fileStore(join(config.dataDir, sentFiles[name]), notifyState, log),
      }),
  );
}

export type TestedChannel = Awaited<ReturnType<typeof testNotifications>>[number];

/**
 * `signalhouse serve --test-notification`: how a test message to each channel of the settings ended; empty without any. A channel
 * that several organizations share is tested once. `problem` is why it did not arrive, or what was wrong although it did; null
 * when all is well.
 */
export async function testNotifications(members: readonly ServeAccess[], stop: AbortSignal) {
  const known = new Set<string>();
  const tests = members.flatMap((member) =>
    notifying(member).flatMap(({ name: channel, deliver }) => {
      const place = JSON.stringify([channel, channel === 'e-mail' && member.config.serve.notify.email]);
      if (known.has(place)) return [];
      known.add(place);
      return { member, channel, deliver };
    }),
  );
  return Promise.all(
    tests.map(async ({ member, channel, deliver }) => {
      const { clock = systemClock } = member;
      try {
        const message = testMessage(await nameOf(member), iso(clock.now()));
        return { channel, delivered: true, problem: await deliver(message, stop) };
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        return { channel, delivered: false, problem: messageOf(error) };
      }
    }),
  );
}

/** The organization, where one is published and can be read. */
async function nameOf(setup: Setup): Promise<string> {
  if (setup.config.organization !== null) return setup.config.organization;
  const facts = await readFacts(setup).catch(() => null);
  const organization = facts?.contents?.organization;
  return organization?.name ?? organization?.id ?? 'Signalhouse';
}

/** Sends changes that are confirmed on the page; null where they wait for a job. */
function senderOf(member: ServeAccess, scheduler: Scheduler, stop: AbortSignal): SendNow | null {
  return member.config.serve.sendAfterConfirm ? sendNow(member, scheduler, stop) : null;
}
