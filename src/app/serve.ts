import { once } from 'node:events';
import { join } from 'node:path';
import type { Attempt } from '../api/attempt.js';
import { iso, systemClock } from '../base/clock.js';
import { type ExitCode, messageOf, type Problem } from '../base/errors.js';
import { Scope } from '../base/scope.js';
import type { Config, ServeConfig } from '../config/load.js';
import { resources } from '../contract/resources.js';
import { cacheFacts, type FactsCache } from '../serve/facts-cache.js';
import { needsLogin } from '../serve/http/login.js';
import { Metrics } from '../serve/http/metrics.js';
import { startServer } from '../serve/http/server.js';
import { type Deliver, DeliveryError, testMessage } from '../serve/notify/deliver.js';
import { email, emailProblems } from '../serve/notify/email.js';
import { Notifier } from '../serve/notify/notifier.js';
import { notifyState } from '../serve/notify/state.js';
import { webhook, webhookProblem } from '../serve/notify/webhook.js';
import { exitCodeOf, type RunRecord, scheduleMemory } from '../serve/schedule/record.js';
import { Scheduler } from '../serve/schedule/scheduler.js';
import { fileStore } from '../serve/store.js';
import { createDataDir } from '../warehouse/store/engine.js';
import { intakeOf } from './changes.js';
import { digestProblems } from './digest.js';
import { factsReader, readFacts, runReader } from './facts.js';
import { jobRunner } from './jobs.js';
import { lakeProblems } from './lake.js';
import { reportSource } from './report.js';
import type { Access, RunSignals, Setup } from './setup.js';
import { sheetsOf } from './sheets.js';
import { LiveSpending } from './spending.js';
import { scheduleFile } from './status.js';

/** The composition of `signalhouse serve`: schedule, HTTP and notifications. */

export interface ServeAccess extends Access {
  readonly secrets: Secrets;
  readonly lake: ServeConfig['lake'];
  readonly readSecrets: ServeConfig['readSecrets'];
}

/** Serves until `stop`. Calls `listening` with the address. `finished` is false when a job did not end in time. */
export async function serve(
  access: ServeAccess,
  signals: RunSignals,
  listening: (url: string) => void,
): Promise<{ finished: boolean }> {
  const { config, log, programVersion: version } = access;
  const { host, port, allowedHosts } = config.serve;
  createDataDir(config.dataDir);
  let finished = true;
  await Scope.run(async (scope) => {
    const { scheduler, notifiers, metrics, facts } = assemble(access, signals);
    const { token } = access.secrets;
    const server = await startServer({
      ...{ host, port, allowedHosts, token, facts, metrics, version, log },
      report: config.serve.report ? reportSource(access, needsLogin(config.serve)) : undefined,
      intake: intakeOf(access, (name, work) => scheduler.exclusively(name, work)),
      ...(needsLogin(config.serve) && {
        access: config.serve,
        sheets: sheetsOf({ setup: access, schedule: scheduler, stop: signals.stop }),
      }),
      schedule: scheduler,
      run: runReader(access),
    });
    scope.defer('server', () => server.close());
    for (const notifier of notifiers) scope.defer('notifier', () => notifier.stop());
    scope.defer('scheduler', async () => {
      ({ finished } = await scheduler.stop());
    });
    for (const notifier of notifiers) notifier.start();
    await scheduler.start();
    listening(server.url);
    if (!signals.stop.aborted) await once(signals.stop, 'abort');
  });
  return { finished };
}

/** Runs every job that is due, sends its notifications, and ends: for external schedulers. */
export async function serveOnce(
  access: ServeAccess,
  signals: RunSignals,
): Promise<{ runs: RunRecord[]; exitCode: ExitCode }> {
  createDataDir(access.config.dataDir);
  return Scope.run(async (scope) => {
    const { scheduler, notifiers } = assemble(access, signals);
    const stop = () => void scheduler.stop();
    signals.stop.addEventListener('abort', stop, { once: true });
    scope.defer('signal', () => signals.stop.removeEventListener('abort', stop));
    if (signals.stop.aborted) stop();
    const runs = await scheduler.runOnce();
    await Promise.all(notifiers.map((notifier) => notifier.idle()));
    await Promise.all(notifiers.map((notifier) => notifier.stop()));
    return { runs, exitCode: exitCodeOf(runs) };
  });
}

/** The endpoints that runs call: the resources, whoami, and the writes of a push. */
const calledEndpoints = [...Object.keys(resources.endpoints), 'whoami', 'update_topic', 'update_companies'];

interface Parts {
  readonly scheduler: Scheduler;
  /** One for each way to notify people. */
  readonly notifiers: readonly Notifier[];
  readonly metrics: Metrics;
  readonly facts: FactsCache;
}

