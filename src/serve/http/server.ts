import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { type Clock, iso, systemClock } from '../../base/clock.js';
import { UsageError } from '../../base/errors.js';
import type { Facts, RunDetails } from '../../base/facts.js';
import type { Log } from '../../base/log.js';
import type { FactsCache } from '../facts-cache.js';
import { errorPage, pageAssets } from '../page/document.js';
import { organizationLine, organizationsPage, worstFirst } from '../page/organizations.js';
import { type PageContent, runPage, runsPage, statusPage } from '../page/page.js';
import type { ScheduleView } from '../schedule/record.js';
import type { Scheduler } from '../schedule/scheduler.js';
import {
  answerTo,
  HttpError,
  hostGuard,
  makeRoom,
  refuseConnection,
  secure,
  sendPage,
  writerOf,
} from './guard.js';
import { type AccessSettings, type LoginAttempt, proxyCheck, requireLogin, visitorOf } from './login.js';
import { type Metrics, metricsType, type ServiceMetrics, together } from './metrics.js';
import { type Sheets, sheetRoutes } from './sheets.js';
import { type Topics, topicRoutes } from './topics.js';
import { type Intake, writes } from './writes.js';

/** Limits on what a client sends, and on how long it takes. */
const defaultLimits = {
  maxSheetBytes: 5_000_000,
  /** Timeout for the headers of a request. */
  headersMs: 5_000,
  /** Timeout for the whole request. */
  requestMs: 15_000,
  /** The same where people send sheets over slow lines. */
  uploadMs: 120_000,
  /** Timeout of an idle connection. */
  idleMs: 120_000,
  keepAliveMs: 5_000,
  connections: 256,
};

/** The report since a date for a reader, and what a browser may do with it; null when nothing was published yet. */
type ReportSource = (
  since: string | null,
  reader: string | null,
) => Promise<{ readonly html: string; readonly policy: string } | null>;

export interface ServerOptions {
  /** Loopback when absent. */
  readonly host?: string | undefined;
  /** 0 takes any free port. */
  readonly port: number;
  /** Accepted host names in addition to loopback. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Without a token, the routes that change something do not exist. */
  readonly token?: string | undefined;
  /** The users of the pages; without it, they need no login, and the page for sheets does not exist. */
  readonly access?: AccessSettings | undefined;
  /** Called for each login that was checked, right or wrong. */
  readonly loggedIn?: ((login: LoginAttempt) => void) | undefined;
  readonly version: string;
  readonly log: Log;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<typeof defaultLimits> | undefined;
  /** How often the page refreshes itself; default 5000. */
  readonly refreshMs?: number | undefined;
  readonly sites: readonly Site[];
  /** The metrics of the process that serves several organizations: then all of them are at `/`. */
  readonly service?: ServiceMetrics | undefined;
}

/** The pages of one organization. */
export interface Site {
  /** Where the service has several organizations: its name in the settings, and where its pages are; otherwise they are at `/`. */
  readonly organization?: { readonly name: string; readonly base: string } | undefined;
  readonly intake?: Intake | undefined;
  readonly sheets?: Sheets | undefined;
  /** Without them, there are no pages about topics, which show names of people. */
  readonly topics?: Topics | undefined;
  readonly facts: FactsCache;
  /** Without it, /report answers 404 and says why. */
  readonly report?: ReportSource | undefined;
  /** Reads one run of the published snapshot; null when it does not have it. */
  readonly run: (runId: string) => Promise<RunDetails | null>;
  readonly schedule: Pick<Scheduler, 'view' | 'ask'>;
  readonly metrics: Metrics;
}

export interface RunningServer {
  /** E.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Closes every connection. */
  close(): Promise<void>;
}

const noReport =
  'The report is shown only with a login or on this machine: add serve.users, or set serve.host to 127.0.0.1.';

/** Metrics are rendered at most once in this time. */
const metricsMs = 1_000;
/** Retry-After, in seconds, while the warehouse is in use. */
const retryAfter = 60;
const defaultHost = '127.0.0.1';

