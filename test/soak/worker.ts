import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.js';
import { settled } from '../../src/push/change.js';
import { type NewChange, Queue } from '../../src/push/queue.js';
import { openWarehouse } from '../../src/warehouse/store/open.js';
import type { Pulling } from '../support/pulling.js';
import type { Running } from '../support/signalhouse.js';

/** `serve` as a process that may be killed, and started again by whoever watches over it. */
export class Worker {
  #running: Running | undefined;
  #url: string | undefined;
  /** How each of its lives ended. */
  readonly ends: string[] = [];

  constructor(readonly pulling: Pulling) {}

  async start(): Promise<void> {
    const running = this.pulling.start(['serve', '--port', '0', '--json']);
    this.#running = running;
    void running.ended.then(({ code, signal, stderr }) => {
      this.ends.push(signal ?? `exit ${code}: ${stderr.slice(-400)}`);
    });
    let printed = '';
    this.#url = await new Promise<string>((resolve, reject) => {
      running.child.stdout?.on('data', (text: string) => {
        printed += text;
        if (printed.includes('}')) resolve((JSON.parse(printed) as { url: string }).url);
      });
      void running.ended.then(({ stderr }) => reject(new Error(`serve ended: ${stderr}`)));
    });
  }

  get url(): string {
    if (this.#url === undefined) throw new Error('it does not run');
    return this.#url;
  }

  /** Ends it with a signal, and waits until it is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#running?.child.kill(signal);
    await this.#running?.ended;
    this.#url = undefined;
  }

  /** Megabytes that it takes of the machine's memory; null while nobody answers. */
  async memory(): Promise<number | null> {
    const text = await fetch(`${this.url}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    const bytes = /^process_resident_memory_bytes (\S+)/m.exec(text)?.[1];
    return bytes === undefined ? null : Number(bytes) / 1e6;
  }
}

/** Puts wishes into the queue beside the worker, as an import does: it waits for the warehouse. Says how many. */
export async function queueBeside(dataDir: string, wishes: readonly NewChange[]): Promise<number> {
  const warehouse = await openWarehouse({ dataDir, memoryLimit: '256MB', threads: 1, wait: {} });
  try {
    const queue = await Queue.open(warehouse, { dataDir }, systemClock);
    // What is open already is not wished for again.
    const open = queue.all().filter(({ status }) => !settled.has(status));
    const fresh = wishes.filter(
      (wish) => !open.some((it) => it.entityType === wish.entityType && it.entityId === wish.entityId),
    );
    queue.add(fresh);
    await queue.flush();
    return fresh.length;
  } finally {
    await warehouse.close();
  }
}

/** Does `work` again and again until `over`, with a pause after each. */
export async function keepOn(
  over: AbortSignal,
  pauseMs: () => number,
  work: () => Promise<unknown> | unknown,
): Promise<void> {
  while (!over.aborted) {
    await delay(pauseMs(), undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) await work();
  }
}
