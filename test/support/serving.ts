import type { RunRecord } from '../../src/serve/schedule/record.js';
import type { Pulling } from './pulling.js';
import { printed, type Running } from './signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/serve/serve.js'));

export interface Served {
  readonly running: Running;
  readonly url: string;
}

/** Starts `serve` on a free port. */
export async function serve(
  pulling: Pick<Pulling, 'start'>,
  args: readonly string[] = [],
  env: Record<string, string> = {},
) {
  const running = pulling.start(['serve', '--port', '0', '--json', ...args], {
    SIGNALHOUSE_LOG_LEVEL: 'info',
    ...env,
  });
  const { url } = JSON.parse(await printed(running, '}')) as { url: string };
  return { running, url } satisfies Served;
}

export interface StatusJson {
  readonly schedule: {
    history: RunRecord[];
    running: { job: string; outage?: { until: string } | null } | null;
  };
  readonly facts: { rows: Record<string, number>; queue: Record<string, number> } | null;
}
export const statusOf = async ({ url }: Served) =>
  (await (await fetch(`${url}/status.json`)).json()) as StatusJson;
/** The text of a page. */
export const read = async ({ url }: Served, path: string) => (await fetch(url + path)).text();

/** Asks again and again until the answer is enough. */
export async function until<T>(ask: () => Promise<T>, enough: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask();
    if (enough(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Ends it as an operator would. */
export async function terminate({ running }: Served) {
  running.child.kill('SIGTERM');
  return running.ended;
}
