import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyDemoFolder } from '../../../src/commands/demo.js';
import { testFolder } from '../../support/test-folders.js';

it("the demo's folder is never one that holds what no demo has made", () => {
  const parent = testFolder();
  writeFileSync(join(parent, 'signals.duckdb'), 'precious');
  expect(() => emptyDemoFolder(parent)).toThrow('a directory of its own');
  expect(readFileSync(join(parent, 'signals.duckdb'), 'utf8')).toBe('precious');
});
