import { networkInterfaces } from 'node:os';
import { ExitCode, UsageError } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import type { RunSignals } from '../../base/stop.js';
import { duration } from '../../base/units.js';
import { answer } from '../../cli/output.js';
import { interruptible } from '../../cli/signals.js';
import { needsLogin } from '../../serve/http/login.js';
import { list } from '../../view/text.js';
import { type Context, port, printing, text, toggle } from '../command.js';
import { type CommandSetup, eachOrganization, type ServeAccess, setUpServe } from '../setup.js';
import {
  type OnceRecord,
  serveAll,
  serveOnce,
  serveProblems,
  type TestedChannel,
  testNotifications,
} from './service.js';

/** Seconds added to shutdownSeconds: by then the scheduler has abandoned the running job. */
const grace = 5;

export const serve = printing({
  examples: [
    ['signalhouse serve', 'Sync and push at night, or serve.jobs'],
    ['signalhouse serve --config worker.yaml', 'With your own jobs'],
    ['signalhouse serve --once', 'Run what is due, then exit'],
    ['signalhouse serve --test-notification', 'Check that notifications arrive'],
    ['signalhouse serve --organization acme', 'One of several organizations'],
    ['curl localhost:8080/metrics', 'Metrics for Prometheus'],
  ],
  input: {
    once: toggle.describe('Run every job that is due, then exit'),
    testNotification: toggle.describe('Send a test by webhook and e-mail, then exit'),
    port: port.describe('Port to listen on (overrides serve.port); 0: any free port'),
    host: text.optional().describe('Address to listen on (overrides serve.host); 0.0.0.0 in a container'),
  },
  async run({ once, testNotification, port, host }, context) {
    const { sources } = context;
    const given = [
      ...(sources.flags ?? []),
      ...(port === undefined ? [] : [{ path: 'serve.port', flag: '--port', value: port }]),
      ...(host === undefined ? [] : [{ path: 'serve.host', flag: '--host', value: host }]),
    ];
    const { members, isList } = await membersOf({ ...context, sources: { ...sources, flags: given } });
    const [first] = members;
    const seconds = Math.max(...members.map((one) => one.config.shutdownSeconds));
    const work = async (signals: RunSignals) => {
      if (testNotification) {
        const channels = await testNotifications(members, signals.stop);
        if (channels.length === 0) throw noChannel();
        const exitCode = channels.every(({ delivered }) => delivered) ? ExitCode.done : ExitCode.failed;
        return answer(context, { channels }, () => channelsText(channels), exitCode);
      }
      if (once) {
        const done = await serveOnce({ members, isList }, signals);
        return answer(context, done, ({ runs }) => runsText(runs), done.exitCode);
      }
      const { finished } = await serveAll({ members, isList }, signals, (url) => {
        const names = members.map((one) => one.config.organization);
        const told = { url, pid: process.pid, ...(isList && { organizations: names }) };
        const { serve } = first.config;
        answer(context, told, () => servingText(url, serve.host, needsLogin(serve)));
      });
      // A job that does not stop would keep the process alive; what is committed survives the exit.
      if (!finished) process.exit(ExitCode.failed);
      return ExitCode.done;
    };
    return interruptible(first, seconds + grace, work);
  },
});

type Member = CommandSetup<ServeAccess>;

/** What serves each organization. Throws one UsageError with the problems of all. */
async function membersOf(
  context: Context,
): Promise<{ members: readonly [Member, ...Member[]]; isList: boolean }> {
  const { contexts, isList } = await eachOrganization(context);
  const members: Member[] = [];
  const errors: UsageError[] = [];
  for (const one of contexts) {
    try {
      members.push(await setUpServe(one, serveProblems));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      errors.push(error);
    }
  }
  const [first, ...rest] = members;
  const [error] = errors;
  if (!first || error) throw errors.length === 1 ? error : together(errors);
  return { members: [first, ...rest], isList };
}

/** A problem at the top of the file concerns every organization, and is reported once. */
function together(errors: readonly UsageError[]): UsageError {
  const problems = new Map(
    errors.flatMap((error) => error.problems.map((one) => [`${one.setting} ${one.problem}`, one])),
  );
  const [first] = errors;
  const count = problems.size === 1 ? 'a problem' : `${problems.size} problems`;
  return new UsageError(`The configuration has ${count}.`, [...problems.values()], {
    ...(first?.hint !== undefined && { hint: first.hint }),
  });
}

/** Where it listens. Beyond this machine, what does not protect it. */
function servingText(url: string, host: string, hasLogin: boolean): string {
  const stop = 'Press Ctrl-C to stop; press it twice to stop at once.';
  if (isLoopback(host)) return `Signalhouse is serving on ${url}\n${stop}`;
  const { port } = new URL(url);
  const urls = addressesOf(host).map(
    (address) => `  http://${address.includes(':') ? `[${address}]` : address}:${port}`,
  );
  return `Signalhouse is serving on ${host}, port ${port}:
${urls.join('\n')}
${hasLogin ? plainText : noLogin}
${stop}`;
}

const noLogin = `There is NO LOGIN: everybody who reaches these addresses can read its status, and no
report, topics or sheets are served. Set serve.users, or serve.host to 127.0.0.1.`;

const plainText = `It speaks http: passwords and sessions cross the network in the clear. Put a proxy with
TLS in front, name it in serve.proxies, and let nothing else reach these addresses.`;

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
  const problem = 'or serve.notify.email.server is required: there is nowhere to send a notification';
  return new UsageError(
    'No notifications are configured.',
    [{ setting: 'SIGNALHOUSE_WEBHOOK_URL', problem }],
    { hint: 'docs/operations.md describes notifications.' },
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
function runsText(runs: readonly OnceRecord[]): string {
  if (runs.length === 0) return 'Nothing is due.';
  return list(
    runs.map(({ organization, job, outcome, startedAt, endedAt, message }) => {
      const ms = startedAt === null ? 0 : Date.parse(endedAt) - Date.parse(startedAt);
      const who = organization === undefined ? '' : `${organization}: `;
      return `${who}${job} ${outcome} after ${duration(ms)}: ${message}`;
    }),
  );
}
