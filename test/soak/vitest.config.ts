import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** `npm run soak`: apart from `npm test`, since it takes as long as it is told to. */
export default defineConfig({
  root: fileURLToPath(new URL('../../', import.meta.url)),
  test: {
    include: ['test/soak/**/*.test.ts'],
    globalSetup: ['test/support/built.ts'],
    testTimeout: 0,
    hookTimeout: 300_000,
    maxWorkers: 1,
    fileParallelism: false,
    expect: { requireAssertions: true },
    disableConsoleIntercept: true,
  },
});
