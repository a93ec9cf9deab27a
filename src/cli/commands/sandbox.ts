import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ExitCode, messageOf, UsageError } from '../../base/errors.js';
import { faultRule, pagingFaults } from '../../sandbox/faults.js';
import type { SandboxOptions } from '../../sandbox/options.js';
import type { Sandbox } from '../../sandbox/start.js';
import { command } from '../command.js';
import { range, text, toggle, whole } from '../flags.js';
import { print, printJson } from '../output.js';
import { untilSignal } from '../signals.js';
import { printable } from '../text/layout.js';

const form = z.enum(['paged', 'property', 'array'], 'must be paged, property or array');

const flags = z.object({
  host: text.default('127.0.0.1'),
  port: whole(0).max(65_535, 'must be a port').default(4010),
  sandboxKey: text.optional(),
  topics: whole(0).optional(),
  people: whole(0).optional(),
  companies: whole(0).optional(),
  messages: whole(0).optional(),
  channels: whole(0).optional(),
  stories: whole(0).optional(),
  templates: whole(0).optional(),
  weeks: whole().optional(),
  seed: whole(0).optional(),
  now: z
    .string()
    .refine((value) => !Number.isNaN(Date.parse(value)), 'must be a date such as 2026-11-20')
    .optional(),
  rate: whole().optional(),
  window: whole().optional(),
  retryAfter: toggle.optional(),
  latency: range.optional(),
  pageSize: whole().optional(),
  maxPageSize: whole().optional(),
  pageBase: z.union([z.literal(0), z.literal(1)], 'must be 0 or 1').optional(),
  pagingFault: z.enum(pagingFaults, `must be one of ${pagingFaults.join(', ')}`).optional(),
  drift: whole().optional(),
  peopleForm: form.optional(),
  channelsForm: form.optional(),
  templatesForm: form.optional(),
  faults: text.optional(),
  signedUrls: toggle.optional(),
  noDestination: toggle.optional(),
  bodyLimit: whole().optional(),
});
type Flags = z.infer<typeof flags>;

const number = (describe: string) => ({ type: 'number', requiresArg: true, describe }) as const;
const string = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const;
const boolean = (describe: string) => ({ type: 'boolean', describe }) as const;

export const sandbox = command({
  name: 'sandbox',
  summary: 'Run the whole Product-Signals service on localhost with generated data',
  options: {
    port: number('The port to listen on (default 4010; 0: any free port)'),
    host: string('The address to listen on (default 127.0.0.1)'),
    topics: number('How many topics to generate'),
    people: number('How many people'),
    companies: number('How many companies'),
    messages: number('How many messages'),
    channels: number('How many channels'),
    stories: number('How many stories'),
    templates: number('How many automation templates'),
    weeks: number('How many weeks of conversations'),
    seed: number('Seed of the generated data; the same seed gives the same data'),
    now: string('The last day of the generated data, such as 2026-11-20'),
    rate: number('Rate limit: requests per window and key (default 120)'),
    window: number('Window of the rate limit in milliseconds (default 60000)'),
    'retry-after': boolean('Send a Retry-After header with each 429'),
    latency: string('Milliseconds that each answer takes, such as 20-80'),
    'page-size': number('Items per page when a request names no limit'),
    'max-page-size': number('Most items per page'),
    'page-base': number('Number of the first page: 0 or 1'),
    'paging-fault': string(`Make every paged list misbehave: ${pagingFaults.join(', ')}`),
    drift: number('Change lists while they are read, before every n-th page'),
    'people-form': string('Form of GET /people: paged, property or array'),
    'channels-form': string('Form of GET /channels'),
    'templates-form': string('Form of GET /automation-templates'),
    faults: string('JSON or YAML file with fault rules'),
    'signed-urls': boolean('Sign avatar and logo addresses, so that they differ in each answer'),
    'no-destination': boolean('Have no default output destination for automations'),
    'body-limit': number('Largest request body in bytes (default 4194304)'),
    'sandbox-key': string('API key that it accepts; invent one, never use a real key'),
  },
  examples: [
    ['signalhouse sandbox', 'Listen on port 4010'],
    ['signalhouse sandbox --topics 400 --people 1500 --companies 120', 'Choose the size of the data'],
    ['signalhouse sandbox --latency 20-80 --window 5000', 'Slower answers, shorter windows'],
    ['curl -X POST localhost:4010/__sandbox/advance', 'Let one day pass'],
  ],
  flags,
  async run(given, { json, sources }) {
    const { loadConfig } = await import('../../config/load.js');
    const { createLog } = await import('../../base/log.js');
    const { log: settings } = loadConfig(sources);
    const log = createLog({ level: settings.level, pretty: process.stderr.isTTY === true });
    const options = await optionsOf(given);
    // Before the start, so that Ctrl-C also works while the data is generated.
    const end = untilSignal();
    const { startSandbox } = await import('../../sandbox/start.js');
    const server = await startSandbox({ ...options, log }).catch((error: unknown) => {
      throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portTaken(given) : error;
    });
    const { baseUrl, origin, apiKey } = server;
    if (json) printJson({ baseUrl, origin, apiKey, pid: process.pid });
    else print(greeting(server, options.rate ?? {}));
    await end;
    await server.stop();
    return ExitCode.done;
  },
});

