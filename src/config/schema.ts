import { isIP } from 'node:net';
import { z } from 'zod';
import { canonicalZone, longestTimerMs } from '../base/clock.js';
import { passwordHash } from '../base/password.js';
import { publishedFileName } from '../base/published-file.js';
import { resources } from '../contract/resources.js';
import { priorities } from '../contract/topics.js';

/**
 * Every setting with its default and its description; `npm run generate` writes config/default.yaml from it. Objects are
 * strict: a misspelt setting is an error, never ignored. What the program can choose as well as any user is not a setting.
 */

const positive = z.number().int().min(1);
const milliseconds = positive.max(longestTimerMs);
export const text = z.string().trim().min(1);

/** A section, which may be left out as a whole. */
const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

const api = section({
  baseUrl: text
    .optional()
    .describe('The address of the API, ending in /v1.')
    .meta({ example: 'https://api.example.com/v1' }),
  keyFile: text
    .optional()
    .describe('A file that holds the API key, for example a mounted secret.')
    .meta({ example: '/run/secrets/signalhouse_api_key' }),
  outageMinutes: z
    .number()
    .min(0)
    .max(10_000)
    .default(30)
    .describe(
      'Minutes that a command waits for an API that does not answer at all; 0 ends it at once. A job of serve waits at most one, and is tried again.',
    ),
  paging: section({
    pageParameter: text.default('page').describe('Name of the query parameter for the page number.'),
    limitParameter: text.default('limit').describe('Name of the query parameter for the page size.'),
  }),
});

const rateLimit = section({
  requests: positive.default(120).describe('Requests that the server allows per window and key.'),
  windowMs: milliseconds.default(60_000).describe('Length of the window in milliseconds.'),
});

const warehouse = section({
  memoryLimit: z
    .string()
    .regex(/^(auto|\d+(\.\d+)?\s?([KMGT]i?B))$/i, 'must be auto or a size such as 128MB or 2GB')
    .default('auto')
    .describe(
      'Memory limit of DuckDB, such as 512MB. auto is 40 % of the memory of the machine or container, at most 2 GB; jobs of several organizations at the same time share it. What does not fit is spilled to the data directory.',
    ),
});

const duckdb = section({
  extensionDirectory: text
    .nullable()
    .default(null)
    .describe(
      "Directory with DuckDB's extensions (NAME.duckdb_extension), for a machine that cannot reach extensions.duckdb.org. Needed for a lake; docs/lake.md says how to get them.",
    ),
});

const sync = section({
  recheck: z
    .number()
    .min(0.01)
    .max(100)
    .default(1)
    .describe(
      'Every detail is fetched again at the latest after its age in the table of docs/how-it-syncs.md times this, changed or not. Smaller is fresher and takes more requests.',
    ),
  personGroups: z
    .enum(['without_company', 'all', 'never'])
    .default('without_company')
    .describe("People whose conversations are fetched by person; a company's people come with the company."),
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
});

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
    .describe('Schemas, tables, views and columns to leave out too, such as ops or messages.metadata.')
    .meta({ example: ['messages.metadata', 'automation_templates'] }),
  mask: z
    // YAML reads null without quotes as no value.
    .record(text, z.union([z.null(), z.string(), z.number(), z.boolean()]).transform(String))
    .default({})
    .describe(
      'Columns to mask too, each with null, hash (equal values stay equal), domain, initials or truncate:N.',
    )
    .meta({
      example: {
        'people.primary_email': 'hash',
        'authors.display_name': 'initials',
        'topics.summary': 'truncate:100',
      },
    }),
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
    )
    .meta({ example: [{ file: 'signals-strict.duckdb', profile: 'strict', exclude: ['ops'] }] }),
  after: z
    .array(z.union([text, z.array(text).min(1)], 'must be a command line, or a list of words'))
    .default([])
    .describe(
      'Commands to run, one after the other, after each publication at the end of a sync or push (not those in the middle of a long run), such as a backup. A list of words is run as it is, one line by /bin/sh. They get SIGNALHOUSE_DATA_DIR, SIGNALHOUSE_PUBLISHED, SIGNALHOUSE_FULL_SNAPSHOT, SIGNALHOUSE_JOURNALS (a path a line) and SIGNALHOUSE_SETTINGS, and no other variable that begins with SIGNALHOUSE_ or AWS_. The warehouse stays locked meanwhile, so that the files belong together. After an hour, and when the run is stopped, a command is ended. One that fails makes the run incomplete (exit 3).',
    )
    .meta({ example: [['/etc/signalhouse/backup.sh']] }),
});

