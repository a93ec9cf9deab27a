import { networkInterfaces } from 'node:os';
import { z } from 'zod';
import type { TestedChannel } from '../../app/notifications.js';
import { ExitCode, UsageError } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import { duration } from '../../base/units.js';
import type { RunRecord } from '../../serve/schedule/record.js';
import { command } from '../command.js';
import { text, toggle, whole } from '../flags.js';
import { print, printJson } from '../output.js';
import { setUpServe } from '../setup.js';
import { interruption } from '../signals.js';
import { list } from '../text/layout.js';

/** Seconds added to shutdownSeconds: by then the scheduler itself has abandoned what is in flight. */
const grace = 5;

export const serve = command({
  name: 'serve',
  summary: 'Run as a service: scheduled jobs, a status page, metrics, notifications',
  options: {
    once: { type: 'boolean', describe: 'Run every job that is due, then exit' },
    'test-notification': { type: 'boolean', describe: 'Send a test by webhook and e-mail, then exit' },
    port: {
      type: 'number',
      requiresArg: true,
      describe: 'Port to listen on (overrides serve.port); 0: any free port',
    },
    host: {
      type: 'string',
      requiresArg: true,
      describe: 'Address to listen on (overrides serve.host); 0.0.0.0 in a container',
    },
  },
  examples: [
    ['signalhouse serve', 'Sync and push every night at 03:00 UTC, unless serve.jobs is set'],
    ['signalhouse serve --config worker.yaml', 'With your own jobs'],
    ['signalhouse serve --once', 'Run what is due now, for an external scheduler'],
    ['signalhouse serve --test-notification', 'Check that notifications arrive (exit 1 if one does not)'],
    ['curl localhost:8080/metrics', 'Metrics for Prometheus; the status page is at /'],
  ],
  flags: z.object({
    once: toggle.default(false),
    testNotification: toggle.default(false),
    port: whole(0).max(65_535, 'must be a port').optional(),
    host: text.optional(),
  }),
  async run({ once, testNotification, port, host }, { json, sources }) {
    const app = await import('../../app/serve.js');
    const given = [
      ...(sources.flags ?? []),
      ...(port === undefined ? [] : [{ path: 'serve.port', flag: '--port', value: port }]),
      ...(host === undefined ? [] : [{ path: 'serve.host', flag: '--host', value: host }]),
    ];
    const access = await setUpServe({ json, sources: { ...sources, flags: given } }, app.serveProblems);
    const { config, log } = access;
    const signals = interruption((config.shutdownSeconds + grace) * 1000, (message) => log.warn(message));
    try {
      if (testNotification) {
        const channels = await app.testServe(access, signals.stop);
        if (channels.length === 0) throw noChannel();
        if (json) printJson({ channels });
        else print(channelsText(channels));
        return channels.every(({ delivered }) => delivered) ? ExitCode.done : ExitCode.failed;
      }
      if (once) {
        const { runs, exitCode } = await app.serveOnce(access, signals);
        if (json) printJson({ runs, exitCode });
        else print(runsText(runs));
        return exitCode;
      }
      const { finished } = await app.serve(access, signals, (url) => {
        if (json) printJson({ url, pid: process.pid });
        else print(servingText(url, config.serve.host));
      });
      // A job that does not stop would keep the process alive; what is committed survives the exit.
      if (!finished) process.exit(ExitCode.failed);
      return ExitCode.done;
    } finally {
      signals.release();
    }
  },
});

/** Where it listens. Beyond this machine, that there is no login. */
function servingText(url: string, host: string): string {
  const stop = 'Press Ctrl-C to stop; press it twice to stop at once.';
  if (isLoopback(host)) return `Signalhouse is serving on ${url}\n${stop}`;
  const { port } = new URL(url);
  const urls = addressesOf(host).map(
    (address) => `  http://${address.includes(':') ? `[${address}]` : address}:${port}`,
  );
  return `Signalhouse is serving on ${host}, port ${port}:
${urls.join('\n')}
There is NO LOGIN: everybody who reaches these addresses can read its pages. Put a
proxy with a login in front, or set serve.host to 127.0.0.1.
${stop}`;
}

/** The addresses of this machine that `host` stands for. */
function addressesOf(host: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const families = { '0.0.0.0': ['IPv4'], '::': ['IPv4', 'IPv6'] }[host];
  if (families === undefined) return [host];
  // A link-local address is of no use without its interface.
  return all
    .filter(({ family, address }) => families.includes(family) && !address.startsWith('fe80:'))
    .map(({ address }) => address);
}

function noChannel(): UsageError {
  const problem = 'or serve.notify.email.host is required: there is nowhere to send a notification';
  return new UsageError(
    'No notifications are configured.',
    [{ setting: 'SIGNALHOUSE_WEBHOOK_URL', problem }],
    {
      hint: 'docs/operations.md describes notifications.',
    },
  );
}

function channelsText(channels: readonly TestedChannel[]): string {
  return list(
    channels.map(({ channel, delivered, problem }) => {
      if (!delivered) return `${channel}: NOT delivered: ${problem}`;
      return `${channel}: sent${problem === null ? '' : `, but ${problem}`}`;
    }),
  );
}

/** What `serve --once` ran, one line per run. */
export function runsText(runs: readonly RunRecord[]): string {
  if (runs.length === 0) return 'Nothing is due.';
  return list(
    runs.map(({ job, outcome, startedAt, endedAt, message }) => {
      const ms = startedAt === null ? 0 : Date.parse(endedAt) - Date.parse(startedAt);
      return `${job} ${outcome} after ${duration(ms)}: ${message}`;
    }),
  );
}
