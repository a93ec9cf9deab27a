import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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
  it('is made, and made empty again for the next demo', () => {
    const folder = join(parent, 'data', 'demo');
    emptyDemoFolder(folder);
    mkdirSync(join(folder, 'tmp'));
    writeFileSync(join(folder, 'signals.duckdb'), 'old');
    emptyDemoFolder(folder);
    expect(existsSync(join(folder, 'signals.duckdb'))).toBe(false);
    expect(readdirSync(folder)).toEqual(['.signalhouse-demo']);
  });

  it('is never one that holds what no demo has made', () => {
    writeFileSync(join(parent, 'signals.duckdb'), 'precious');
    expect(() => emptyDemoFolder(parent)).toThrow('a directory of its own');
    expect(readFileSync(join(parent, 'signals.duckdb'), 'utf8')).toBe('precious');
  });
});
