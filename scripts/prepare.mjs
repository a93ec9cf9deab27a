// npm runs this after every install. A checkout gets its dist; an install without dev dependencies
// (an image that brings its own dist) has no compiler, and nothing to compile.
import { existsSync } from 'node:fs';

const here = (path) => existsSync(new URL(`../${path}`, import.meta.url));

if (here('node_modules/@typescript/native/package.json') && here('src/main.ts')) {
  await import('./build.mjs');
}
