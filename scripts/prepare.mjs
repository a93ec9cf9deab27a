// npm runs this after every install. A checkout gets its dist; an install without dev dependencies
// (an image that brings its own dist) has no compiler, and nothing to compile.
import { existsSync } from 'node:fs';

const needed = ['node_modules/@typescript/native/package.json', 'src/main.ts'];

if (needed.every((path) => existsSync(new URL(`../${path}`, import.meta.url)))) {
  await import('./build.mjs');
}
