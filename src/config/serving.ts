import { z } from 'zod';
import { positive, section, text } from './kinds.js';

/** The settings of the worker that runs itself (`signalhouse serve`), and of what it keeps. */

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

export const serve = section({
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
  freshness: section({
    topics: hours('topics'),
    companies: hours('companies'),
    people: hours('people'),
    channels: hours('channels'),
    stories: hours('stories'),
    automation_templates: hours('automation templates'),
  }).describe(
    'How old a list may be that was read and added up, in hours; `status` exits 3 and the webhook is told when it is older.',
  ),
});

const kept = (days: number) => z.number().min(1).default(days);

export const retention = section({
  requestsDays: kept(30).describe('Days that requests to the API are kept (ops.requests).'),
  runsDays: kept(400).describe('Days that runs are kept (ops.runs); the last of each command stays.'),
  attemptsDays: kept(400).describe('Days that attempts at settled changes are kept (ops.change_attempts).'),
  scansDays: kept(90).describe('Days that readings of lists are kept (ops.scans); the last of each stays.'),
}).describe('What the worker writes down about itself is trimmed at the end of each sync and push.');
