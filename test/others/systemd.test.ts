import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { testFolder } from '../support/test-folders.js';

const project = fileURLToPath(new URL('../../', import.meta.url));
const folder = fileURLToPath(new URL('../../deploy/systemd/', import.meta.url));
const services = ['signalhouse-sync.service', 'signalhouse-serve.service', 'signalhouse@acme.service'];
const timers = ['signalhouse-sync.timer', 'signalhouse@acme.timer'];
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

/** The root of a machine on which the units are installed as docs/operations.md says. */
function machine(): string {
  const root = testFolder();
  const units = join(root, 'etc/systemd/system');
  mkdirSync(units, { recursive: true });
  for (const name of readdirSync(folder).filter((one) => /^signalhouse[-@]/.test(one)))
    cpSync(join(folder, name), join(units, name), { recursive: true });
  const program = join(root, 'usr/local/bin/signalhouse');
  mkdirSync(join(program, '..'), { recursive: true });
  writeFileSync(program, '#!/bin/sh\n');
  chmodSync(program, 0o755);
  // The targets that the units name.
  cpSync('/usr/lib/systemd/system', join(root, 'usr/lib/systemd/system'), { recursive: true });
  return root;
}

function analyze(root: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['--no-pager', `--root=${root}`, ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** Runs a command that must succeed, and returns what it printed. */
function succeed(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return stdout;
}

it('the archive that docs/operations.md installs has what the lock file says, and runs by its link', () => {
  const [packed, installed] = [testFolder(), testFolder()];
  // A copy without sources, which npm pack would build while other tests run the program.
  const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { files: string[] };
  for (const name of ['package.json', 'package-lock.json', 'README.md', ...manifest.files])
    if (existsSync(join(project, name))) cpSync(join(project, name), join(packed, name), { recursive: true });
  const archive = succeed('npm', ['pack', '--silent'], packed).trim();
  succeed('tar', ['-xzf', archive, '-C', installed, '--strip-components', '1'], packed);
  succeed('npm', ['ci', '--omit=dev', '--prefix', installed], packed);

  type Lock = { packages: Record<string, { version?: string; dev?: boolean }> };
  const versionIn = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as Lock;
  const hidden = readFileSync(join(installed, 'node_modules/.package-lock.json'), 'utf8');
  const paths = Object.keys((JSON.parse(hidden) as Lock).packages);
  expect(paths.length).toBeGreaterThan(100);
  expect(paths.filter((path) => lock.packages[path]?.dev)).toEqual([]);
  expect(paths.map((path) => [path, versionIn(join(installed, path, 'package.json'))])).toEqual(
    paths.map((path) => [path, lock.packages[path]?.version]),
  );

  const link = join(packed, 'signalhouse');
  symlinkSync(join(installed, 'dist/main.js'), link);
  expect(succeed(link, ['--version'], packed)).toContain(versionIn(join(project, 'package.json')));
});

describe('the systemd units', () => {
  beforeEach(({ skip }) => skip(!hasSystemd, 'no systemd-analyze here: install the package systemd'));

  it('are correct', () => {
    const root = machine();
    const result = analyze(root, 'verify', ...services, ...timers);
    expect(result).toEqual({ status: 0, stdout: '', stderr: '' });
    // The same check complains about a wrong line.
    const timer = join(root, 'etc/systemd/system/signalhouse-sync.timer');
    writeFileSync(timer, readFileSync(timer, 'utf8').replace('03:00:00', '25:00:00'));
    expect(analyze(root, 'verify', 'signalhouse-sync.timer').stderr).toContain('Failed to parse calendar');
  });

  it.each(services)('%s may do little besides its work: exposure at most 1.5 of 10', (name) => {
    const { status, stdout } = analyze(machine(), 'security', '--offline=true', '--threshold=15', name);
    expect(stdout).toContain(`Overall exposure level for ${name}`);
    expect(status, stdout).toBe(0);
  });
});
