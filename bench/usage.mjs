// Loaded into a worker with --import: records the resources of the process when it ends, and with BENCH_STATEMENTS the
// time of each SQL statement and of the publication. Peak memory is the kernel's.
import { writeFileSync } from 'node:fs';

const path = process.env.BENCH_USAGE_FILE;
if (path) {
  const timed = process.env.BENCH_STATEMENTS ? await timeStatements() : {};
  process.on('exit', () => {
    writeFileSync(
      path,
      JSON.stringify({
        peakRssMB: process.resourceUsage().maxRSS / 1024,
        cpuSeconds: cpuSeconds(),
        ...timed,
      }),
    );
  });
}

function cpuSeconds() {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6;
}

/** @typedef {{seconds: number, calls: number}} Timed */

/** Wraps DuckDB's connection and the warehouse's publication; what is returned fills while the program runs. */
async function timeStatements() {
  const { DuckDBConnection } = await import('@duckdb/node-api');
  const { Warehouse } = await import(new URL('../dist/load/warehouse.js', import.meta.url).href);
  /** @type {Record<string, Timed>} */
  const statements = {};
  const published = { seconds: 0, cpuSeconds: 0 };
  /** @param {string} name @param {number} started */
  const add = (name, started) => {
    statements[name] ??= { seconds: 0, calls: 0 };
    statements[name].seconds += (performance.now() - started) / 1000;
    statements[name].calls += 1;
  };
  const { run, createAppender } = DuckDBConnection.prototype;
  /** @this {InstanceType<typeof DuckDBConnection>} @param {Parameters<typeof run>} args */
  DuckDBConnection.prototype.run = async function timedRun(...args) {
    const started = performance.now();
    try {
      return await run.apply(this, args);
    } finally {
      add(shape(args[0]), started);
    }
  };
  /** @this {InstanceType<typeof DuckDBConnection>} @param {Parameters<typeof createAppender>} args */
  DuckDBConnection.prototype.createAppender = async function timedAppender(...args) {
    const started = performance.now();
    const appender = await createAppender.apply(this, args);
    const close = appender.closeSync.bind(appender);
    appender.closeSync = () => {
      close();
      add(`append to ${args[0]}`, started);
    };
    return appender;
  };
  const { publish } = Warehouse.prototype;
  /** @this {InstanceType<typeof Warehouse>} @param {unknown[]} args */
  Warehouse.prototype.publish = async function timedPublish(...args) {
    const started = performance.now();
    const cpu = cpuSeconds();
    try {
      return await publish.apply(this, args);
    } finally {
      published.seconds += (performance.now() - started) / 1000;
      published.cpuSeconds += cpuSeconds() - cpu;
    }
  };
  return { statements, published };
}

/** The beginning of a statement, without what differs from one call to the next. @param {string} sql */
function shape(sql) {
  return sql
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/'[^']*'/g, '?')
    .replaceAll(/\b\d[\d_.]*\b/g, '?')
    .replaceAll(/\?(?:, \?)+/g, '?')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 150);
}
