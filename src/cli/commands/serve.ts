import { z } from 'zod';
import { ExitCode } from '../../base/errors.js';
import { duration } from '../../base/units.js';
import type { RunRecord } from '../../serve/schedule/record.js';
import { command } from '../command.js';
import { text, toggle, whole } from '../flags.js';
import { print, printJson } from '../output.js';
import { setUpServe } from '../setup.js';
import { interruption } from '../signals.js';
import { list } from '../text/layout.js';

/** Seconds on top of serve.shutdownSeconds, after which the schedule itself gives up what is in flight. */
const grace = 5;

export const serve = command({
  name: 'serve',
  summary: 'Run by itself: jobs on schedule, a status page, metrics, notifications',
  options: {
    once: { type: 'boolean', describe: 'Run every job that is due, and end' },
    port: { type: 'number', requiresArg: true, describe: 'Listen there (over serve.port); 0: any free port' },
    host: {
      type: 'string',
      requiresArg: true,
      describe: 'Listen there (over serve.host); 0.0.0.0 in a container',
    },
  },
  examples: [
    ['signalhouse serve', 'Every night at 03:00 UTC, unless serve.jobs says otherwise'],
    ['signalhouse serve --config worker.yaml', 'With jobs of your own'],
    ['signalhouse serve --once', 'What is due now, for a clock of your own'],
    ['curl localhost:8080/metrics', 'While it runs: for Prometheus; the page is at /'],
  ],
  flags: z.object({
    once: toggle.default(false),
    port: whole(0).max(65_535, 'must be a port').optional(),
    host: text.optional(),
  }),
  async run({ once, port, host }, { json, sources }) {
    const app = await import('../../app/serve.js');
    const given = [
      ...(sources.flags ?? []),
      ...(port === undefined ? [] : [{ path: 'serve.port', flag: '--port', value: port }]),
      ...(host === undefined ? [] : [{ path: 'serve.host', flag: '--host', value: host }]),
    ];
    const access = setUpServe({ json, sources: { ...sources, flags: given } }, app.serveProblems);
    const { config, log } = access;
    const signals = interruption((config.serve.shutdownSeconds + grace) * 1000, (said) => log.warn(said));
    try {
      if (once) {
        const { runs, exitCode } = await app.serveOnce(access, signals);
        if (json) printJson({ runs, exitCode });
        else print(runsText(runs));
        return exitCode;
      }
      const { finished } = await app.serve(access, signals, (url) => {
        if (json) printJson({ url, pid: process.pid });
        else print(`Signalhouse serves ${url}\nCtrl-C stops it: once in order, twice at once.`);
      });
      // A job that does not give up would keep the process for ever; what is committed survives that.
      if (!finished) process.exit(ExitCode.failed);
      return ExitCode.done;
    } finally {
      signals.release();
    }
  },
});

/** What `serve --once` ran, one line a run. */
export function runsText(runs: readonly RunRecord[]): string {
  if (runs.length === 0) return 'Nothing is due.';
  return list(
    runs.map(({ job, outcome, startedAt, endedAt, message }) => {
      const ms = startedAt === null ? 0 : Date.parse(endedAt) - Date.parse(startedAt);
      return `${job} ${outcome} after ${duration(ms)}: ${message}`;
    }),
  );
}
