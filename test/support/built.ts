import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Integration tests run the program as it is shipped, so dist has to be what src says. */
export default function built(): void {
  if (isFresh()) return;
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root, stdio: 'inherit' });
}

function isFresh(): boolean {
  const main = join(root, 'dist/main.js');
  const inputs = ['src', 'sql', 'scripts', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
  return (
    existsSync(main) && Math.max(...inputs.map((path) => newest(join(root, path)))) < statSync(main).mtimeMs
  );
}

/** Folders count as well: deleting a module changes only its folder. */
function newest(path: string): number {
  const own = statSync(path);
  if (!own.isDirectory()) return own.mtimeMs;
  return Math.max(own.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}