const lake = section({
  catalog: text
    .optional()
    .describe('Address of the Iceberg REST catalog. Without it there is no lake.')
    .meta({ example: 'https://catalog.example.com/iceberg' }),
  warehouse: text.optional().describe("The catalog's name of the warehouse.").meta({ example: 'signals' }),
  oauth2Server: text
    .optional()
    .describe("Where the catalog's clients get tokens; without it, v1/oauth/tokens of the catalog.")
    .meta({ example: 'https://login.example.com/oauth2/token' }),
  oauth2Scope: text
    .optional()
    .describe('The scope that they ask for.')
    .meta({ example: 'PRINCIPAL_ROLE:ALL' }),
  s3: section({
    endpoint: text
      .optional()
      .describe('Address of the object store; without it, that of AWS in the region.')
      .meta({ example: 'https://s3.example.com' }),
    region: text.default('us-east-1').describe('Its region.'),
    pathStyle: z
      .boolean()
      .default(false)
      .describe('Whether the bucket is in the path (true for most object stores other than AWS).'),
  }),
  profile: profile.describe(
    'What the lake leaves out and masks of the published file: none, analysts or strict.',
  ),
}).describe(
  'Where signalhouse lake publishes the tables and views of the published file: each organization to a namespace of its own, signals_ID. Secrets come from variables or files. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are the keys of the object store; SIGNALHOUSE_LAKE_TOKEN (or SIGNALHOUSE_LAKE_CLIENT_ID and SIGNALHOUSE_LAKE_CLIENT_SECRET) is for the catalog. Each has a variable with _FILE at its end that names a file instead.',
);

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export const timeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time such as "09:00"');

/** DuckDB takes names only, and no offset such as +01:00. */
const isTimezone = (name: string) => /^[A-Za-z]/.test(name) && canonicalZone(name) !== undefined;

const replyHours = z.number().gt(0).max(10_000).optional();
const serviceLevel = z
  .strictObject({
    name: text,
    vip: z.boolean().optional(),
    priority: z.array(z.enum(priorities)).min(1).optional(),
    firstReplyHours: replyHours,
    nextReplyHours: replyHours,
  })
  .refine((level) => level.firstReplyHours !== undefined || level.nextReplyHours !== undefined, {
    message: 'must have firstReplyHours, nextReplyHours or both',
  });

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
  })
    .refine(({ opens, closes }) => opens < closes, { path: ['closes'], message: 'must be later than opens' })
    .describe('The working hours of response_times and conversation_turns in the published file.'),
  serviceLevels: z
    .array(serviceLevel)
    .refine((levels) => new Set(levels.map(({ name }) => name)).size === levels.length, {
      message: 'has two entries with the same name',
    })
    .default([])
    .describe(
      'In how many working hours staff is to reply (service_level_breaches, and a chart in the report). The first entry that fits a conversation counts: vip and priority say which it fits; without both, every one.',
    )
    .meta({
      example: [
        { name: 'VIP', vip: true, firstReplyHours: 2, nextReplyHours: 4 },
        { name: 'urgent', priority: ['very_high', 'high'], firstReplyHours: 4 },
      ],
    }),
  teams: z
    .record(text, z.array(text).min(1))
    .default({})
    .describe('The people of each team, by id (people.id), for service levels by team.')
    .meta({ example: { support: ['90012', '90047'] } }),
});

const push = section({
  onConflict: z
    .enum(['report', 'overwrite'])
    .default('report')
    .describe('What to do when another person changed the same field: report it (exit 3), or overwrite it.'),
});

const mailAddress = z
  .string()
  .trim()
  .regex(/^([^<>\r\n]*<)?[^\s@<>,;"]+@[^\s@<>,;"]+>?$/, 'must be an e-mail address');

const job = z.strictObject({
  name: text.describe('Shown on the status page and in metrics; used in POST /jobs/NAME/run.'),
  run: z
    .enum(['sync', 'push', 'sync+push', 'export', 'digest', 'lake'])
    .describe(
      'sync, push, sync+push, export (writes every table to reports/NAME in the data directory), digest (what is new, grew, waits, was decided and is at risk since the last one, to reports/NAME and to those below), or lake (publishes the published file to the lake).',
    ),
  cron: text.describe(
    'Minute, hour, day, month and weekday; if both day and weekday are given, both must match.',
  ),
  timezone: text
    .default('UTC')
    .describe(
      'Time zone of the schedule. In the hour that a clock change repeats, a job runs once; one whose hours are * or */n runs as often as in any other hour.',
    ),
  catchUp: z
    .boolean()
    .default(true)
    .describe('Whether a missed run runs once after a restart (a job that never ran counts as missed).'),
  maxRequests: positive
    .optional()
    .describe('Maximum number of requests of a run; when it reaches it, it stops and keeps what it has.')
    .meta({ example: 5000 }),
  maxMinutes: z
    .number()
    .min(0.01)
    .optional()
    .describe('Maximum number of minutes of a run, likewise.')
    .meta({ example: 50 }),
  to: z
    .array(mailAddress)
    .min(1)
    .optional()
    .describe('digest: the addresses that it is sent to, by serve.notify.email.server.')
    .meta({ example: ['product@example.com'] }),
  webhook: z
    .boolean()
    .optional()
    .describe('digest: whether it is posted to SIGNALHOUSE_WEBHOOK_URL.')
    .meta({ example: true }),
  file: text
    .optional()
    .describe('digest: the published file that it reads, and so what it shows (default signals.duckdb).')
    .meta({ example: 'signals-strict.duckdb' }),
});

