import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { millis } from '../../base/clock.js';
import { ageMinutes, type Facts } from '../../base/facts.js';
import { outcomes, type RunRecord, type ScheduleView } from '../schedule/record.js';

const prefix = 'signalhouse_';

export interface MeteredRequest {
  readonly endpoint: string;
  /** Undefined when no answer came. */
  readonly status?: number | undefined;
  readonly ms: number;
}

/** What /metrics shows of the process: the requests that it answered and, with `process`, its memory, CPU and event loop. */
export class ServiceMetrics {
  readonly #registry = new Registry();
  readonly #served = new Histogram({
    name: `${prefix}http_request_duration_seconds`,
    help: 'Duration of requests to this server.',
    labelNames: ['route', 'status', 'organization'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5],
    registers: [this.#registry],
  });

  constructor(options: { readonly process?: boolean } = {}) {
    if (options.process) collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** One answered request. `route` is the pattern, never the path of the request. */
  served(route: string, status: number, ms: number, organization?: string): void {
    const of = organization === undefined ? {} : { organization };
    this.#served.observe({ route, status: String(status), ...of }, ms / 1000);
  }

  /** The text for Prometheus, with the organization where the process has only one. */
  text(organization?: string): Promise<string> {
    this.#registry.setDefaultLabels(organization === undefined ? {} : { organization });
    return this.#registry.metrics();
  }
}

/** One text of several: Prometheus wants all series of a metric in one piece. */
export function together(texts: readonly string[]): string {
  const families = new Map<string, string[]>();
  for (const family of texts.flatMap((text) => text.trim().split('\n\n'))) {
    const lines = family.split('\n');
    const isHead = (line: string) => line.startsWith('#');
    const head = lines.filter(isHead).join('\n');
    families.set(head, [...(families.get(head) ?? []), ...lines.filter((line) => !isHead(line))]);
  }
  return [...families].map(([head, samples]) => `${[head, ...samples].join('\n')}\n`).join('\n');
}

