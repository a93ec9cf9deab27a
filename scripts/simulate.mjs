// npm run simulate -- --seed 7 --nights 365: years of nights in virtual time (test/simulation), from one seed.
// The simulation becomes one module of Node beside the program as it is shipped: what it replaces in the platform is then
// replaced for both, and nothing else loads modules in between.
import { rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../', import.meta.url));
// Of its own: several may run at once.
const dir = join(root, '.simulation', String(process.pid));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const bundle = await rolldown({
  input: join(root, 'test/simulation/main.ts'),
  platform: 'node',
  plugins: [
    {
      name: 'dist-for-src',
      resolveId(source, importer) {
        if (!source.startsWith('.') || importer === undefined) return null;
        const path = resolve(dirname(importer), source);
        if (!path.startsWith(join(root, 'src/'))) return null;
        return {
          id: pathToFileURL(path.replace(join(root, 'src/'), join(root, 'dist/'))).href,
          external: true,
        };
      },
    },
  ],
  external: /^[a-z@]/,
});
await bundle.write({ dir, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' });
await import(pathToFileURL(join(dir, 'main.mjs')).href);
