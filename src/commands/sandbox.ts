import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { messageOf, UsageError } from '../base/errors.js';
import { createLog } from '../base/log.js';
import { answer } from '../cli/output.js';
import { untilSignal } from '../cli/signals.js';
import { loadConfig } from '../config/load.js';
import { type SandboxOptions, sandboxSettings } from '../sandbox/options.js';
import { type Sandbox, startSandbox } from '../sandbox/start.js';
import { printable } from '../view/text.js';
import { port, printing, text, whole } from './command.js';

const defaultPort = 4010;

const flags = {
  port: port.describe(`The port to listen on (default ${defaultPort}; 0: any free port)`),
  host: text.optional().describe('The address to listen on (default 127.0.0.1)'),
  topics: whole(0).optional().describe('How many topics to generate'),
  people: whole(0).optional().describe('How many people'),
  companies: whole(0).optional().describe('How many companies'),
  messages: whole(0).optional().describe('How many messages'),
  seed: whole(0).optional().describe('Seed of the generated data; the same seed gives the same data'),
  settings: text
    .optional()
    .describe('YAML file with rate limit, latency, faults and more; config/sandbox.yaml describes it'),
};
type Flags = z.output<z.ZodObject<typeof flags>>;

export const sandbox = printing({
  examples: [
    ['signalhouse sandbox', `Listen on port ${defaultPort}`],
    ['signalhouse sandbox --topics 400 --people 1500', 'Choose the sizes'],
    ['signalhouse sandbox --settings config/sandbox.yaml', 'A window of a second'],
    [`curl -X POST localhost:${defaultPort}/__sandbox/advance`, 'Let one day pass'],
  ],
  input: flags,
  async run(given, context) {
    const { log: settings } = loadConfig(context.sources);
    const log = await createLog({ level: settings.level, pretty: process.stderr.isTTY === true });
    const options = await optionsOf(given);
    // Before the start, so that Ctrl-C also works while the data is generated.
    const end = untilSignal();
    const server = await startSandbox({ ...options, log }).catch((error: unknown) => {
      throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portTaken(options) : error;
    });
    const { baseUrl, origin, apiKey } = server;
    const started = { baseUrl, origin, apiKey, pid: process.pid };
    const exitCode = answer(context, started, () => greeting(server, options.rate ?? {}));
    await end;
    await server.stop();
    return exitCode;
  },
});

/** The settings of the file, with those of the flags over them. */
async function optionsOf({ settings: path, host, port, ...flagged }: Flags): Promise<SandboxOptions> {
  const { sizes, ...settings } = path === undefined ? {} : await readSettings(path);
  const given = Object.fromEntries(Object.entries(flagged).filter(([, value]) => value !== undefined));
  return {
    ...settings,
    port: port ?? settings.port ?? defaultPort,
    ...(host === undefined ? {} : { host }),
    sizes: { ...sizes, ...given },
  };
}

/** @throws UsageError that names everything that is wrong in the file */
async function readSettings(path: string): Promise<z.input<typeof sandboxSettings>> {
  const { parse } = await import('yaml');
  let value: z.input<typeof sandboxSettings>;
  try {
    value = parse(readFileSync(path, 'utf8')) ?? {};
  } catch (error) {
    const problem = `${path} cannot be read: ${messageOf(error)}`;
    throw new UsageError('The settings of the sandbox cannot be read.', [{ setting: '--settings', problem }]);
  }
  const { error } = sandboxSettings.safeParse(value);
  if (error === undefined) return value;
  throw new UsageError(
    'The settings of the sandbox are not valid.',
    error.issues.map(({ path: at, message }) => ({
      setting: `${path}: ${at.join('.') || 'the file'}`,
      problem: message,
    })),
  );
}

function portTaken({ host = '127.0.0.1', port }: SandboxOptions): UsageError {
  const problem = `${host}:${port} is in use by another program`;
  const hint = 'Stop that program, or use --port 0 for any free port.';
  return new UsageError('The sandbox could not start.', [{ setting: '--port', problem }], { hint });
}

/** `rate` is what the settings say: settings of the client that have to match. */
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
