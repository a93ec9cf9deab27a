import { z } from 'zod';
import { type ListName, resources } from '../contract/resources.js';

/**
 * Every setting with its default and its description. config/default.yaml is the same list for people, and a test
 * holds the two together.
 */

/** The sorts of values that settings have. Objects are strict: a misspelt setting is an error, never ignored. */

const positive = z.number().int().min(1);
/** A timer of Node that is set to more than this fires at once. */
const longestTimerMs = 2_147_483_647;
const milliseconds = positive.max(longestTimerMs);
const days = z.number().min(0.01);
const text = z.string().trim().min(1);

/** A part of the settings that may be left out as a whole. */
const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

const api = section({
  baseUrl: text.optional().describe('The address of the API, ending in /v1.'),
  keyFile: text.optional().describe('A file that holds the API key, for example a mounted secret.'),
  concurrency: positive.max(64).default(8).describe('Requests in flight at most.'),
  timeouts: section({
    connectMs: milliseconds.default(5_000).describe('Until the connection stands.'),
    firstByteMs: milliseconds.default(20_000).describe('From the request to the first byte of the answer.'),
    totalMs: milliseconds.default(30_000).describe('The whole attempt, however slowly an answer dribbles.'),
  }),
  maxAnswerBytes: positive.default(67_108_864).describe('A larger answer is refused.'),
  retry: section({
    attempts: positive
      .max(20)
      .default(5)
      .describe('Attempts at a request that fails in a way that may pass.'),
    baseMs: milliseconds.default(500).describe('The first wait between attempts; it doubles, with jitter.'),
    maxMs: milliseconds.default(30_000).describe('The longest wait between attempts.'),
  }),
  paging: section({
    pageParameter: text.default('page').describe('The name of the query parameter that asks for a page.'),
    limitParameter: text
      .default('limit')
      .describe('The name of the query parameter that asks for a page size.'),
    pageSize: positive
      .max(1_000)
      .default(100)
      .describe('The page size asked for; the server may grant another.'),
  }),
});

const rateLimit = section({
  requests: positive.default(120).describe('Requests per window and key that the server allows.'),
  windowMs: milliseconds.default(60_000).describe('The window, in milliseconds.'),
});

const memory = z.string().regex(/^\d+(\.\d+)?\s?([KMGT]i?B)$/i, 'must be a size such as 128MB or 2GB');

const warehouse = section({
  memoryLimit: memory
    .default('128MB')
    .describe(
      'The memory that DuckDB may take; what does not fit goes to a temporary folder in the data directory.',
    ),
  queryMemoryLimit: memory
    .default('1GB')
    .describe('The same for sql, export and status, which read the published file beside the worker.'),
  threads: positive
    .max(256)
    .default(2)
    .describe('Threads that DuckDB may use where it goes through whole tables; a batch takes one.'),
  compact: section({
    freeShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.4)
      .describe('The live file is written anew when more than this share of it is unused'),
    freeMegabytes: z.number().min(0).default(64).describe('and more than this many megabytes are.'),
  }),
});

/** An age for each child resource, in the order of the resource table. */
function maxAgeDays<N extends string>(defaults: Readonly<Record<N, number>>) {
  const shape = Object.entries<number>(defaults).map(([name, value]) => [name, days.default(value)]);
  return section(Object.fromEntries(shape) as Record<N, z.ZodDefault<typeof days>>).describe(
    'By child endpoint: fetched again after this many days, changed or not.',
  );
}

