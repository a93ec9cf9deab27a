import { z } from 'zod';
import { canonicalZone } from '../base/clock.js';
import { publishedFileName } from '../base/published-file.js';
import { type ListName, resources } from '../contract/resources.js';

/**
 * Every setting with its default and its description. config/default.yaml is the same list for people; a test keeps the
 * two equal. Objects are strict: a misspelt setting is an error, never ignored.
 */

const positive = z.number().int().min(1);
/** Node fires a timer with a longer delay at once. */
const longestTimerMs = 2_147_483_647;
const milliseconds = positive.max(longestTimerMs);
const days = z.number().min(0.01);
const text = z.string().trim().min(1);

/** A section, which may be left out as a whole. */
const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

const api = section({
  baseUrl: text.optional().describe('The address of the API, ending in /v1.'),
  keyFile: text.optional().describe('A file that holds the API key, for example a mounted secret.'),
  concurrency: positive
    .max(64)
    .default(12)
    .describe('Maximum number of requests in flight; at most one for each 128 MB of memory.'),
  timeouts: section({
    connectMs: milliseconds.default(5_000).describe('Connect timeout.'),
    firstByteMs: milliseconds
      .default(20_000)
      .describe('Time from sending a request to the first byte of its answer.'),
    totalMs: milliseconds
      .default(30_000)
      .describe('Total time of one attempt, even if the answer keeps arriving slowly.'),
  }),
  maxAnswerBytes: positive
    .default(67_108_864)
    .describe(
      'Maximum size of an answer. A larger page of a list is requested again with half as many items. Whatever is larger alone is left out, with its size in ops.rejected_records, and fetched once this is raised.',
    ),
  retry: section({
    attempts: positive
      .max(20)
      .default(5)
      .describe('Maximum number of attempts at a request that fails with a transient error.'),
    baseMs: milliseconds
      .default(500)
      .describe('Wait before the first retry; it doubles with every retry, with jitter.'),
    maxMs: milliseconds.default(30_000).describe('Longest wait between two attempts.'),
  }),
  outageMinutes: z
    .number()
    .min(0)
    .max(10_000)
    .default(30)
    .describe('Minutes that a run waits for an API that does not answer at all; 0 ends the run at once.'),
  paging: section({
    pageParameter: text.default('page').describe('Name of the query parameter for the page number.'),
    limitParameter: text.default('limit').describe('Name of the query parameter for the page size.'),
    pageSize: positive
      .max(1_000)
      .default(100)
      .describe('Page size to ask for; the server may use another one.'),
  }),
});

const rateLimit = section({
  requests: positive.default(120).describe('Requests that the server allows per window and key.'),
  windowMs: milliseconds.default(60_000).describe('Length of the window in milliseconds.'),
});

const memory = z
  .string()
  .regex(/^(auto|\d+(\.\d+)?\s?([KMGT]i?B))$/i, 'must be auto or a size such as 128MB or 2GB')
  .default('auto');

const warehouse = section({
  memoryLimit: memory.describe(
    'Memory limit of DuckDB, such as 512MB. auto follows the memory of the machine or container: a quarter of it up to 1 GB, 256 MB up to 4 GB, then a sixteenth; at least 128 MB and at most 2 GB. What does not fit is spilled to the data directory; work that cannot be spilled gets more.',
  ),
  queryMemoryLimit: memory.describe(
    'Memory limit of sql, export and status, which read the published file while the worker runs. auto is half of the memory of the machine or container, but at least 256 MB.',
  ),
  threads: positive
    .max(256)
    .default(2)
    .describe('Threads that DuckDB may use for work on whole tables; a batch uses one.'),
  compression: z
    .enum(['auto', 'zstd'])
    .default('auto')
    .describe(
      'How texts are compressed. With auto, DuckDB 1.1.2 or newer can read the files; with zstd, they are a third smaller, and DuckDB 1.4.5 or newer is needed.',
    ),
  compact: section({
    freeShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.4)
      .describe('The live file is rewritten when more than this share of it is unused'),
    freeMegabytes: z.number().min(0).default(64).describe('and more than this many megabytes are unused.'),
  }),
});

