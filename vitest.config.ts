import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const root = fileURLToPath(new URL('./', import.meta.url));

const afterFile = ['test/support/after-file.ts'];

/** A folder for the run; and dist, which integration tests run as it is shipped, is what src says. */
const globalSetup = ['test/support/built.ts', 'test/support/run-folder.ts'];

/**
 * What takes minutes starts first: vitest starts the largest files first where it has not seen how long they take, and a
 * small file that starts last leaves the other workers idle.
 */
const longest = [
  'lake/faults',
  'lake/privacy',
  'lake/kills',
  'others/long-texts',
  'others/kills',
  'others/cookbook',
  'others/alerts',
  'simulation/plans',
  'simulation/simulation',
  'integration/serve',
  'integration/forget',
  'integration/large-items',
].map((name) => `/test/${name}.test.ts`);

/** What never waits gains nothing from more workers than cores, and each takes seconds to load the program. */
const busyWorkers = Math.min(4, availableParallelism());

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((end) => moduleId.endsWith(end));
      return place === -1 ? longest.length : place;
    };
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/name-skipped.ts'],
    // Some tests wait for programs that they start: two more than the cores of the smallest machine that runs them.
    maxWorkers: 4,
    // Only what hangs fails by these, on a busy machine as well.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Read at run time, so no import tells npm run test:changed who depends on it.
    forceRerunTriggers: [
      ...configDefaults.forceRerunTriggers,
      `${root}sql/**`,
      `${root}config/**`,
      `${root}src/**/*.yaml`,
    ],
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    // A test that asserts nothing cannot fail. The default of one second for expect.poll is too short on a busy machine.
    expect: { requireAssertions: true, poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          maxWorkers: busyWorkers,
          // The files of a worker share what they import: loading it for each file took as long as the tests.
          isolate: false,
          globalSetup: ['test/support/run-folder.ts'],
          setupFiles: afterFile,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          // The plans of the simulation take a minute each.
          include: ['test/integration/**/*.test.ts', 'test/simulation/plans.test.ts'],
          // After the unit tests, which have another number of workers.
          sequence: { groupOrder: 1 },
          isolate: false,
          globalSetup,
          setupFiles: afterFile,
          // dist is loaded by Node alone.
          server: { deps: { external: [/\/dist\//] } },
        },
      },
      {
        // Nights in virtual time, from seeds: each is a process of its own.
        extends: true,
        test: {
          name: 'simulation',
          include: ['test/simulation/simulation.test.ts'],
          globalSetup,
          maxConcurrency: 2,
          maxWorkers: busyWorkers,
          testTimeout: 900_000,
        },
      },
      {
        // What other people's programs do with what we write, kills of a real process, and memory: before a release.
        extends: true,
        test: {
          name: 'others',
          include: ['test/others/**/*.test.ts'],
          globalSetup,
          setupFiles: afterFile,
          testTimeout: 900_000,
        },
      },
      {
        // Publishing to a lake, with a real object store and Iceberg catalog (scripts/lake-services.sh).
        extends: true,
        test: {
          name: 'lake',
          include: ['test/lake/*.test.ts'],
          globalSetup: [...globalSetup, 'test/lake/support/services.ts'],
          setupFiles: afterFile,
          // A publication is a process that uses both cores, and tests compare how several of them meet.
          maxWorkers: 2,
        },
      },
      {
        // Spark and Trino read the lake: too large to install for every run. npm run test:lake-engines
        extends: true,
        test: {
          name: 'lake-engines',
          include: ['test/lake/engines/*.test.ts'],
          globalSetup: [...globalSetup, 'test/lake/support/services.ts'],
          setupFiles: afterFile,
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        // Properties of which npm test runs only a few cases.
        extends: true,
        test: {
          name: 'properties',
          include: [
            'test/unit/api/json-text.test.ts',
            'test/unit/api/paging.test.ts',
            'test/unit/sandbox/world/counts.test.ts',
            'test/unit/serve/schedule/any-week.test.ts',
            'test/unit/serve/schedule/turns.test.ts',
            'test/unit/sheet/corpus.test.ts',
            'test/unit/sheet/read.test.ts',
            'test/unit/sync/conversations-property.test.ts',
            'test/unit/sync/due.test.ts',
            'test/unit/sync/explained.test.ts',
            'test/unit/sync/freshness.test.ts',
            'test/unit/sync/scan-property.test.ts',
            'test/unit/sync/staging/listed.test.ts',
            'test/unit/load/known.test.ts',
            'test/unit/load/loading.test.ts',
          ],
          globalSetup: ['test/support/run-folder.ts'],
          setupFiles: afterFile,
          provide: { isThorough: true },
          testTimeout: 1_800_000,
        },
      },
    ],
  },
});
