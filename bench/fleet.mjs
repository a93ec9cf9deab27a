// Thirty organizations in one settings file, for seven nights, two at a time: 27 small ones, one with many messages (--sizes, by
// default 100,000), one whose key is refused and one whose API is down. Seconds and memory of each night, and who ended how.
// Takes minutes, so it runs only when it is named. BENCH_CGROUP as in large.mjs.
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDataDir, startSandbox, worker } from './processes.mjs';

const nights = 7;
const small = { topics: 30, people: 60, companies: 8, messages: 600 };

/** @param {{ sizes: number[] }} options */
export async function benchFleet({ sizes: [messages = 100_000] }) {
  // Each organization has a key of its own: two that would use one are refused.
  const towns = [];
  for (let no = 1; no <= 27; no += 1) towns.push(await startSandbox(small, { apiKey: `svc_town_${no}` }));
  const city = await startSandbox({ topics: 600, people: 2_000, companies: 200, messages });
  const data = makeDataDir();
  const key = (/** @type {string} */ name, /** @type {string} */ text) => {
    const path = join(data.dir, `${name}.key`);
    writeFileSync(path, text);
    return path;
  };
  const of = (/** @type {{ env: Record<string, string> }} */ { env }, /** @type {string} */ name) => ({
    name,
    api: { baseUrl: env.SIGNALHOUSE_BASE_URL, keyFile: key(name, String(env.SIGNALHOUSE_API_KEY)) },
  });
  const settings = {
    dataDir: join(data.dir, 'data'),
    rateLimit: { requests: 1_000_000, windowMs: 1_000 },
    organizations: [
      of(city, 'city'),
      { ...of(city, 'refused'), api: { ...of(city, 'refused').api, keyFile: key('refused', 'svc_nobody') } },
      {
        name: 'down',
        api: { baseUrl: 'http://127.0.0.1:9/v1', keyFile: key('down', 'svc_any'), outageMinutes: 0.1 },
      },
      ...towns.map((one, at) => of(one, `town-${at + 1}`)),
    ],
  };
  const file = join(data.dir, 'settings.yaml');
  writeFileSync(file, JSON.stringify(settings));
  const rows = [];
  try {
    for (let night = 1; night <= nights; night += 1) {
      if (night > 1)
        for (const sandbox of [...towns, city]) await sandbox.post('/__sandbox/advance', { days: 1 });
      const { report, seconds, cpuSeconds, peakRssMB, code } = await worker(
        ['sync', '--all', '--config', file],
        { SIGNALHOUSE_LOG_LEVEL: 'silent', SIGNALHOUSE_DATA_DIR: join(data.dir, 'data') },
        data.dir,
        process.env.BENCH_CGROUP,
        [0, 1, 3, 4, 5],
      );
      const all = /** @type {{ organization: string, error?: unknown }[]} */ (report);
      const published = settings.organizations.filter(({ name }) => {
        const at =
          statSync(join(data.dir, 'data', name, 'signals.duckdb'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
        return Date.now() - at < seconds * 1_000 + 1_000;
      });
      const row = { night, seconds, cpuSeconds, peakRssMB, exitCode: code, told: all.length };
      rows.push({ ...row, published: published.length });
      console.error(`night ${night}: ${Math.round(seconds)} s, ${published.length} published`);
    }
    return rows;
  } finally {
    await Promise.all([...towns, city].map((sandbox) => sandbox.stop()));
    data.remove();
  }
}