const nightly = { name: 'nightly', run: 'sync+push', cron: '0 3 * * *' } as const;

const hours = z.number().min(0);
/** The default of `serve.freshness`, also for the lists that it leaves out. */
export const freshnessHours = 26;
const freshness = z.union(
  [hours, z.partialRecord(z.enum(['default', 'stale', ...resources.lists.map(({ name }) => name)]), hours)],
  `must be hours of at least 0, or a mapping of such hours by list: default, ${resources.lists.map(({ name }) => name).join(', ')}; and stale, a share`,
);

/** The query is nodemailer's own option for a connection without encryption. */
function isMailServer(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, password, pathname, search, hash } = new URL(address);
  const isPlain = search === '' || search === '?ignoreTLS=true';
  return (
    /^smtps?:$/.test(protocol) &&
    hostname !== '' &&
    password === '' &&
    /^\/?$/.test(pathname) &&
    isPlain &&
    hash === ''
  );
}

const notify = section({
  webhookFormat: z
    .enum(['slack', 'teams', 'json'])
    .default('slack')
    .describe(
      'Form of the messages to the webhook: slack (Slack and compatible services), teams (a workflow of Microsoft Teams) or json.',
    ),
  email: section({
    server: text
      .refine(
        isMailServer,
        'must be an address such as smtps://user@smtp.example.com:465, or smtp:// for STARTTLS, without a password',
      )
      .optional()
      .describe(
        'The SMTP server; without it no e-mail is sent. smtps:// encrypts from the start (port 465), smtp:// by STARTTLS (port 587); both fail where the server cannot. smtp://HOST:25?ignoreTLS=true sends in the clear. A user is for a server that wants a login; the password is in SIGNALHOUSE_SMTP_PASSWORD (or SIGNALHOUSE_SMTP_PASSWORD_FILE).',
      )
      .meta({ example: 'smtp://signalhouse@smtp.example.com' }),
    from: mailAddress
      .optional()
      .describe('The address of the sender.')
      .meta({ example: 'signalhouse@example.com' }),
    to: z
      .array(mailAddress)
      .default([])
      .describe('The addresses that are notified.')
      .meta({ example: ['operations@example.com'] }),
  }),
}).describe(
  'Notifications about failures and stale data: by webhook, by e-mail, or both. `serve --test-notification` sends a test.',
);

const role = z.enum(['read', 'write']);

const user = z.strictObject({
  name: text
    .max(100)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not contain control characters')
    .describe('The name that is entered; changes are requested by it.'),
  role: role
    .default('read')
    .describe(
      'read: look at pages and download sheets; write: change topics and companies, upload sheets and undo as well.',
    )
    .meta({ example: 'write' }),
  passwordHash: z
    .string()
    .regex(passwordHash, 'must be a hash that `signalhouse user add NAME` made')
    .optional()
    .describe('What `signalhouse user add NAME` prints; not needed with serve.userHeader.'),
});

