import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Integration tests start programs of their own, and wait for some of them: one more than there are cores.
    maxWorkers: 3,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    // A test that asserts nothing cannot fail.
    expect: { requireAssertions: true },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // The files of a worker share what they import: loading it for each file took as long as the tests.
          isolate: false,
          globalSetup: ['test/support/run-folder.ts'],
          setupFiles: ['test/support/after-file.ts'],
          // Only what hangs fails by it, on a machine that is busy as well.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/built.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Like integration, and too long for every `npm test`: each commit point, full disks, drift, whole nights.
        extends: true,
        test: {
          name: 'thorough',
          include: ['test/thorough/**/*.test.ts'],
          globalSetup: ['test/support/built.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