/** Starts the server. Throws UsageError with the setting when it cannot listen on the address. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host = defaultHost, port } = options;
  const app = buildServer(options);
  try {
    const url = await app.listen({ host, port });
    return { url, port: Number(new URL(url).port), close: () => app.close() };
  } catch (error) {
    await app.close();
    const { code } = error as NodeJS.ErrnoException;
    const setting = { EADDRINUSE: 'serve.port', EACCES: 'serve.port' }[code ?? ''] ?? 'serve.host';
    const problem =
      code === 'EADDRINUSE' ? `${port} is in use by another program` : `${host}:${port}: ${code}`;
    throw new UsageError('The server cannot listen.', [{ setting, problem }], { cause: error });
  }
}

export function buildServer(options: ServerOptions): FastifyInstance {
  const { host = defaultHost, token, log, sites, service } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const app = fastify({
    bodyLimit: 1_024,
    connectionTimeout: limits.idleMs,
    requestTimeout: options.access ? limits.uploadMs : limits.requestMs,
    trustProxy: options.access ? proxyCheck(options.access.proxies) : false,
    keepAliveTimeout: limits.keepAliveMs,
    // Open connections must not delay the shutdown.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 100 },
    // How often Node checks for late requests.
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: Math.max(50, Math.min(1_000, limits.headersMs / 2)),
    },
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, _request, reply) => {
      secure(reply);
      void send(reply, error);
    },
  });
  app.server.maxConnections = limits.connections;
  makeRoom(app.server, limits.connections / 2);
  app.removeAllContentTypeParsers();

  const guard = hostGuard(host, options.allowedHosts);
  app.addHook('onRequest', async (request, reply) => {
    secure(reply);
    if (!watched.has(request.routeOptions.url)) guard(request);
  });
  app.addHook('onResponse', async (request, reply) => {
    // The pattern, not the path: clients must not be able to create labels.
    const { url = 'none' } = request.routeOptions;
    const site = siteOf(sites, url);
    const route = url.slice(site?.organization?.base.length ?? 0) || '/';
    (site?.metrics ?? service)?.served(route, reply.statusCode, reply.elapsedTime);
  });
  const logFault = (error: unknown, request: FastifyRequest) => {
    const { status } = answerTo(error);
    if (status === 500) log.error({ err: error, route: request.routeOptions.url }, 'a request failed');
  };
  app.setErrorHandler((error, request, reply) => {
    logFault(error, request);
    return send(reply, error);
  });
  app.setNotFoundHandler((_request, reply) =>
    send(reply, new HttpError(404, 'not_found', 'There is no page with this address.')),
  );

  health(app, options);
  void app.register(async (all) => {
    const { access, clock = systemClock } = options;
    const tried = (login: LoginAttempt) => {
      if (login.outcome === 'done') log.info(login, 'a person logged in');
      else log.warn(login, 'a login failed');
      options.loggedIn?.(login);
    };
    if (access) await requireLogin(all, access, clock, service ? '/' : '/topics', tried);
    if (service) overview(all, options);
    for (const one of sites)
      void all.register(
        async (site) => {
          const content = pages(site, { ...options, ...one });
          const { topics, sheets } = one;
          if (access && sheets)
            void site.register(async (scope) => {
              // Sheets have ids, titles and names as they are.
              if (topics && !topics.canEdit)
                scope.addHook('preHandler', async (request) => {
                  if (request.method === 'GET')
                    writerOf(request, 'Sheets show what the published file hides.');
                });
              sheetRoutes(scope, sheets, content, logFault);
            });
          if (topics)
            void site.register(async (scope) => {
              topicRoutes(scope, topics, content, logFault);
            });
        },
        { prefix: one.organization?.base ?? '' },
      );
  });
  for (const { path, type, body } of pageAssets())
    app.get(path, (_request, reply) => reply.type(type).send(body));
  if (token) {
    const { maxSheetBytes } = limits;
    for (const { schedule, intake, organization } of sites)
      void app.register(writes({ token, ask: (job) => schedule.ask(job), intake, maxSheetBytes }), {
        prefix: organization?.base ?? '',
      });
  }
  // Read the facts now, so that the first visitor does not wait.
  app.addHook('onListen', async () => {
    for (const { facts } of sites) void facts.latest();
  });
  return app;
}

/** The organization whose route this is; undefined for a route of the service. */
function siteOf(sites: readonly Site[], route: string): Site | undefined {
  return sites.find(({ organization }) => !organization || `${route}/`.startsWith(`${organization.base}/`));
}

function send(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, body } = answerTo(error);
  if (status === 503) reply.header('retry-after', retryAfter);
  reply.code(status);
  const { method, headers } = reply.request;
  const isPerson = method === 'GET' && (headers.accept ?? '').includes('text/html');
  return isPerson ? sendPage(reply, errorPage(body.message)) : reply.send(body);
}

/** Kubernetes and Prometheus ask for these by the address of a pod; they show no names of people. */
const watched: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics']);

/** The routes for the programs that watch this one; they never need a login, and take every host name. */
function health(app: FastifyInstance, { sites, service, clock = systemClock }: ServerOptions): void {
  app.get('/healthz', () => ({ status: 'ok' }));

  app.get('/readyz', (_request, reply) => {
    for (const { facts } of sites) void facts.latest();
    // The warehouse of one organization that cannot be read must not take the pages of the others away.
    const reasons = sites.map(({ facts, schedule }) => unreadiness(facts, schedule.view()));
    const reason = reasons.every((one) => one !== null) ? reasons[0] : null;
    if (reason === null) return reply.send({ status: 'ready' });
    return reply.code(503).send({ code: 'not_ready', message: reason });
  });

  const metricsText = shared(clock, metricsMs, async () => {
    const texts = await Promise.all(
      sites.map(async ({ facts, schedule, metrics }) => {
        // A first read must not keep Prometheus waiting for all of them.
        const cached = service ? latestOf(facts) : await facts.latest();
        return metrics.render(cached?.facts ?? null, schedule.view(), clock.now());
      }),
    );
    return service ? together([await service.text(), ...texts]) : texts.join('');
  });
  app.get('/metrics', async (_request, reply) => reply.type(metricsType).send(await metricsText()));
}

