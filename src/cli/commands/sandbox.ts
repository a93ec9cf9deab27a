import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ExitCode, messageOf, UsageError } from '../../base/errors.js';
import { createLog } from '../../base/log.js';
import { loadConfig } from '../../config/load.js';
import { faultRule, pagingFaults } from '../../sandbox/faults.js';
import type { SandboxOptions } from '../../sandbox/options.js';
import type { Sandbox } from '../../sandbox/start.js';
import { command } from '../command.js';
import { range, text, toggle, whole } from '../flags.js';
import { print, printJson } from '../output.js';
import { ended } from '../signals.js';
import { shown } from '../text/layout.js';

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
  summary: 'Run the whole Product-Signals service on localhost, with made-up data',
  options: {
    port: number('Where to listen (default 4010; 0: any free port)'),
    host: string('The address to listen on (default 127.0.0.1)'),
    topics: number('How many topics to make up'),
    people: number('How many people'),
    companies: number('How many companies'),
    messages: number('How many messages'),
    channels: number('How many channels'),
    stories: number('How many stories'),
    templates: number('How many automation templates'),
    weeks: number('How many weeks of traffic'),
    seed: number('The same seed makes up the same data'),
    now: string('The day on which the made-up past ends'),
    rate: number('Requests per window and key (default 120)'),
    window: number('The window in milliseconds (default 60000)'),
    'retry-after': boolean('Send Retry-After with a 429'),
    latency: string('Milliseconds that an answer takes, as 20-80'),
    'page-size': number('Items in a page when none is asked for'),
    'max-page-size': number('The largest page that is granted'),
    'page-base': number('Whether pages count from 0 or from 1'),
    'paging-fault': string(`Lists misbehave: ${pagingFaults.join(', ')}`),
    drift: number('Lists change while they are read: before every n-th page'),
    'people-form': string('The form of GET /people: paged, property, array'),
    'channels-form': string('The form of GET /channels'),
    'templates-form': string('The form of GET /automation-templates'),
    faults: string('A JSON or YAML file of fault rules'),
    'signed-urls': boolean('Avatar addresses differ in each answer'),
    'no-destination': boolean('No default output destination for automations'),
    'body-limit': number('The largest request body in bytes'),
    'sandbox-key': string('The key that it takes: made up, never a real one'),
  },
  examples: [
    ['signalhouse sandbox', 'Listen on port 4010'],
    ['signalhouse sandbox --topics 400 --people 1500 --companies 120', 'Choose how large it is'],
    ['signalhouse sandbox --latency 20-80 --window 5000', 'Slower answers, shorter windows'],
    ['curl -X POST localhost:4010/__sandbox/advance', 'Let a day pass'],
  ],
  flags,
  async run(given, { json, sources }) {
    const { log: settings } = loadConfig(sources);
    const log = createLog({ level: settings.level, pretty: process.stderr.isTTY === true });
    const options = optionsOf(given);
    // Before the start: whoever stops it while the data is being made up gets what they asked for as well.
    const end = ended();
    const { startSandbox } = await import('../../sandbox/start.js');
    const server = await startSandbox({ ...options, log }).catch((error: unknown) => {
      throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portTaken(given) : error;
    });
    const { baseUrl, origin, apiKey } = server;
    if (json) printJson({ baseUrl, origin, apiKey, pid: process.pid });
    else print(greeting(server));
    await end;
    await server.stop();
    return ExitCode.done;
  },
});

function optionsOf(given: Flags): SandboxOptions {
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
    faults: given.faults === undefined ? undefined : readFaults(given.faults),
    signedUrls: given.signedUrls,
    defaultDestination: given.noDestination ? null : undefined,
    bodyLimit: given.bodyLimit,
  });
}

/** The same without what is undefined, which would stand for "not the default". */
function defined<T extends object>(values: { [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** Fault rules from a file: a list of them, in JSON or YAML. */
function readFaults(path: string): NonNullable<SandboxOptions['faults']> {
  let value: unknown;
  try {
    value = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const problem = `${path} cannot be read: ${messageOf(error)}`;
    throw new UsageError('The faults cannot be read.', [{ setting: '--faults', problem }]);
  }
  const rules = z.array(faultRule).safeParse(value);
  if (rules.success) return rules.data;
  throw new UsageError(
    'The faults are not as they must be.',
    rules.error.issues.map(({ path: at, message }) => ({
      setting: `${path}: ${at.join('.') || 'the file'}`,
      problem: message,
    })),
  );
}

function portTaken({ host, port }: Flags): UsageError {
  const problem = `${host}:${port} is in use by another program`;
  const hint = '--port 0 takes any port that is free.';
  return new UsageError('The sandbox cannot listen.', [{ setting: '--port', problem }], { hint });
}

function greeting({ baseUrl, origin, apiKey, world }: Sandbox): string {
  const { organization, topics, people, companies, messages } = world;
  return `The sandbox listens on ${baseUrl}
  ${shown(organization.name)}: ${topics.size} topics, ${people.size} people, ${companies.size} companies, ${messages.size} messages

In another terminal:
  export SIGNALHOUSE_BASE_URL=${baseUrl}
  export SIGNALHOUSE_API_KEY=${apiKey}
  npx signalhouse sync

  curl -X POST ${origin}/__sandbox/advance     let a day pass
  curl ${origin}/__sandbox/stats               requests, 429s, writes
  ${origin}/openapi.json                       its description
Ctrl-C stops it.`;
}