const sync = {
  personGroups: z
    .enum(['without_company', 'all', 'never'])
    .default('without_company')
    .describe("Whose own conversations are asked for: those of a company's people come with the company."),
  scanAttempts: positive
    .max(10)
    .default(3)
    .describe('How often a list is read in one run until it verifies.'),
  batch: section({
    megabytes: z
      .number()
      .min(0.1)
      .default(5)
      .describe('A batch is committed when it holds documents of this size,'),
    documents: positive.default(4_000).describe('or this many of them,'),
    answers: positive.default(50).describe('or the answers of this many requests,'),
    seconds: z.number().min(0.1).default(5).describe('or when it is this old.'),
  }),
  deletes: section({
    maxShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.2)
      .describe('A scan that misses more than this share of the rows'),
    maxRows: z
      .number()
      .int()
      .min(0)
      .default(20)
      .describe('and more than this many, deletes nothing (--accept-deletes).'),
  }),
  publishEveryMinutes: z
    .number()
    .min(0)
    .default(30)
    .describe('Publish during a long run this often; 0: only at its end.'),
  shutdownSeconds: positive
    .max(3_600)
    .default(25)
    .describe('After SIGTERM: finish what is in flight, commit, publish.'),
};

const push = section({
  onConflict: z
    .enum(['report', 'overwrite', 'skip'])
    .default('report')
    .describe('What somebody else changed meanwhile: report it (exit 3), overwrite it, or skip it.'),
  companiesPerRequest: positive
    .max(1_000)
    .default(50)
    .describe('Companies that one request changes at most.'),
  remoteFreshSeconds: positive
    .default(300)
    .describe('What the API has is read again before a change is sent when it was read longer ago.'),
});

const job = z.strictObject({
  name: text,
  run: z.enum(['sync', 'push', 'sync+push', 'export']),
  cron: text,
  timezone: text.default('UTC'),
  jitterSeconds: z.number().min(0).max(86_400).default(0),
  catchUp: z.boolean().default(true),
  overlap: z.enum(['wait', 'skip']).default('wait'),
  maxRequests: positive.optional(),
  maxMinutes: z.number().min(0.01).optional(),
});

const nightly = { name: 'nightly', run: 'sync+push', cron: '0 3 * * *' } as const;

const hours = (what: string) =>
  z.number().positive().optional().describe(`Hours that may pass until ${what} are stale.`);

const serve = section({
  host: text
    .default('127.0.0.1')
    .describe('Where it listens: this machine alone, or 0.0.0.0 for every address (in a container).'),
  port: z.number().int().min(0).max(65_535).default(8080).describe('The port; 0 takes a free one.'),
  allowedHosts: z
    .array(text)
    .default([])
    .describe('Names under which it may be asked besides localhost, e.g. signalhouse.example.com.'),
  shutdownSeconds: positive
    .max(3_600)
    .default(25)
    .describe('After SIGTERM: how long the running job may take to commit and publish.'),
  jobs: z
    .array(job)
    .prefault([nightly])
    .describe('What runs when: a job holds the warehouse while it runs, and they run one at a time.'),
  freshness: section(
    Object.fromEntries(resources.lists.map(({ name }) => [name, hours(name.replaceAll('_', ' '))])) as Record<
      ListName,
      ReturnType<typeof hours>
    >,
  ).describe(
    'How old a list may be that was read and added up, in hours; `status` exits 3 and the webhook is told when it is older.',
  ),
});

const kept = (days: number) => z.number().min(1).default(days);

const retention = section({
  requestsDays: kept(30).describe('Days that requests to the API are kept (ops.requests).'),
  runsDays: kept(400).describe('Days that runs are kept (ops.runs); the last of each command stays.'),
  attemptsDays: kept(400).describe('Days that attempts at settled changes are kept (ops.change_attempts).'),
  scansDays: kept(90).describe('Days that readings of lists are kept (ops.scans); the last of each stays.'),
}).describe('What the worker writes down about itself is trimmed at the end of each sync and push.');

const log = section({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log level.'),
});

/** The settings of a program whose child resources have these default ages. */
export function settingsFor<N extends string>(ages: Readonly<Record<N, number>>) {
  return z.strictObject({
    dataDir: text.default('./data').describe('Where the warehouse and everything beside it lives.'),
    api,
    rateLimit,
    warehouse,
    sync: section({ maxAgeDays: maxAgeDays(ages), ...sync }),
    push,
    serve,
    retention,
    log,
  });
}

export const settings = settingsFor(resources.maxAgeDays);

export type Settings = z.infer<typeof settings>;
