import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a simulation in a process of its own: it replaces the clocks of the one that it runs in. */
export function simulate(args: readonly string[]): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, [`${root}scripts/simulate.mjs`, ...args], { stdio: 'pipe' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, printed })));
}

/** The plans in folders of test/simulation. */
export function plans(): { name: string; args: string[] }[] {
  return ['plans', 'seeds'].flatMap((folder) => {
    const path = `${root}test/simulation/${folder}`;
    return readdirSync(path).map((name) => ({ name, args: ['--plan', `${path}/${name}`] }));
  });
}
