// Loaded before the program (`node --import`): kills its process with SIGKILL at one point, which KILL_AT names as JSON
// (see killed-at.ts). Nothing in the program knows of it: calls that it makes anyway are watched from outside.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread, Worker } from 'node:worker_threads';

/** @type {import('./killed-at.js').Moment} */
const { call, match, nth = 1, when, ms = 0, foldsLog } = JSON.parse(process.env.KILL_AT ?? '{}');
const pattern = new RegExp(match ?? '', 's');
let met = 0;
const cells = () => new Int32Array(new SharedArrayBuffer(4));
const bell = cells();

/** Nothing of this thread happens after this line, while threads of DuckDB's go on until the kill. */
function hold() {
  Atomics.wait(cells(), 0, 0);
}

function die() {
  process.kill(process.pid, 'SIGKILL');
  hold();
}

/**
 * Runs `work` with the kill before it, in it or after it, if it is the one that was asked for.
 * @template T
 * @param {string} subject
 * @param {() => T} work
 */
function watch(subject, work) {
  if (!pattern.test(subject)) return work();
  met += 1;
  if (met !== nth) return work();
  if (when === 'before') die();
  if (when === 'within') {
    Atomics.store(bell, 0, 1);
    Atomics.notify(bell, 0);
  }
  const end = when === 'within' ? hold : die;
  const result = work();
  if (result instanceof Promise) return /** @type {T} */ (result.finally(end));
  end();
  return result;
}

/** This thread may be busy inside the call, or waiting for it: another one has to kill. */
function killer() {
  const code = `
    const { parentPort, workerData: { bell, ms } } = require('node:worker_threads');
    parentPort.postMessage('ready');
    Atomics.wait(bell, 0, 0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    process.kill(process.pid, 'SIGKILL');`;
  const worker = new Worker(code, { eval: true, execArgv: [], workerData: { bell, ms } });
  worker.unref();
  return new Promise((resolve) => worker.once('message', resolve));
}

/** Watches a function of the file system; where it takes a handle, by the path that it was opened with. */
function watchFiles() {
  const files = /** @type {Record<string, (...given: any[]) => any>} */ (/** @type {unknown} */ (fs));
  const paths = new Map();
  const { openSync, [call]: original } = files;
  if (!openSync || !original) throw new Error(`node:fs has no ${call}`);
  files.openSync = (path, ...rest) => {
    const handle = openSync(path, ...rest);
    paths.set(handle, String(path));
    return handle;
  };
  files[call] = (subject, ...rest) =>
    watch(paths.get(subject) ?? [subject, ...rest].join(' -> '), () => original(subject, ...rest));
  syncBuiltinESMExports();
}

async function watchDatabase() {
  const { DuckDBConnection, DuckDBInstance } = await import('@duckdb/node-api');
  const { run } = DuckDBConnection.prototype;
  const { closeSync } = DuckDBInstance.prototype;
  if (call === 'run') {
    DuckDBConnection.prototype.run = function (sql, ...rest) {
      return watch(String(sql).trim(), () => run.call(this, sql, ...rest));
    };
  }
  if (call === 'close') {
    DuckDBInstance.prototype.closeSync = function () {
      return watch('', () => closeSync.call(this));
    };
  }
  // Small organizations never fill the log: so the program is told that it is large.
  if (foldsLog) {
    const { statSync } = fs;
    const told = (/** @type {any} */ path, /** @type {any} */ options) => {
      const stat = /** @type {any} */ (statSync(path, options));
      if (stat && String(path).endsWith('worker.duckdb.wal') && stat.size > 0) stat.size = 1e9;
      return stat;
    };
    Object.assign(fs, { statSync: told });
    syncBuiltinESMExports();
  }
}

if (isMainThread && call) {
  if (when === 'within') await killer();
  if (call.endsWith('Sync')) watchFiles();
  else await watchDatabase();
}
