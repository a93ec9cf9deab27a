import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyDemoFolder } from '../../../../src/cli/commands/demo.js';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'signalhouse-demo-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

describe("the demo's folder", () => {
  it('is never one that holds what no demo has made', () => {
    writeFileSync(join(parent, 'signals.duckdb'), 'precious');
    expect(() => emptyDemoFolder(parent)).toThrow('a directory of its own');
    expect(readFileSync(join(parent, 'signals.duckdb'), 'utf8')).toBe('precious');
  });
});