const duckdb = section({
  extensionDirectory: text
    .nullable()
    .default(null)
    .describe(
      "Directory with DuckDB's extensions (NAME.duckdb_extension), for a machine that cannot reach extensions.duckdb.org. Needed for a lake and for encryption; docs/lake.md says how to get them.",
    ),
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
    .describe("People whose conversations are fetched by person; a company's people come with the company."),
  maxItemBytes: positive
    .default(16_777_216)
    .describe(
      'Maximum size of one item (a message, a topic …). A larger one is rejected alone, with its size, into ops.rejected_records.',
    ),
  scanAttempts: positive
    .max(10)
    .default(3)
    .describe('Maximum number of scans of a list in one run until one is verified.'),
  batch: section({
    megabytes: z
      .number()
      .min(0.1)
      .default(5)
      .describe('A batch is committed when it holds this many megabytes of documents,'),
    documents: positive.default(4_000).describe('or this many documents,'),
    answers: positive.default(50).describe('or the answers of this many requests,'),
    seconds: z.number().min(0.1).default(5).describe('or when it is this many seconds old.'),
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
      .describe('and more than this many rows deletes nothing (--accept-deletes allows it).'),
  }),
  publishEveryMinutes: z
    .number()
    .min(0)
    .default(30)
    .describe('Minutes between two publications during a long run; 0 publishes only at its end.'),
  shutdownSeconds: positive
    .max(3_600)
    .default(25)
    .describe('Seconds after SIGTERM to finish what is in flight, commit and publish.'),
};

const profile = z
  .enum(['none', 'analysts', 'strict'])
  .default('none')
  .describe(
    'What is left out and masked: none (nothing), analysts (names, addresses and raw documents) or strict (everything that people wrote as well).',
  );

const privacy = {
  profile,
  exclude: z
    .array(text)
    .default([])
    .describe('Schemas, tables, views and columns to leave out besides, such as ops or messages.metadata.'),
  mask: z
    // YAML reads null without quotes as no value.
    .record(text, z.union([z.null(), z.string(), z.number(), z.boolean()]).transform(String))
    .default({})
    .describe(
      'Columns to mask besides, each with null, hash (equal values stay equal), domain, initials or truncate:N.',
    ),
};

const publish = section({
  // YAML reads 0640 without quotes as the number 640.
  mode: z
    .union([z.string(), z.number()])
    .refine(
      (mode) => /^0?[4-7][0-7]{2}$/.test(String(mode)),
      'must be octal permissions such as "0400" or "0440"',
    )
    .default('0400')
    .describe(
      'Permissions of the published files, octal: "0440" lets the group of the file read them (the directory must let it in too). Without write permission, DuckDB refuses to open them for writing.',
    ),
  ...privacy,
  also: z
    .array(
      z.strictObject({
        file: text.regex(
          publishedFileName,
          'must be a name such as signals-strict.duckdb, and not one of the files of the worker',
        ),
        ...privacy,
      }),
    )
    .refine((files) => new Set(files.map(({ file }) => file.toLowerCase())).size === files.length, {
      message: 'has two entries with the same file',
    })
    .default([])
    .describe(
      'More files to publish into the data directory, each with file, profile, exclude and mask of its own.',
    ),
});

const lake = section({
  kind: z
    .enum(['iceberg', 'ducklake'])
    .default('iceberg')
    .describe('Table format: iceberg (a REST catalog) or ducklake (a PostgreSQL database).'),
  catalog: text
    .optional()
    .describe(
      'Address of the catalog: of the Iceberg REST catalog (https://…), or of the PostgreSQL database of DuckLake (postgres://user@host/database). Without it there is no lake.',
    ),
  warehouse: text
    .optional()
    .describe(
      "iceberg: the catalog's name of the warehouse; ducklake: where files are written, s3://bucket/path.",
    ),
  namespace: text
    .regex(/^[\w{}-]+$/, 'may have letters, digits, _ and -, and {org} for the id of the organization')
    .default('signals_{org}')
    .describe(
      'Namespace (schema) of the tables; {org} is the id of the organization. Without {org} all organizations share it, which needs lockUrl.',
    ),
  lockUrl: text
    .optional()
    .describe(
      'A PostgreSQL database (postgres://user@host/database) whose advisory lock lets one worker publish at a time. Required for a shared namespace.',
    ),
  oauth2Server: text
    .optional()
    .describe("Where the Iceberg catalog's clients get tokens; without it, v1/oauth/tokens of the catalog."),
  oauth2Scope: text.optional().describe('The scope that they ask for.'),
  s3: section({
    endpoint: text.optional().describe('Address of the object store; without it, that of AWS in the region.'),
    region: text.default('us-east-1').describe('Its region.'),
    pathStyle: z
      .boolean()
      .default(false)
      .describe('Whether the bucket is in the path (true for most object stores other than AWS).'),
  }),
  profile: z
    .enum(['none', 'analysts', 'strict'])
    .default('none')
    .describe('What the lake leaves out and masks of the published file: none, analysts or strict.'),
}).describe(
  'Where signalhouse lake publishes the tables of the published file. Secrets come from variables or files.',
);

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time such as "09:00"');

/** DuckDB takes names only, and no offset such as +01:00. */
const isTimezone = (name: string) => /^[A-Za-z]/.test(name) && canonicalZone(name) !== undefined;

const analysis = section({
  businessHours: section({
    timezone: text
      .refine(isTimezone, 'must be a time zone such as Europe/Berlin')
      .default('UTC')
      .describe('Time zone of opens and closes, such as Europe/Berlin.'),
    days: z
      .array(z.enum(weekdays))
      .min(1)
      .default(['mon', 'tue', 'wed', 'thu', 'fri'])
      .describe('Working days: mon, tue, wed, thu, fri, sat, sun.'),
    opens: timeOfDay.default('09:00').describe('When work begins on each of them.'),
    closes: timeOfDay.default('17:00').describe('When work ends on each of them; 24:00 is midnight.'),
  }).refine(({ opens, closes }) => opens < closes, { path: ['closes'], message: 'must be later than opens' }),
});

const push = section({
  onConflict: z
    .enum(['report', 'overwrite', 'skip'])
    .default('report')
    .describe(
      'What to do when somebody else changed the same field: report it (exit 3), overwrite it, or skip the change.',
    ),
  followMerges: z
    .boolean()
    .default(false)
    .describe(
      'Whether every import, also of the drop folder, changes what a topic or company was merged into (--follow-merges).',
    ),
  companiesPerRequest: positive
    .max(1_000)
    .default(50)
    .describe('Maximum number of companies in one request.'),
  remoteFreshSeconds: positive
    .default(300)
    .describe(
      'The current value is read from the API before a change is sent, unless it was read within this many seconds.',
    ),
});

const job = z.strictObject({
  name: text,
  run: z.enum(['sync', 'push', 'sync+push', 'export', 'lake']),
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
  z.number().min(0).default(26).describe(`Hours after which ${what} are stale; 0: no objective.`);

const mailAddress = z
  .string()
  .trim()
  .regex(/^([^<>\r\n]*<)?[^\s@<>,;"]+@[^\s@<>,;"]+>?$/, 'must be an e-mail address');

const notify = section({
  webhookFormat: z
    .enum(['slack', 'teams', 'json'])
    .default('slack')
    .describe(
      'Form of the messages to the webhook: slack (Slack and compatible services), teams (a workflow of Microsoft Teams) or json.',
    ),
  email: section({
    host: text.optional().describe('The SMTP server; without it no e-mail is sent.'),
    port: z.number().int().min(1).max(65_535).default(587).describe('Its port: usually 587, or 465 for tls.'),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe('starttls and tls encrypt, and fail where the server cannot; none sends in the clear.'),
    user: text
      .optional()
      .describe(
        'Login, if the server wants one; the password is in SIGNALHOUSE_SMTP_PASSWORD (or SIGNALHOUSE_SMTP_PASSWORD_FILE).',
      ),
    from: mailAddress.optional().describe('The address of the sender.'),
    to: z.array(mailAddress).default([]).describe('The addresses that are notified.'),
  }),
}).describe('Notifications about failures and stale data: by webhook, by e-mail, or both.');

const serve = section({
  host: text
    .default('127.0.0.1')
    .describe(
      'Address to listen on: 127.0.0.1 for this machine only, 0.0.0.0 for every address (in a container).',
    ),
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8080)
    .describe('Port to listen on; 0 takes any free port.'),
  allowedHosts: z
    .array(text)
    .default([])
    .describe('Accepted host names besides localhost, e.g. signalhouse.example.com.'),
  report: z
    .boolean()
    .default(true)
    .describe(
      'Whether /report shows the report, with titles of topics and conversations and names of companies and users.',
    ),
  shutdownSeconds: positive
    .max(3_600)
    .default(25)
    .describe('Seconds after SIGTERM for the running job to commit and publish.'),
  jobs: z
    .array(job)
    .prefault([nightly])
    .describe(
      'Jobs and their schedules. They run one at a time, because a job holds the warehouse while it runs.',
    ),
  retry: section({
    firstMinutes: z
      .number()
      .min(0.01)
      .max(1_440)
      .default(5)
      .describe('Minutes until a job is tried again after an outage of the API ended it;'),
    maxMinutes: z
      .number()
      .min(0.01)
      .max(1_440)
      .default(60)
      .describe('they double with every retry up to this, until the job is due again.'),
  }),
  freshness: section(
    Object.fromEntries(resources.lists.map(({ name }) => [name, hours(name.replaceAll('_', ' '))])) as Record<
      ListName,
      ReturnType<typeof hours>
    >,
  ).describe(
    'Maximum age of a verified list, in hours: when it is older, `status` exits 3 and people are notified.',
  ),
  notify,
});

const mcp = section({
  maxRows: positive
    .max(10_000)
    .default(500)
    .describe('Maximum number of rows in one answer; an assistant gets 50 unless it asks for more.'),
  querySeconds: z
    .number()
    .min(0.1)
    .max(3_600)
    .default(20)
    .describe('Seconds after which a query is stopped.'),
  memoryLimit: memory.describe(
    'Memory limit of its queries. auto is a quarter of the memory of the machine or container, but at least 128 MB and at most 2 GB. A query may spill 1 GB to the disk.',
  ),
});

const kept = (days: number) => z.number().min(1).default(days);

const retention = section({
  requestsDays: kept(30).describe('Days that requests to the API are kept (ops.requests).'),
  runsDays: kept(400).describe(
    'Days that runs are kept (ops.runs; the last run of each command stays), and rejected records and undocumented fields that were not seen again.',
  ),
  attemptsDays: kept(400).describe('Days that attempts at settled changes are kept (ops.change_attempts).'),
  scansDays: kept(90).describe(
    'Days that scans of lists are kept (ops.scans); the last scan of each list stays.',
  ),
  deletedContentDays: z
    .union([z.literal('never'), z.number().min(0)], 'must be a number of days of at least 0, or never')
    .default(30)
    .describe(
      'Days after which the content and the personal fields of messages and people that the API deleted are dropped; 0 drops them at once, never keeps them.',
    ),
}).describe('The worker trims its own records at the end of each sync and push.');

const encryption = section({
  keyFile: text
    .nullable()
    .default(null)
    .describe(
      'A file that holds the key that encrypts the data directory, for example a mounted secret; without it, nothing is encrypted.',
    ),
}).describe('Encryption of the data directory; see docs/privacy.md.');

const log = section({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log level: fatal, error, warn, info, debug, trace or silent.'),
});

/** The settings of a program whose child resources have these default ages. */
export function settingsFor<N extends string>(ages: Readonly<Record<N, number>>) {
  return z.strictObject({
    dataDir: text.default('./data').describe('Directory of the warehouse and all its files.'),
    api,
    rateLimit,
    warehouse,
    duckdb,
    sync: section({ maxAgeDays: maxAgeDays(ages), ...sync }),
    publish,
    lake,
    analysis,
    push,
    serve,
    mcp,
    retention,
    encryption,
    log,
  });
}

export const settings = settingsFor(resources.maxAgeDays);

export type Settings = z.infer<typeof settings>;
