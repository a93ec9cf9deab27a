import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The memory of this machine in bytes, or of its container (cgroup v2 or v1) if that has less. */
export function machineMemory(): number {
  // libuv reads the cgroup; without a limit it returns 0 or a number beyond every machine.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/**
 * Sets how V8's heap grows, for a process that reads large answers and sheets and keeps none. Call it once, before anything
 * is loaded: what has grown does not shrink.
 *
 * - The heap may grow by half, instead of doubling, before what is old is collected: V8 knows nothing of what DuckDB takes
 *   beside it. By a quarter took a fifth of the processor time of a pull of 200,000 messages and no less memory.
 * - The space for new objects stays at 1 MB, which V8 would let grow to 32 MB (Node 24: 192 MB): an import of 20,000 rows
 *   takes 230 MB instead of 320. With 32 MB, a pull of 50,000 messages takes 90 to 150 MB more, for the same processor time
 *   (25.3 and 29.2 s instead of 26.1 and 29.0 s).
 */
export function shapeHeap(): void {
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Garbage is collected when this process takes more than this share of the machine's memory. */
const tightShare = 0.65;

let collectNow: (() => void) | undefined;

/**
 * Collects JavaScript's garbage when this process takes more than that share of the memory. V8 waits until its own limit,
 * half of a container's memory, is near, and knows nothing of what DuckDB takes. Takes about 100 ms when memory is tight;
 * otherwise 0.4 ms while DuckDB works.
 */
export function collectGarbageWhenTight(share: number = tightShare): void {
  if (process.memoryUsage.rss() < machineMemory() * share) return;
  if (!collectNow) {
    setFlagsFromString('--expose-gc');
    collectNow = runInNewContext('gc') as () => void;
  }
  collectNow();
}
