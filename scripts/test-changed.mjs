// Runs the unit and integration tests that your changes can affect: npm run test:changed [commit or branch].
// Changes are what differs from the branch point with main, committed or not.
import { spawnSync } from 'node:child_process';
import { argv, execPath, exit } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** @param {string[]} args */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

const [base = git('merge-base', 'HEAD', 'main') ?? git('merge-base', 'HEAD', 'origin/main') ?? 'HEAD'] =
  argv.slice(2);
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const projects = ['--project', 'unit', '--project', 'integration'];
const { status } = spawnSync(execPath, [vitest, 'run', ...projects, '--changed', base, '--passWithNoTests'], {
  cwd: root,
  stdio: 'inherit',
});
exit(status ?? 1);
