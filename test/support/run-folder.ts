import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder of this run of the tests, removed with everything in it when the run ends. */
    runFolder: string;
  }
}

export default function runFolder(project: TestProject): () => void {
  const path = mkdtempSync(join(tmpdir(), 'signalhouse-tests-'));
  project.provide('runFolder', path);
  return () => rmSync(path, { recursive: true, force: true });
}