/**
 * Everything that /metrics shows of an organization. Events are counted from the start of the process (`request`, `rows`, `run`,
 * `served`); the current state is read from facts and schedule for each scrape. Every series has the label `organization`: the
 * name in the settings, else the slug or the id, as soon as it is known.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counters = counters(this.#registry);
  readonly #gauges = gauges(this.#registry);
  readonly #service: ServiceMetrics;
  readonly #organization: string | undefined;
  readonly #isAlone: boolean;

  /** Without `service`, it also shows the process, with `process` its memory as well; only for one instance per process. */
  constructor(
    options: {
      readonly process?: boolean;
      readonly version?: string;
      readonly organization?: string | undefined;
      readonly service?: ServiceMetrics;
    } = {},
  ) {
    this.#isAlone = options.service === undefined;
    this.#service = options.service ?? new ServiceMetrics(options);
    this.#organization = options.organization;
    if (options.version !== undefined) this.#gauges.info.set({ version: options.version }, 1);
  }

  /**
   * Gives the counters that alerts watch a series from the start: Prometheus takes a series that begins at 1 for one that
   * never grew, and would miss the first failure.
   */
  begin({
    jobs,
    endpoints,
  }: {
    readonly jobs: readonly string[];
    readonly endpoints: readonly string[];
  }): void {
    const { runs, requests, rateLimited } = this.#counters;
    for (const job of jobs) for (const outcome of outcomes) runs.inc({ job, outcome }, 0);
    for (const endpoint of endpoints) {
      requests.inc({ endpoint, status: 'none' }, 0);
      rateLimited.inc({ endpoint }, 0);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  request({ endpoint, status, ms }: MeteredRequest): void {
    const { requests, rateLimited, requestSeconds } = this.#counters;
    requests.inc({ endpoint, status: status === undefined ? 'none' : String(status) });
    if (status === 429) rateLimited.inc({ endpoint });
    requestSeconds.observe({ endpoint }, ms / 1000);
  }

  /** Rows of a table that a run added, changed or removed. */
  rows(
    table: string,
    counts: { readonly new: number; readonly changed: number; readonly removed: number },
  ): void {
    for (const change of ['new', 'changed', 'removed'] as const) {
      this.#counters.rows.inc({ table, change }, counts[change]);
    }
  }

  run({ job, outcome, startedAt, endedAt }: RunRecord): void {
    this.#counters.runs.inc({ job, outcome });
    const started = millis(startedAt);
    if (started !== null) {
      this.#counters.runSeconds.observe({ job, outcome }, Math.max(0, Date.parse(endedAt) - started) / 1000);
    }
  }

  /** One answered request of its pages. `route` is the pattern, never the path of the request. */
  served(route: string, status: number, ms: number): void {
    this.#service.served(route, status, ms, this.#organization);
  }

  /** Goes on counting from what an earlier process counted. */
  restore(runs: Iterable<readonly [job: string, outcome: string, number: number]>): void {
    for (const [job, outcome, number] of runs) this.#counters.runs.inc({ job, outcome }, number);
  }

  /** The text for Prometheus. While `facts` is null, their metrics are absent. */
  async render(facts: Facts | null, schedule: ScheduleView, now: number): Promise<string> {
    this.#set(facts, now);
    const { lastSuccess, nextRun, running, waiting, overdue, lastExit, unavailable, ready, lakePublished } =
      this.#gauges;
    for (const gauge of [running, lastSuccess, nextRun, overdue, lastExit]) gauge.reset();
    ready.set(facts === null || schedule.stopping ? 0 : 1);
    const outage = millis(schedule.running?.outage?.since ?? null);
    unavailable.set(outage === null ? 0 : Math.max(0, now - outage) / 1000);
    for (const { name, last, lastSuccessAt, nextAt, overdueSince } of schedule.jobs) {
      const next = millis(nextAt);
      const due = millis(overdueSince);
      lastSuccess.set({ job: name }, (millis(lastSuccessAt) ?? 0) / 1000);
      overdue.set({ job: name }, due === null ? 0 : Math.max(0, now - due) / 1000);
      const ended = [last, ...schedule.history.filter(({ job }) => job === name)].find(
        (run) => run?.exitCode != null,
      );
      if (ended) lastExit.set({ job: name }, Number(ended.exitCode));
      if (next !== null) nextRun.set({ job: name }, next / 1000);
      running.set({ job: name }, schedule.running?.job === name ? 1 : 0);
    }
    waiting.set(schedule.waiting.length);
    const lake = schedule.jobs
      .filter(({ run }) => run === 'lake')
      .map((job) => millis(job.lastSuccessAt) ?? 0);
    lakePublished.remove();
    if (lake.length > 0) lakePublished.set(Math.max(...lake) / 1000);
    const known = facts?.contents?.organization;
    const organization = this.#organization ?? known?.slug ?? known?.id;
    this.#registry.setDefaultLabels(organization === undefined ? {} : { organization });
    const text = await this.#registry.metrics();
    return this.#isAlone ? together([await this.#service.text(organization), text]) : text;
  }

  #set(facts: Facts | null, now: number): void {
    const all = this.#gauges;
    // A value that no longer exists must not keep its last state.
    const { budgetLeft, budgetLimit, due, dueRequests, published: at, verifiedAt, verifiedEqual } = all;
    for (const gauge of [
      budgetLeft,
      budgetLimit,
      due,
      dueRequests,
      at,
      verifiedAt,
      verifiedEqual,
      all.diskFree,
    ])
      gauge.remove();
    for (const gauge of [all.tableRows, all.queue, all.fresh, all.objective, all.bytes, all.rejected])
      gauge.reset();
    for (const gauge of [all.stale, all.staleBound, all.checks, all.complete]) gauge.reset();
    all.organization.reset();
    if (facts === null) return;
    const { spending, contents, files, publishedAt, verified } = facts;
    const organization = contents?.organization;
    if (organization)
      all.organization.set(
        { organization_id: organization.id, organization_name: organization.name ?? '' },
        1,
      );
    if (facts.diskFreeBytes !== null) all.diskFree.set(facts.diskFreeBytes);
    all.budgetLeft.set(Math.max(0, spending.limit - spending.held));
    all.budgetLimit.set(spending.limit);
    if (contents?.left) {
      all.due.set(contents.left.due);
      all.dueRequests.set(contents.left.requests);
    }
    const published = millis(publishedAt);
    if (published !== null) all.published.set(published / 1000);
    if (verified) {
      all.verifiedAt.set(Date.parse(verified.at) / 1000);
      all.verifiedEqual.set(verified.outcome === 'equal' ? 1 : 0);
    }
    for (const [table, rows] of Object.entries(contents?.rows ?? {})) all.tableRows.set({ table }, rows);
    for (const [status, changes] of Object.entries(facts.queue)) all.queue.set({ status }, changes);
    for (const one of facts.freshness) {
      const { resource, objectiveMinutes } = one;
      const age = ageMinutes(one, now);
      const completeAt = millis(one.at);
      if (age !== null) all.fresh.set({ resource }, age * 60);
      if (completeAt !== null) all.complete.set({ resource }, completeAt / 1000);
      if (objectiveMinutes !== null) all.objective.set({ resource }, objectiveMinutes * 60);
    }
    for (const { resource, checks, bound, ...found } of contents?.estimates ?? []) {
      all.checks.set({ resource }, checks);
      if (bound && resource !== 'all') all.staleBound.set({ resource }, bound);
      for (const of of ['share', 'low', 'high'] as const)
        all.stale.set({ resource, of }, found[of] ?? Number.NaN);
    }
    for (const { endpoint, records } of contents?.rejected ?? []) all.rejected.set({ endpoint }, records);
    for (const [file, found] of Object.entries(files)) if (found) all.bytes.set({ file }, found.bytes);
  }
}

