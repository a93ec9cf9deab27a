import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { testFolder } from '../support/test-folders.js';

const folder = fileURLToPath(new URL('../../deploy/systemd/', import.meta.url));
const services = ['signalhouse-sync.service', 'signalhouse-serve.service', 'signalhouse@acme.service'];
const timers = ['signalhouse-sync.timer', 'signalhouse@acme.timer'];
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
beforeEach(({ skip }) => skip(!hasSystemd, 'no systemd-analyze here: install the package systemd'));

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

describe('the systemd units', () => {
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
