// HEALTHCHECK of the image: exit 0 when `serve` answers, or when something else runs in this container. The port is that
// of the command line (--port), else HEALTH_PORT, else 8080. If serve.port is set in a file, set HEALTH_PORT as well.
import { readFileSync } from 'node:fs';

const words = readFileSync('/proc/1/cmdline', 'utf8').split('\0');
if (words.includes('serve') && !words.includes('--once')) {
  const flag = words.findIndex((word) => /^--port(=|$)/.test(word));
  const given = flag < 0 ? undefined : (words[flag]?.split('=')[1] ?? words[flag + 1]);
  const port = given ?? process.env.HEALTH_PORT ?? '8080';
  try {
    const { ok, status } = await fetch(`http://127.0.0.1:${port}/healthz`, {
      signal: AbortSignal.timeout(4_000),
    });
    if (!ok) throw new Error(`it answered ${status}`);
  } catch (error) {
    process.stderr.write(`/healthz on port ${port}: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