async function optionsOf(given: Flags): Promise<SandboxOptions> {
  const { topics, people, companies, messages, channels, stories, templates, weeks, seed, now } = given;
  return defined<SandboxOptions>({
    host: given.host,
    port: given.port,
    apiKeys: given.sandboxKey === undefined ? undefined : [{ key: given.sandboxKey }],
    sizes: defined<NonNullable<SandboxOptions['sizes']>>({
      topics,
      people,
      companies,
      messages,
      channels,
      stories,
      templates,
      weeks,
      seed,
      now: now === undefined ? undefined : Date.parse(now),
    }),
    rate: defined<NonNullable<SandboxOptions['rate']>>({ requests: given.rate, windowMs: given.window }),
    retryAfterHeader: given.retryAfter,
    latencyMs: given.latency,
    pageSize: given.pageSize,
    maxPageSize: given.maxPageSize,
    pageBase: given.pageBase,
    pagingFault: given.pagingFault,
    drift: given.drift === undefined ? undefined : defined({ everyRequests: given.drift, seed }),
    forms: defined<NonNullable<SandboxOptions['forms']>>({
      people: given.peopleForm,
      channels: given.channelsForm,
      templates: given.templatesForm,
    }),
    faults: given.faults === undefined ? undefined : await readFaults(given.faults),
    signedUrls: given.signedUrls,
    defaultDestination: given.noDestination ? null : undefined,
    bodyLimit: given.bodyLimit,
  });
}

/** Removes undefined values, which would replace defaults. */
function defined<T extends object>(values: { [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** Fault rules from a file: a list of them, in JSON or YAML. */
async function readFaults(path: string): Promise<NonNullable<SandboxOptions['faults']>> {
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const problem = `${path} cannot be read: ${messageOf(error)}`;
    throw new UsageError('The fault rules cannot be read.', [{ setting: '--faults', problem }]);
  }
  const rules = z.array(faultRule).safeParse(value);
  if (rules.success) return rules.data;
  throw new UsageError(
    'The fault rules are not valid.',
    rules.error.issues.map(({ path: at, message }) => ({
      setting: `${path}: ${at.join('.') || 'the file'}`,
      problem: message,
    })),
  );
}

function portTaken({ host, port }: Flags): UsageError {
  const problem = `${host}:${port} is in use by another program`;
  const hint = 'Stop that program, or use --port 0 for any free port.';
  return new UsageError('The sandbox could not start.', [{ setting: '--port', problem }], { hint });
}

/** `rate` is what the flags say: settings of the client that have to match. */
function greeting(
  { baseUrl, origin, apiKey, world }: Sandbox,
  rate: NonNullable<SandboxOptions['rate']>,
): string {
  const { organization, topics, people, companies, messages } = world;
  return `The sandbox listens on ${baseUrl}
  ${printable(organization.name)}: ${topics.size} topics, ${people.size} people, ${companies.size} companies, ${messages.size} messages

In another terminal:
  export SIGNALHOUSE_BASE_URL=${baseUrl}
  export SIGNALHOUSE_API_KEY=${apiKey}
${rateLines(rate)}  npx signalhouse sync

  curl -X POST ${origin}/__sandbox/advance     let one day pass
  curl ${origin}/__sandbox/stats               show requests, 429s and writes
  curl ${origin}/openapi.json                  show its OpenAPI description
Press Ctrl-C to stop it.`;
}

function rateLines({ requests, windowMs }: NonNullable<SandboxOptions['rate']>): string {
  const lines = [
    ...(requests === undefined ? [] : [`  export SIGNALHOUSE_RATE_LIMIT_REQUESTS=${requests}\n`]),
    ...(windowMs === undefined ? [] : [`  export SIGNALHOUSE_RATE_LIMIT_WINDOW_MS=${windowMs}\n`]),
  ];
  return lines.join('');
}
