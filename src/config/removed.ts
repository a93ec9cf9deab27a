import { isObject } from '../base/json.js';
import { resources } from '../contract/resources.js';
import { assign, valueAt } from './settings-file.js';

/** What became of a setting. */
interface Removal {
  /** Why there is none any more, where no setting replaces it. */
  readonly because?: string;
  /** The setting that replaces it. */
  readonly now?: string;
  /**
   * What the old value is for that setting: the same, unless this says otherwise. Undefined where it says nothing about it.
   * `beside` are the other values of its section.
   */
  readonly value?: (old: unknown, beside: Readonly<Record<string, unknown>>) => unknown;
}

const automatic: Removal = { because: 'the program chooses it itself' };

/** Settings, and whole sections, that earlier versions had. A list on the way stands for each of its entries. */
const removed: Readonly<Record<string, Removal>> = {
  'api.concurrency': automatic,
  'api.timeouts': automatic,
  'api.maxAnswerBytes': automatic,
  'api.retry': automatic,
  'api.paging.pageSize': automatic,
  'warehouse.queryMemoryLimit': automatic,
  'warehouse.threads': automatic,
  'warehouse.compression': automatic,
  'warehouse.compact': automatic,
  'sync.maxAgeDays': { now: 'sync.recheck', value: smallestFactor },
  'sync.maxItemBytes': automatic,
  'sync.scanAttempts': automatic,
  'sync.batch': automatic,
  'sync.publishEveryMinutes': automatic,
  'sync.shutdownSeconds': { now: 'shutdownSeconds' },
  'push.companiesPerRequest': automatic,
  'push.remoteFreshSeconds': automatic,
  'serve.shutdownSeconds': { now: 'shutdownSeconds' },
  'serve.jobs.jitterSeconds': { because: 'a job starts when it is due' },
  'serve.jobs.overlap': { because: 'a job that is due while another one runs waits' },
  'serve.retry': automatic,
  'serve.notify.remindHours': { because: 'what is still wrong is told again once a day' },
  'serve.notify.email.host': { now: 'serve.notify.email.server', value: mailServer },
  'serve.notify.email.port': { now: 'serve.notify.email.server', value: nothing },
  'serve.notify.email.security': { now: 'serve.notify.email.server', value: nothing },
  'serve.notify.email.user': { now: 'serve.notify.email.server', value: nothing },
  mcp: automatic,
  'retention.requestsDays': automatic,
  'retention.runsDays': { now: 'retention.recordsDays' },
  'retention.attemptsDays': { now: 'retention.recordsDays' },
  'retention.scansDays': automatic,
};

/**
 * Takes the settings that no longer exist out of `values`, so that a file of an earlier version still works. Returns a
 * warning for each, which names what replaces it. A replacement takes the old value, unless it is set itself.
 */
export function takeRemoved(values: Record<string, unknown>): string[] {
  const warnings: string[] = [];
  for (const [setting, { because, now, value = same }] of Object.entries(removed)) {
    for (const { at, old, beside } of taken(values, setting.split('.'), '')) {
      if (now === undefined) {
        const names = leavesOf(old, at);
        warnings.push(...names.map((name) => `${name} is no longer a setting: ${because}`));
      } else {
        warnings.push(`${at} is now ${now}`);
        const moved = value(old, beside);
        const path = now.split('.');
        if (moved !== undefined && valueAt(values, path) === undefined) assign(values, path, moved);
      }
    }
  }
  return warnings;
}

const same = (old: unknown) => old;

interface Taken {
  /** Its path with the numbers of list entries, e.g. `serve.jobs[0].jitterSeconds`. */
  readonly at: string;
  readonly old: unknown;
  readonly beside: Readonly<Record<string, unknown>>;
}

/** Removes what is at `path`. */
function taken(values: unknown, path: readonly string[], above: string): Taken[] {
  if (Array.isArray(values)) return values.flatMap((one, index) => taken(one, path, `${above}[${index}]`));
  const [name, ...rest] = path;
  if (!isObject(values) || name === undefined || !(name in values)) return [];
  const at = above === '' ? name : `${above}.${name}`;
  const inner = values[name];
  if (rest.length > 0) return taken(inner, rest, at);
  delete values[name];
  return [{ at, old: inner, beside: values }];
}

function leavesOf(value: unknown, path: string): string[] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${path}.${name}`));
}

/** The factor with which nothing gets older than the ages of an earlier version allowed. */
function smallestFactor(ages: unknown): number | undefined {
  if (!isObject(ages)) return undefined;
  const factors = resources.children.map(
    ({ name, maxAgeDays }) => Number(ages[name] ?? maxAgeDays) / maxAgeDays,
  );
  const smallest = Math.min(...factors);
  return smallest > 0 ? smallest : undefined;
}

function nothing(): undefined {
  return undefined;
}

/** The address of a mail server whose parts were settings of their own. */
function mailServer(
  host: unknown,
  { port = 587, security, user }: Readonly<Record<string, unknown>>,
): string {
  const login = user === undefined ? '' : `${encodeURIComponent(String(user))}@`;
  const name = String(host).includes(':') ? `[${host}]` : host;
  const query = security === 'none' ? '?ignoreTLS=true' : '';
  return `${security === 'tls' ? 'smtps' : 'smtp'}://${login}${name}:${port}${query}`;
}
