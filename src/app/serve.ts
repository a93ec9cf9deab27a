import type { ExitCode, Problem } from '../base/errors.js';
import { Scope } from '../base/scope.js';
import type { Config, ServeConfig } from '../config/load.js';
import { resources } from '../contract/resources.js';
import { cacheFacts, type FactsCache } from '../serve/facts-cache.js';
import { Metrics } from '../serve/http/metrics.js';
import { startServer } from '../serve/http/server.js';
import type { Notifier } from '../serve/notify/notifier.js';
import { exitCodeOf, type RunRecord, scheduleMemory } from '../serve/schedule/record.js';
import { Scheduler } from '../serve/schedule/scheduler.js';
import { fileStore } from '../serve/store.js';
import { createDataDir } from '../warehouse/store/engine.js';
import { factsReader, runReader } from './facts.js';
import { intakeOf } from './intake.js';
import { jobRunner, jobsOf } from './jobs.js';
import { lakeSettingsProblems } from './lake.js';
import { notificationProblems, notifiersOf, type TestedChannel, testNotifications } from './notifications.js';
import { reportSource } from './report.js';
import type { Access } from './setup.js';
import { LiveSpending } from './spending.js';
import { scheduleFile } from './status.js';

/** Everything that is wrong with notifications, and with the lake where a job publishes to it. */
export function serveProblems(
  config: Config,
  secrets: ServeConfig['secrets'],
  named: (path: string) => string,
  lake: ServeConfig['lake'],
): readonly Problem[] {
  const hasLake = config.serve.jobs.some(({ run }) => run === 'lake');
  return [
    ...notificationProblems(config, secrets, named),
    ...(hasLake ? lakeSettingsProblems(config, lake, named) : []),
  ];
}

/** The composition of `signalhouse serve`: schedule, HTTP and notifications. */

export interface ServeAccess extends Access {
  readonly secrets: ServeConfig['secrets'];
  readonly lake: ServeConfig['lake'];
}

export interface ServeOptions {
  /** Start no more jobs, and let the running one commit and publish. */
  readonly stop: AbortSignal;
  /** Abandon what is in flight as well. */
  readonly kill: AbortSignal;
}

/** Serves until `stop`. Calls `listening` with the address. `finished` is false when a job did not end in time. */
export async function serve(
  access: ServeAccess,
  options: ServeOptions,
  listening: (url: string) => void,
): Promise<{ finished: boolean }> {
  const { config, log, programVersion: version } = access;
  const { host, port, allowedHosts } = config.serve;
  createDataDir(config.dataDir);
  let finished = true;
  await Scope.run(async (scope) => {
    const { scheduler, notifiers, metrics, facts } = assemble(access, options);
    const { token } = access.secrets;
    const server = await startServer({
      ...{ host, port, allowedHosts, token, facts, metrics, version, log },
      report: config.serve.report ? reportSource(access) : undefined,
      intake: intakeOf(access, (name, work) => scheduler.exclusively(name, work)),
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
    await aborted(options.stop);
  });
  return { finished };
}

/** Runs every job that is due, sends its notifications, and ends: for external schedulers. */
export async function serveOnce(
  access: ServeAccess,
  options: ServeOptions,
): Promise<{ runs: RunRecord[]; exitCode: ExitCode }> {
  createDataDir(access.config.dataDir);
  return Scope.run(async (scope) => {
    const { scheduler, notifiers } = assemble(access, options);
    const stop = () => void scheduler.stop();
    options.stop.addEventListener('abort', stop, { once: true });
    scope.defer('signal', () => options.stop.removeEventListener('abort', stop));
    if (options.stop.aborted) stop();
    const runs = await scheduler.runOnce();
    await Promise.all(notifiers.map((notifier) => notifier.settled()));
    await Promise.all(notifiers.map((notifier) => notifier.stop()));
    return { runs, exitCode: exitCodeOf(runs) };
  });
}

/** The endpoints that runs call: the resources, whoami, and the writes of a push. */
const calledEndpoints = [...Object.keys(resources.endpoints), 'whoami', 'update_topic', 'update_companies'];

/** `signalhouse serve --test-notification`: how the test of each channel of the settings ended; empty without any. */
export async function testServe(access: ServeAccess, stop: AbortSignal): Promise<TestedChannel[]> {
  return testNotifications(access, access.secrets, stop);
}

interface Parts {
  readonly scheduler: Scheduler;
  /** One for each way to notify people. */
  readonly notifiers: readonly Notifier[];
  readonly metrics: Metrics;
  readonly facts: FactsCache;
}

function assemble(access: ServeAccess, { kill }: ServeOptions): Parts {
  const { config, log, clock, secrets, programVersion } = access;
  const metrics = new Metrics({ process: true, version: programVersion });
  metrics.begin({ jobs: config.serve.jobs.map(({ name }) => name), endpoints: calledEndpoints });
  const live = new LiveSpending(clock);
  const metered: Access & Pick<ServeAccess, 'lake'> = {
    ...access,
    onAttempt: (attempt) => {
      metrics.request(attempt);
      live.attempt(attempt);
    },
  };
  const facts = cacheFacts({ facts: factsReader(access, live), log, clock });
  const notifiers = notifiersOf(access, secrets, facts);
  const scheduler = new Scheduler({
    jobs: jobsOf(config),
    run: jobRunner(metered, metrics, kill),
    memory: fileStore(scheduleFile(config.dataDir), scheduleMemory, log),
    shutdownSeconds: config.shutdownSeconds,
    ...{ log, clock },
    onSettled: (record) => {
      metrics.run(record);
      for (const notifier of notifiers) notifier.run(record);
    },
  });
  return { scheduler, notifiers, metrics, facts };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
