// How much memory long texts need: the same messages are loaded and published with one memory limit of DuckDB
// after the other, and no more than that.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDataDir } from './processes.mjs';

/** How many messages, and the bytes of each. */
const cases = [
  [60_000, 300],
  [2_000, 30_000],
  [100, 1_000_000],
  [2_000, 108_000],
  [20, 15_000_000],
];
const limitsMB = [128, 256, 512, 1_000];

/** How the process says that the limit is too low. */
const tooLittle = 3;

export async function benchMemory() {
  /** @type {Record<string, number>} */
  const figures = {};
  for (const [count = 0, bytes = 0] of cases) {
    const name = `${count}x${bytes}B`;
    for (const limitMB of limitsMB) {
      const peak = await loadInProcess([limitMB, count, bytes]);
      if (peak === null) continue;
      figures[`${name}_limitMB`] = limitMB;
      figures[`${name}_peakRssMB`] = peak;
      break;
    }
  }
  return figures;
}

/** The peak memory of a process that loads them, in megabytes; null when the limit is too low. @param {number[]} args */
function loadInProcess(args) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) =>
    child.once('close', (code) => {
      if (code === 0) resolve(Number(text));
      else if (code === tooLittle) resolve(null);
      else reject(new Error(`loading with a limit of ${args[0]} MB ended with ${code}`));
    }),
  );
}

/** @param {number} limitMB @param {number} count @param {number} bytes */
async function load(limitMB, count, bytes) {
  const dist = new URL('../dist/', import.meta.url);
  const { openWarehouse } = await import(new URL('warehouse/store/open.js', dist).href);
  const { batchOf } = await import(new URL('warehouse/load/batch.js', dist).href);
  const data = makeDataDir();
  try {
    const limits = { memoryLimit: `${limitMB}MB`, mostMemory: limitMB * 1e6, threads: 2 };
    const warehouse = await openWarehouse({ dataDir: join(data.dir, 'data'), ...limits });
    const perBatch = Math.max(1, Math.min(4_000, Math.floor(5e6 / bytes)));
    for (let from = 0; from < count; from += perBatch) {
      const documents = [];
      for (let n = from; n < Math.min(count, from + perBatch); n += 1) documents.push(message(n, bytes));
      await warehouse.load(batchOf('20260101T000000000Z-0001', { documents }));
    }
    await warehouse.publish();
    await warehouse.close();
  } catch (error) {
    const { outOfMemory } = await import(new URL('warehouse/store/faults.js', dist).href);
    if (!outOfMemory(error)) throw error;
    process.exitCode = tooLittle;
  } finally {
    rmSync(data.dir, { recursive: true, force: true });
  }
  process.stdout.write(String(Math.round(process.resourceUsage().maxRSS / 1024)));
}

/** A message whose text does not compress. @param {number} n @param {number} bytes */
function message(n, bytes) {
  const fetchedAt = new Date(Date.UTC(2026, 0, 1) + n);
  const content = randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64');
  const body = JSON.stringify({ id: `m${n}`, content, createdAt: fetchedAt.toISOString() });
  return { endpoint: 'messages', id: `m${n}`, parentId: 'g1', body, fetchedAt, answerNo: n + 1 };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [limitMB = 0, count = 0, bytes = 0] = process.argv.slice(2).map(Number);
  await load(limitMB, count, bytes);
}
