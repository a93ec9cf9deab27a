// dist is made from nothing each time: a module that was renamed or deleted in src must not live on there.
// It is compiled beside its place and moved in whole, so that nobody ever runs half a build.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const compiler = join(root, 'node_modules/@typescript/native/bin/tsc');
const fresh = join(root, `.dist-${process.pid}`);
const dist = join(root, 'dist');

try {
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', fresh], {
    cwd: root,
    stdio: 'inherit',
  });
  // What a browser loads, and the sandbox's texts, are no TypeScript, and go along as they are.
  for (const assets of ['serve/page/assets', 'report/assets', 'sandbox/world/texts'])
    cpSync(join(root, 'src', assets), join(fresh, assets), { recursive: true });
  cpSync(join(root, 'src/prove/assumptions.yaml'), join(fresh, 'prove/assumptions.yaml'));
  chmodSync(join(fresh, 'main.js'), 0o755);
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
} catch (error) {
  // The compiler has already said what is wrong; a stack trace of this script would only bury it.
  if (!(error instanceof Error && 'status' in error)) throw error;
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