const serve = section({
  host: text
    .refine((host) => isIP(host) !== 0 || /^[\w-]+(\.[\w-]+)*$/.test(host), {
      message: 'must be an IP address or a host name, such as 127.0.0.1',
    })
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
    .array(
      // One with more than a host name would never be that of a request.
      text.regex(
        /^(\[[\da-f:.]+\]|[\w-]+(\.[\w-]+)*)$/i,
        'must be a host name alone, such as signalhouse.example.com, or an IPv6 address in [ ]',
      ),
    )
    .default([])
    .describe(
      'Accepted host names of the pages beyond localhost, e.g. signalhouse.example.com. /healthz, /readyz and /metrics take every name.',
    ),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://signalhouse.example.com' })
    .nullable()
    .default(null)
    .describe('Where people open the pages, e.g. https://signalhouse.example.com: a digest links there.'),
  users: z
    .array(user)
    .refine(
      (users) => new Set(users.map(({ name }) => name.normalize('NFKC').toLowerCase())).size === users.length,
      'has two entries with the same name',
    )
    .default([])
    .describe(
      'Who may log in, each with name, role (read or write) and passwordHash; `signalhouse user add NAME` prints an entry. With users, the pages need a login, and /topics and /sheets can change something. Without users, beyond loopback, there is no report and no topics.',
    )
    .meta({ example: [{ name: 'anna', role: 'write', passwordHash: '$scrypt$ln=15,r=8,p=3$…' }] }),
  proxies: z
    .array(
      z.union(
        [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
        'must be an address or a range such as 10.0.0.0/8',
      ),
    )
    .default([])
    .describe(
      'Addresses or ranges of the reverse proxies in front of serve, whose X-Forwarded-For and X-Forwarded-Proto are believed.',
    )
    .meta({ example: ['10.0.0.5', '10.1.0.0/16'] }),
  userHeader: text
    .regex(/^[\w-]+$/, 'must be the name of a header')
    .nullable()
    .default(null)
    .describe(
      'Header in which these proxies send the name of the user, instead of a login here; who is to write is in serve.users, without a password.',
    )
    .meta({ example: 'X-Forwarded-User' }),
  sendAfterConfirm: z
    .boolean()
    .default(true)
    .describe(
      'Whether what is confirmed on a page is sent at once: a running sync ends at its next batch, and goes on after it. Otherwise it is queued, and waits for a job that sends changes.',
    ),
  jobs: z
    .array(job)
    .prefault([nightly])
    .describe(
      'Jobs and their schedules. They run one at a time, because a job holds the warehouse while it runs; one that is due meanwhile waits.',
    ),
  parallel: positive
    .max(64)
    .default(2)
    .describe(
      'How many organizations of `organizations` have a job at work at the same time. They share the memory.',
    ),
  freshness: freshness
    .default(freshnessHours)
    .describe(
      'Maximum age of a verified list, in hours: when it is older, `status` exits 3 and people are notified. A nightly run reads every list, so 26 hours allow it two hours. 0: no objective. By list where they differ. stale is the share of a resource that may be out of date, by random checks (0.05; 0: no bound).',
    )
    .meta({ example: { default: 26, people: 50, channels: 0, stale: 0.02 } }),
  notify,
})
  .refine(({ proxies, userHeader }) => userHeader === null || proxies.length > 0, {
    path: ['proxies'],
    message: 'must name the proxies that send serve.userHeader',
  })
  .refine(({ users, userHeader }) => userHeader !== null || users.every(({ passwordHash: hash }) => hash), {
    path: ['users'],
    message: 'has an entry without passwordHash; signalhouse user add NAME makes one',
  })
  .describe(
    'For `signalhouse serve`. Its secrets are never in a settings file: SIGNALHOUSE_SERVE_TOKEN (or SIGNALHOUSE_SERVE_TOKEN_FILE) enables the routes that change something, SIGNALHOUSE_WEBHOOK_URL (or SIGNALHOUSE_WEBHOOK_URL_FILE) receives notifications about failures and stale data.',
  );

const months = z
  .union(
    [z.literal('never'), z.number().int().min(1).max(1_200)],
    'must be a whole number of months, or never',
  )
  .default('never');

const retention = section({
  recordsDays: z
    .number()
    .min(1)
    .default(400)
    .describe(
      'Days that the records of the worker are kept: runs (ops.runs; the last run of each command stays), attempts at settled changes, and rejected records and undocumented fields that were not seen again. Requests to the API are kept for 30 of these days, scans of lists for 90.',
    ),
  deletedContentDays: z
    .union([z.literal('never'), z.number().min(0)], 'must be a number of days of at least 0, or never')
    .default(30)
    .describe(
      'Days after which the content and the personal fields of messages and people that the API deleted are dropped; 0 drops them at once, never keeps them.',
    ),
  messagesMonths: months.describe(
    'Months after which messages lose their content, also those that the API still has; never keeps it. Their rows, times, authors and counts stay. What comes again is dropped on arrival. `signalhouse sync --dry-run` counts it first.',
  ),
  peopleMonths: months.describe(
    'Months without a sign of them (people.last_seen_at) after which people lose their personal fields, likewise; their messages then count for no company.',
  ),
}).describe('The worker trims its own records at the end of each sync and push.');

const log = section({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log level: fatal, error, warn, info, debug, trace or silent.'),
});

export const settings = z.strictObject({
  dataDir: text.default('./data').describe('Directory of the warehouse and all its files.'),
  shutdownSeconds: positive
    .max(3_600)
    .default(25)
    .describe('Seconds after SIGTERM to finish what is in flight, commit and publish.'),
  api,
  rateLimit,
  warehouse,
  duckdb,
  sync,
  publish,
  lake,
  analysis,
  push,
  serve,
  retention,
  log,
});

export type Settings = z.infer<typeof settings>;