function assemble(access: ServeAccess, { kill }: RunSignals): Parts {
  const { config, log, clock, programVersion } = access;
  const metrics = new Metrics({ process: true, version: programVersion });
  metrics.begin({ jobs: config.serve.jobs.map(({ name }) => name), endpoints: calledEndpoints });
  const live = new LiveSpending(clock);
  const metered = {
    ...access,
    onAttempt: (attempt: Attempt) => {
      metrics.request(attempt);
      live.attempt(attempt);
    },
  };
  const facts = cacheFacts({ facts: factsReader(access, live), log, clock });
  const notifiers = notifiersOf(access, facts);
  const scheduler = new Scheduler({
    jobs: config.serve.jobs,
    run: jobRunner(metered, metrics, kill),
    memory: fileStore(scheduleFile(config.dataDir), scheduleMemory, log),
    shutdownSeconds: config.shutdownSeconds,
    ...{ log, clock },
    onEnd: (record) => {
      metrics.run(record);
      for (const notifier of notifiers) notifier.run(record);
    },
  });
  return { scheduler, notifiers, metrics, facts };
}

export function hasLogin({ serve: settings }: Config): boolean {
  return needsLogin(settings);
}

/** Everything that is wrong with notifications, and with the lake where a job publishes to it. */
export function serveProblems(
  config: Config,
  secrets: Secrets,
  named: Named,
  lake: ServeConfig['lake'],
): readonly Problem[] {
  const hasLake = config.serve.jobs.some(({ run }) => run === 'lake');
  return [
    ...notificationProblems(config, secrets, named),
    ...digestProblems(config, secrets, named),
    ...(hasLake ? lakeProblems(config.lake, lake, named) : []),
  ];
}

type Secrets = ServeConfig['secrets'];
type Named = (path: string) => string;

/** A way to notify people. Each channel remembers for itself what it has sent, in a file of its own. */
interface Channel {
  readonly name: 'webhook' | 'e-mail';
  readonly file: string;
  readonly deliver: Deliver;
}

/** The problems of the settings of the channels that the schema cannot find. */
function notificationProblems({ serve }: Config, secrets: Secrets, named: Named): Problem[] {
  const { webhookUrl, smtpPassword } = secrets;
  const problem = webhookUrl === undefined ? undefined : webhookProblem(webhookUrl);
  return [
    ...(problem === undefined ? [] : [{ setting: 'SIGNALHOUSE_WEBHOOK_URL', problem }]),
    ...emailProblems(serve.notify.email, smtpPassword, named),
  ];
}

function channelsOf({ config, secrets, readSecrets, clock = systemClock }: ServeAccess): Channel[] {
  const { webhookFormat: format, email: settings } = config.serve.notify;
  const { server } = settings;
  const read = () => readSecrets().secrets;
  const channels: Channel[] = [];
  if (secrets.webhookUrl !== undefined) {
    const deliver: Deliver = (...message) =>
      webhook({ url: read().webhookUrl ?? '', format, clock })(...message);
    channels.push({ name: 'webhook', file: 'notify.json', deliver });
  }
  if (server !== undefined) {
    const deliver: Deliver = (...message) =>
      email({ settings: { ...settings, server }, password: read().smtpPassword, clock })(...message);
    channels.push({ name: 'e-mail', file: 'notify-email.json', deliver });
  }
  return channels;
}

/** A notifier for each channel. */
function notifiersOf(access: ServeAccess, facts: FactsCache): Notifier[] {
  const { config, log, clock } = access;
  return channelsOf(access).map(
    ({ name, file, deliver }) =>
      new Notifier({
        ...{ name, deliver, facts, log, clock },
        store: fileStore(join(config.dataDir, file), notifyState, log),
      }),
  );
}

export interface TestedChannel {
  readonly channel: Channel['name'];
  readonly delivered: boolean;
  /** Why it did not arrive, or what was wrong although it did; null when all is well. */
  readonly problem: string | null;
}

/** `signalhouse serve --test-notification`: how a test message to each channel of the settings ended; empty without any. */
export async function testNotifications(access: ServeAccess, stop: AbortSignal): Promise<TestedChannel[]> {
  const { clock = systemClock } = access;
  const message = testMessage(await nameOf(access), iso(clock.now()));
  return Promise.all(
    channelsOf(access).map(async ({ name: channel, deliver }): Promise<TestedChannel> => {
      try {
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
  const facts = await readFacts(setup).catch(() => null);
  const organization = facts?.contents?.organization;
  return organization?.name ?? organization?.id ?? 'Signalhouse';
}
