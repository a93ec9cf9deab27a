import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { ExitCode, messageOf, problemsOf, UsageError } from '../../base/errors.js';
import { isLoopback } from '../../base/loopback.js';
import type { RunSignals } from '../../base/stop.js';
import { duration } from '../../base/units.js';
import { answer } from '../../cli/output.js';
import { interruptible } from '../../cli/signals.js';
import { settingsPath } from '../../config/load.js';
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

/** Seconds added to shutdownSeconds: by then the scheduler itself has abandoned what is in flight. */
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
    const load = () => membersOf({ ...context, sources: { ...sources, flags: given } });
    const path = settingsPath(sources);
    const watched: Watched = { path, isTerminal: process.stdin.isTTY === true, content: contentOf(path) };
    const { members, isList } = await load();
    const [first] = members;
    const seconds = Math.max(...members.map((one) => one.config.shutdownSeconds));
    const ending = ['SIGINT', 'SIGTERM', ...(watched.isTerminal ? (['SIGHUP'] as const) : [])] as const;
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
      let serving = { members, isList };
      /** The settings to go back to, until the new ones have started. */
      let before: typeof serving | undefined;
      let listening = 0;
      for (let isFirst = true; ; isFirst = false) {
        // Any free port stays the one that it was.
        const isAnyPort = serving.members[0].config.serve.port === 0;
        const port = isAnyPort && !isFirst ? listening : undefined;
        const ended = await untilChanged(serving, load, watched, (changed) =>
          serveAll({ ...serving, port }, { ...signals, changed }, (url) => {
            before = undefined;
            listening = Number(new URL(url).port);
            const { config, log } = serving.members[0];
            const names = serving.members.map((one) => one.config.organization);
            const told = { url, pid: process.pid, ...(serving.isList && { organizations: names }) };
            if (isFirst)
              answer(context, told, () => servingText(url, config.serve.host, needsLogin(config.serve)));
            else log.info({ url }, 'serving with the new settings');
          }),
        ).catch((error: unknown) => {
          // Only a start shows that a port is taken. The jobs of the night must not depend on it.
          if (!before) throw error;
          const [{ log }] = before.members;
          log.error({ err: error }, `the new settings are not taken over: ${wrongIn(error)}`);
          return undefined;
        });
        if (!ended && before) {
          [serving, before] = [before, undefined];
          continue;
        }
        // A job that does not stop would keep the process alive; what is committed survives the exit.
        if (ended?.finished === false) process.exit(ExitCode.failed);
        if (signals.stop.aborted || !ended?.next) return ExitCode.done;
        [serving, before] = [ended.next, serving];
      }
    };
    return interruptible(first, seconds + grace, work, ending);
  },
});

type Member = CommandSetup<ServeAccess>;
type Members = Awaited<ReturnType<typeof membersOf>>;

/**
 * Serves until it ends, or until the settings have changed and no job runs. Settings that are wrong are refused as a whole: the
 * log says why, and those that are in use stay.
 */
async function untilChanged(
  { members: [{ log }] }: Members,
  load: () => Promise<Members>,
  watched: Watched,
  work: (changed: AbortSignal) => Promise<{ finished: boolean }>,
): Promise<{ readonly finished: boolean; readonly next: Members | undefined }> {
  const changed = new AbortController();
  let next: Members | undefined;
  const stopWatching = watchSettings(watched, (why) => {
    load().then(
      (loaded) => {
        next = loaded;
        log.info(`${why}: the settings are taken over as soon as no job runs`);
        changed.abort();
      },
      (error: unknown) => {
        log.error({ err: error }, `${why}, but the settings are not taken over: ${wrongIn(error)}`);
      },
    );
  });
  try {
    const { finished } = await work(changed.signal);
    return { finished, next };
  } finally {
    stopWatching();
  }
}

function wrongIn(error: unknown): string {
  return problemsOf(error).join('; ') || messageOf(error);
}

interface Watched {
  readonly path: string | undefined;
  readonly isTerminal: boolean;
  /** What the settings were last read from. It outlasts a restart of the server: what is written meanwhile is a change. */
  content: string | undefined;
}

/** How often the settings file is checked. Its folder may be a mount that reports no changes. */
const everyMs = 5_000;

/**
 * Calls `changed` when the settings file has other content, and on SIGHUP, until the returned function is called. On a terminal
 * SIGHUP means that its window was closed, and stays with those who end the process.
 */
function watchSettings(
  watched: Watched,
  changed: (why: 'SIGHUP' | 'the settings file has changed') => void,
): () => void {
  const { path, isTerminal } = watched;
  let last = watched.content;
  const onSignal = () => {
    watched.content = contentOf(path);
    changed('SIGHUP');
  };
  const look = () => {
    const now = contentOf(path);
    // A file that is being written is short for a moment: without its last lines it may be valid, and say something else.
    const isWhole = now === last;
    last = now;
    if (!isWhole || now === watched.content || now === undefined) return;
    watched.content = now;
    changed('the settings file has changed');
  };
  if (!isTerminal) process.on('SIGHUP', onSignal);
  const looking = path === undefined ? undefined : setInterval(look, everyMs).unref();
  return () => {
    process.off('SIGHUP', onSignal);
    clearInterval(looking);
  };
}

function contentOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

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

/** What is wrong at the top of the file is wrong for each: it is reported once. */
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
