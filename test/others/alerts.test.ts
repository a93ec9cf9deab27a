import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, it } from 'vitest';

/** The rules in deploy/prometheus, as Prometheus itself checks and tests them. */

const folder = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url));
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
beforeEach(({ skip }) => skip(!hasPromtool, 'no promtool here: install the package prometheus'));

it.each([
  ['check', 'rules', 'signalhouse.rules.yml'],
  ['check', 'config', 'prometheus.yml'],
  ['test', 'rules', 'signalhouse.test.yml'],
])('promtool %s %s %s', (...args) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    cwd: folder,
    encoding: 'utf8',
  });
  expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
});