function counters(register: Registry) {
  const registers = [register];
  const counter = <T extends string>(name: string, help: string, labelNames: T[]) =>
    new Counter({ name: prefix + name, help, labelNames, registers });
  const histogram = <T extends string>(name: string, help: string, labelNames: T[], buckets: number[]) =>
    new Histogram({ name: prefix + name, help, labelNames, buckets, registers });
  return {
    runs: counter('runs_total', 'Runs that ended or were skipped.', ['job', 'outcome']),
    runSeconds: histogram(
      'run_duration_seconds',
      'Duration of runs.',
      ['job', 'outcome'],
      [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400],
    ),
    requests: counter(
      'api_requests_total',
      'Requests to the API, with retries; status none means no answer.',
      ['endpoint', 'status'],
    ),
    rateLimited: counter('api_rate_limited_total', 'Requests that the API answered with 429.', ['endpoint']),
    requestSeconds: histogram(
      'api_request_duration_seconds',
      'Time from sending a request to the end of its answer.',
      ['endpoint'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ),
    rows: counter('rows_total', 'Rows that runs added, changed or removed.', ['table', 'change']),
  };
}

function gauges(register: Registry) {
  const registers = [register];
  const gauge = <T extends string = never>(name: string, help: string, labelNames: T[] = []) =>
    new Gauge({ name: prefix + name, help, labelNames, registers });
  return {
    info: gauge('info', 'Version of the running program; always 1.', ['version']),
    organization: gauge('organization_info', 'Organization of the warehouse by its id and name; always 1.', [
      'organization_id',
      'organization_name',
    ]),
    diskFree: gauge('disk_free_bytes', 'Free space of the disk with the data directory.'),
    lakePublished: gauge(
      'lake_published_timestamp_seconds',
      'When a job last published to the lake; 0 before the first time.',
    ),
    complete: gauge('complete_timestamp_seconds', 'When a resource was last complete.', ['resource']),
    budgetLeft: gauge('budget_remaining_requests', 'Requests left in the current window.'),
    budgetLimit: gauge('budget_limit_requests', 'Requests allowed per window.'),
    due: gauge('due', 'Fetches that the last sync left due.'),
    dueRequests: gauge('due_requests', 'Requests needed for what the last sync left due.'),
    published: gauge('published_timestamp_seconds', 'When the snapshot was published.'),
    verifiedAt: gauge('verified_timestamp_seconds', 'When a restore was rehearsed last (verify).'),
    verifiedEqual: gauge(
      'verified_equal',
      '1 when the restored copy was equal to the published file, 0 when it differed or could not be made.',
    ),
    tableRows: gauge('rows', 'Rows in the published snapshot.', ['table']),
    queue: gauge('queue_changes', 'Changes to push, by status.', ['status']),
    fresh: gauge('freshness_seconds', 'Time since a resource was last complete.', ['resource']),
    objective: gauge('freshness_objective_seconds', 'Objective for signalhouse_freshness_seconds.', [
      'resource',
    ]),
    stale: gauge(
      'stale_share',
      'Share of a resource that is out of date, by random checks: of="share", with its 95 % interval (low, high).',
      ['resource', 'of'],
    ),
    staleBound: gauge('stale_share_objective', 'Objective for signalhouse_stale_share.', ['resource']),
    checks: gauge('checks', 'Random checks of the last 30 days.', ['resource']),
    rejected: gauge('rejected_records', 'Rejected records that are not resolved.', ['endpoint']),
    bytes: gauge('warehouse_bytes', 'Size of the warehouse files.', ['file']),
    ready: gauge('ready', '1 when the warehouse was read and the program is not shutting down, else 0.'),
    unavailable: gauge(
      'api_unavailable_seconds',
      'How long a run has been waiting for an API that does not answer; 0 while it answers.',
    ),
    lastSuccess: gauge(
      'last_success_timestamp_seconds',
      'When a job last succeeded; 0 before the first time.',
      ['job'],
    ),
    overdue: gauge(
      'overdue_seconds',
      'Time since a job was due for the first time after its last success; 0 when it is not due.',
      ['job'],
    ),
    lastExit: gauge('last_exit_code', 'Exit code of the last run of a job.', ['job']),
    nextRun: gauge('next_run_timestamp_seconds', 'When a job starts next.', ['job']),
    running: gauge('running', '1 while the job runs, else 0.', ['job']),
    waiting: gauge('waiting_runs', 'Runs that are due and wait for another run.'),
  };
}
