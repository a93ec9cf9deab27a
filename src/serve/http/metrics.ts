import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Iso, millis } from '../../base/clock.js';
import type { Facts } from '../../base/facts.js';
import { type JobView, outcomes, type RunRecord, type ScheduleView } from '../schedule/record.js';

/** The content type of /metrics. */
export const metricsType = Registry.PROMETHEUS_CONTENT_TYPE;

const prefix = 'signalhouse_';

/** Series of the process that no rule uses, or that promtool refuses for their name. */
const noise = [
  ...['handles', 'requests', 'resources'].flatMap((of) => [
    `nodejs_active_${of}`,
    `nodejs_active_${of}_total`,
  ]),
  ...['total', 'used', 'available'].map((of) => `nodejs_heap_space_size_${of}_bytes`),
];

export interface MeteredRequest {
  readonly endpoint: string;
  /** Undefined when no answer came. */
  readonly status?: number | undefined;
  readonly ms: number;
}

/** The metrics of the process: the requests that it answered and, with `process`, its memory, CPU and event loop. */
export class ServiceMetrics {
  readonly registry = new Registry();
  readonly #served = new Histogram({
    name: `${prefix}http_request_duration_seconds`,
    help: 'Duration of requests to this server.',
    labelNames: ['route', 'status', 'organization'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5],
    registers: [this.registry],
  });

  constructor(options: { readonly process?: boolean } = {}) {
    if (!options.process) return;
    collectDefaultMetrics({ register: this.registry });
    for (const name of noise) this.registry.removeSingleMetric(name);
  }

  /** One answered request. `route` is the pattern, never the path of the request. */
  served(route: string, status: number, ms: number, organization?: string): void {
    const of = organization === undefined ? {} : { organization };
    this.#served.observe({ route, status: String(status), ...of }, ms / 1000);
  }

  /** The text for Prometheus. */
  text(): Promise<string> {
    return this.registry.metrics();
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
  readonly #service: ServiceMetrics;

  /** Without `service`, it also shows the process, with `process` its memory as well; only for one instance per process. */
  constructor(
    private readonly options: {
      readonly process?: boolean;
      readonly version?: string;
      readonly organization?: string | undefined;
      readonly service?: ServiceMetrics;
    } = {},
  ) {
    this.#service = options.service ?? new ServiceMetrics(options);
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
    }
    rateLimited.inc(0);
  }

  request({ endpoint, status, ms }: MeteredRequest): void {
    const { requests, rateLimited, requestSeconds } = this.#counters;
    requests.inc({ endpoint, status: status === undefined ? 'none' : String(status) });
    if (status === 429) rateLimited.inc();
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
    this.#service.served(route, status, ms, this.options.organization);
  }

  /** The text for Prometheus. While `facts` is null, their metrics are absent. */
  render(facts: Facts | null, schedule: ScheduleView, now: number): Promise<string> {
    const { version, service } = this.options;
    const known = facts?.contents?.organization;
    const organization = this.options.organization ?? known?.slug ?? known?.id;
    const own = [this.#registry, stateOf(facts, schedule, now, version)];
    const all = Registry.merge(service === undefined ? [this.#service.registry, ...own] : own);
    all.setDefaultLabels(organization === undefined ? {} : { organization });
    return all.metrics();
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
    rateLimited: counter('api_rate_limited_total', 'Requests that the API answered with 429.', []),
    requestSeconds: histogram(
      'api_request_duration_seconds',
      'Time from sending a request to the end of its answer.',
      ['endpoint'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ),
    rows: counter('rows_total', 'Rows that runs added, changed or removed.', ['table', 'change']),
  };
}

type Value = number | null | undefined;
type Samples = readonly (readonly [labels: Readonly<Record<string, string>>, value: Value])[];

/** The current state as gauges. They are made for each scrape, so that nothing keeps a value that is no longer so. */
function stateOf(facts: Facts | null, schedule: ScheduleView, now: number, version?: string): Registry {
  const registry = new Registry();
  /** A metric of one value, or of one for each set of labels. What has no value has no series. */
  const gauge = (name: string, help: string, value: Value | Samples) => {
    const samples: Samples = typeof value === 'object' && value !== null ? value : [[{}, value]];
    const labelNames = Object.keys(samples[0]?.[0] ?? {});
    const made = new Gauge({ name: prefix + name, help, labelNames, registers: [registry] });
    // Without labels, it begins with 0.
    if (labelNames.length === 0) made.remove();
    for (const [labels, one] of samples) if (one != null) made.set(labels, one);
  };
  const by = (label: string, values: Readonly<Record<string, Value>>): Samples =>
    Object.entries(values).map(([one, value]) => [{ [label]: one }, value]);
  const byResource = <R extends { readonly resource: string }>(all: readonly R[], value: (one: R) => Value) =>
    all.map((one) => [{ resource: one.resource }, value(one)] as const);
  const secondsSince = (at: Iso | null) => (at === null ? 0 : Math.max(0, now - Date.parse(at)) / 1000);

  gauge('info', 'Version of the running program; always 1.', version ? [[{ version }, 1]] : []);
  const { organization, left, rows = {}, rejected = [] } = facts?.contents ?? {};
  const estimates = (facts?.contents?.estimates ?? []).filter(({ checks }) => checks > 0);
  const { spending, files, publishedAt = null, freshness = [], queue = {} } = facts ?? {};
  gauge(
    'organization_info',
    'Organization of the warehouse by its id and name; always 1.',
    organization
      ? [[{ organization_id: organization.id, organization_name: organization.name ?? '' }, 1]]
      : [],
  );
  gauge('disk_free_bytes', 'Free space of the disk with the data directory.', facts?.diskFreeBytes);
  gauge(
    'budget_remaining_requests',
    'Requests left in the current window.',
    spending && Math.max(0, spending.limit - spending.held),
  );
  gauge('budget_limit_requests', 'Requests allowed per window.', spending?.limit);
  // Where lists were not read to their end, 0 would mean that nothing is due.
  const known = left && (left.complete || left.due > 0) ? left : null;
  gauge('due', 'Fetches that the last sync left due.', known?.due);
  gauge('due_requests', 'Requests needed for what the last sync left due.', known?.requests);
  gauge('published_timestamp_seconds', 'When the snapshot was published.', seconds(publishedAt));
  gauge('rows', 'Rows in the published snapshot.', by('table', rows));
  gauge('queue_changes', 'Changes to push, by status.', by('status', queue));
  gauge(
    'freshness_seconds',
    'Time since a resource was last complete.',
    byResource(freshness, ({ at }) => (at === null ? null : secondsSince(at))),
  );
  gauge(
    'freshness_objective_seconds',
    'Objective for signalhouse_freshness_seconds.',
    byResource(freshness, ({ objectiveMinutes }) => objectiveMinutes && objectiveMinutes * 60),
  );
  gauge(
    'stale_share',
    'Share of a resource that is out of date, by random checks: of="share", with its 95 % interval (low, high).',
    estimates.flatMap(({ resource, share, low, high }) =>
      Object.entries({ share, low, high }).map(([of, one]) => [{ resource, of }, one ?? Number.NaN] as const),
    ),
  );
  gauge(
    'stale_share_objective',
    'Objective for signalhouse_stale_share.',
    byResource(estimates, ({ resource, bound }) => (resource === 'all' || !bound ? null : bound)),
  );
  gauge(
    'checks',
    'Random checks of the last 30 days.',
    byResource(estimates, ({ checks }) => checks),
  );
  gauge(
    'rejected_records',
    'Rejected records that are not resolved.',
    rejected.map(({ endpoint, records }) => [{ endpoint }, records]),
  );
  gauge(
    'warehouse_bytes',
    'Size of the warehouse files.',
    by('file', { worker: files?.worker?.bytes, published: files?.published?.bytes }),
  );

  const { running, waiting, history } = schedule;
  const byJob = (value: (job: JobView) => Value): Samples =>
    schedule.jobs.map((job) => [{ job: job.name }, value(job)]);
  gauge(
    'ready',
    '1 when the warehouse was read and the program is not shutting down, else 0.',
    Number(facts !== null && !schedule.stopping),
  );
  gauge(
    'api_unavailable_seconds',
    'How long the API has not answered the jobs; 0 while it answers.',
    Math.max(
      secondsSince(running?.outage?.since ?? null),
      ...schedule.jobs.map(({ unavailableSince }) => secondsSince(unavailableSince)),
    ),
  );
  gauge(
    'last_success_timestamp_seconds',
    'When a job last succeeded; 0 before the first time.',
    byJob(({ lastSuccessAt }) => seconds(lastSuccessAt) ?? 0),
  );
  const lake = schedule.jobs
    .filter(({ run }) => run === 'lake')
    .map((job) => seconds(job.lastSuccessAt) ?? 0);
  gauge(
    'lake_published_timestamp_seconds',
    'When a job last published to the lake; 0 before the first time.',
    lake.length > 0 ? Math.max(...lake) : null,
  );
  gauge(
    'overdue_seconds',
    'Time since a job was due for the first time after its last success; 0 when it is not due.',
    byJob(({ overdueSince }) => secondsSince(overdueSince)),
  );
  const exitCode = ({ name, last }: JobView) =>
    [last, ...history.filter(({ job }) => job === name)].find((run) => run?.exitCode != null)?.exitCode;
  gauge('last_exit_code', 'Exit code of the last run of a job.', byJob(exitCode));
  gauge(
    'next_run_timestamp_seconds',
    'When a job starts next.',
    byJob(({ nextAt }) => seconds(nextAt)),
  );
  gauge(
    'running',
    '1 while the job runs, else 0.',
    byJob(({ name }) => Number(running?.job === name)),
  );
  gauge('waiting_runs', 'Runs that are due and wait for another run.', waiting.length);
  return registry;
}

/** A moment in seconds since the epoch; null for none. */
function seconds(at: Iso | null): number | null {
  const ms = millis(at);
  return ms === null ? null : ms / 1000;
}
