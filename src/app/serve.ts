import type { ExitCode, Problem } from '../base/errors.js';
import { Scope } from '../base/scope.js';
import type { Config, ServeConfig } from '../config/load.js';
import { resources } from '../contract/resources.js';
import { cacheFacts, type FactsCache } from '../serve/facts-cache.js';
import { Metrics } from '../serve/http/metrics.js';
import { startServer } from '../serve/http/server.js';
import { webhook, webhookProblem } from '../serve/notify/deliver.js';
import { Notifier } from '../serve/notify/notifier.js';
import { notifyState } from '../serve/notify/state.js';
import { seededChance } from '../serve/schedule/agenda.js';
import { jobProblems } from '../serve/schedule/job.js';
import { exitCodeOf, type RunRecord, scheduleMemory } from '../serve/schedule/record.js';
import { Scheduler } from '../serve/schedule/scheduler.js';
import { fileStore } from '../serve/store.js';
import { createDataDir } from '../warehouse/store/engine.js';
import { factsReader } from './facts.js';
import { intakeOf } from './intake.js';
import { jobRunner, jobsOf } from './jobs.js';
import type { Access } from './setup.js';
import { LiveSpending } from './spending.js';
import { serveFiles } from './status.js';

/** The composition of `signalhouse serve`: schedule, HTTP and notifications. */

export interface ServeAccess extends Access {
  readonly secrets: ServeConfig['secrets'];
}

export interface ServeOptions {
  /** Start no more jobs, and let the running one commit and publish. */
  readonly stop: AbortSignal;
  /** Abandon what is in flight as well. */
  readonly kill: AbortSignal;
}

/** The problems in the settings of `serve` that the schema cannot find; `named` tells how the user gave each setting. */
export function serveProblems(
  config: Config,
  { webhookUrl }: ServeConfig['secrets'],
  named: (path: string) => string,
): Problem[] {
  const problems = jobProblems(jobsOf(config), named('serve.jobs'));
  const problem = webhookUrl === undefined ? undefined : webhookProblem(webhookUrl);
  if (problem !== undefined) problems.push({ setting: 'SIGNALHOUSE_WEBHOOK_URL', problem });
  return problems;
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
    const { scheduler, notifier, metrics, facts } = assemble(access, options);
    const { token } = access.secrets;
    const server = await startServer({
      ...{ host, port, allowedHosts, token, facts, metrics, version, log },
      intake: intakeOf(access, (name, work) => scheduler.exclusively(name, work)),
      schedule: scheduler,
    });
    scope.defer('server', () => server.close());
    scope.defer('notifier', () => notifier?.stop());
    scope.defer('scheduler', async () => {
      ({ finished } = await scheduler.stop());
    });
    notifier?.start();
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
    const { scheduler, notifier } = assemble(access, options);
    const stop = () => void scheduler.stop();
    options.stop.addEventListener('abort', stop, { once: true });
    scope.defer('signal', () => options.stop.removeEventListener('abort', stop));
    if (options.stop.aborted) stop();
    const runs = await scheduler.runOnce();
    await notifier?.settled();
    await notifier?.stop();
    return { runs, exitCode: exitCodeOf(runs) };
  });
}

/** The endpoints that runs call: the resources, whoami, and the writes of a push. */
const calledEndpoints = [...Object.keys(resources.endpoints), 'whoami', 'update_topic', 'update_companies'];

interface Parts {
  readonly scheduler: Scheduler;
  /** Undefined without a webhook. */
  readonly notifier: Notifier | undefined;
  readonly metrics: Metrics;
  readonly facts: FactsCache;
}

function assemble(access: ServeAccess, { kill }: ServeOptions): Parts {
  const { config, log, clock, secrets, programVersion } = access;
  const { schedule, notify } = serveFiles(config.dataDir);
  const metrics = new Metrics({ process: true, version: programVersion });
  metrics.begin({ jobs: config.serve.jobs.map(({ name }) => name), endpoints: calledEndpoints });
  const live = new LiveSpending(clock);
  const metered: Access = {
    ...access,
    onAttempt: (attempt) => {
      metrics.request(attempt);
      live.attempt(attempt);
    },
  };
  const facts = cacheFacts({ facts: factsReader(access, live), log, clock });
  const notifier =
    secrets.webhookUrl === undefined
      ? undefined
      : new Notifier({
          deliver: webhook({ url: secrets.webhookUrl, clock }),
          store: fileStore(notify, notifyState, log),
          ...{ facts, log, clock },
        });
  const scheduler = new Scheduler({
    jobs: jobsOf(config),
    run: jobRunner(metered, metrics, kill),
    memory: fileStore(schedule, scheduleMemory, log),
    shutdownSeconds: config.serve.shutdownSeconds,
    retry: config.serve.retry,
    chance: seededChance(config.dataDir),
    ...{ log, clock },
    onSettled: (record) => {
      metrics.run(record);
      notifier?.run(record);
    },
  });
  return { scheduler, notifier, metrics, facts };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