/** The last facts, while newer ones are read. */
function latestOf(facts: FactsCache): FactsCache['last'] {
  void facts.latest();
  return facts.last;
}

/** The page at `/` of several organizations, the worst first, and the same for programs. */
function overview(app: FastifyInstance, options: ServerOptions): void {
  const { sites, version, clock = systemClock, refreshMs = 5_000 } = options;
  const lines = () =>
    sites.map(({ organization, facts, schedule }) => {
      const known = {
        facts: latestOf(facts)?.facts ?? null,
        problem: facts.problem,
        schedule: schedule.view(),
      };
      return organizationLine(organization?.name ?? '', known, clock.now());
    });
  app.get('/organizations.json', () => worstFirst(lines()));
  app.get('/', (request, reply) => {
    const visitor = visitorOf(request, reply);
    const page = organizationsPage({ lines: lines(), version, now: clock.now(), refreshMs, visitor });
    return sendPage(reply, page);
  });
}

/** The routes for people. Returns what reads the content of a page for a request. */
function pages(app: FastifyInstance, options: ServerOptions & Site) {
  const { facts, schedule, version, clock = systemClock, refreshMs = 5_000 } = options;

  app.get('/status.json', async () => {
    const cached = await facts.latest();
    return {
      version,
      now: iso(clock.now()),
      factsReadAt: cached && iso(cached.readAt),
      problem: facts.problem,
      schedule: schedule.view(),
      facts: cached && factsJson(cached.facts),
    };
  });

  const { report } = options;
  app.get<{ Querystring: { since?: string | string[] } }>('/report', async ({ query, person }, reply) => {
    if (!report) throw new HttpError(404, 'not_found', noReport);
    const since = query.since === undefined ? null : String(query.since);
    const made = await report(since, person?.name ?? null);
    if (made === null) {
      const message = 'Nothing was published yet: the report needs a first sync.';
      return reply.code(503).header('retry-after', retryAfter).send({ code: 'not_ready', message });
    }
    reply.header('content-security-policy', `${made.policy}; frame-ancestors 'none'`);
    return sendPage(reply, made.html);
  });

  const content = async (request: FastifyRequest, reply: FastifyReply): Promise<PageContent> => {
    const cached = await facts.latest();
    return {
      facts: cached?.facts ?? null,
      problem: facts.problem,
      schedule: schedule.view(),
      version,
      now: clock.now(),
      refreshMs,
      hasReport: report !== undefined,
      hasTopics: options.topics !== undefined,
      organization: options.organization,
      visitor: visitorOf(request, reply),
      query: request.query as Record<string, unknown>,
    };
  };
  app.get('/', async (request, reply) => sendPage(reply, statusPage(await content(request, reply))));
  app.get('/runs', async (request, reply) => sendPage(reply, runsPage(await content(request, reply))));
  app.get<{ Params: { id: string } }>('/runs/:id', async (request, reply) => {
    const { id } = request.params;
    const known = await content(request, reply);
    // Only a run that the page lists is read, so that guessed names cost nothing.
    const isListed = known.facts?.contents?.runs.some(({ run_id }) => run_id === id) ?? false;
    const run = isListed ? await options.run(id) : null;
    if (run === null) throw new HttpError(404, 'not_found', 'There is no run with this id.');
    return sendPage(reply, runPage(known, run));
  });
  return content;
}

function unreadiness({ last, problem }: FactsCache, { stopping }: ScheduleView): string | null {
  if (stopping) return 'The worker is shutting down.';
  if (last !== null) return null;
  return problem === null ? 'The warehouse is being read.' : `The warehouse cannot be read: ${problem}`;
}

/** The facts as /status.json gives them: without the paths of this machine, and without rows that only `status` prints. */
function factsJson({ contents, files, publishedAt, freshness, spending, spent, queue }: Facts) {
  const { organization = null, left = null, rows = {}, rejected = [], drift = [] } = contents ?? {};
  return {
    organization: organization && { id: organization.id, name: organization.name },
    publishedAt,
    files: { worker: files.worker?.bytes ?? null, published: files.published?.bytes ?? null },
    rows,
    backlog: left && { due: left.due, requests: left.requests, minutes: left.minutes },
    freshness,
    budget: { ...spending, ...spent },
    queue,
    rejected: rejected.map(({ last_seen_at: lastSeenAt, ...one }) => ({ ...one, lastSeenAt })),
    drift: drift.map(({ first_seen_at: firstSeenAt, ...one }) => ({ ...one, firstSeenAt })),
  };
}

/** Makes a text at most once in `ms`, and shares it between all callers. */
function shared(clock: Clock, ms: number, make: () => Promise<string>): () => Promise<string> {
  let made: { at: number; text: Promise<string> } | undefined;
  return () => {
    const at = clock.monotonic();
    if (!made || at - made.at >= ms) {
      made = { at, text: make() };
      made.text.catch(() => {
        made = undefined;
      });
    }
    return made.text;
  };
}
