// dist is made from nothing each time: a module that was renamed or deleted in src must not live on there.
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const compiler = fileURLToPath(new URL('../node_modules/@typescript/native/bin/tsc', import.meta.url));

rmSync(new URL('../dist/', import.meta.url), { recursive: true, force: true });
try {
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
} catch {
  // The compiler has already said what is wrong; a stack trace of this script would only bury it.
  process.exit(1);
}
chmodSync(new URL('../dist/main.js', import.meta.url), 0o755);
