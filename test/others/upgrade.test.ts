import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Pulling, startTown } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

const project = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
/** The tags of releases, the last one first. */
const [release] = execFileSync('git', ['tag', '--list', 'v*', '--sort=-version:refname'], {
  cwd: project,
  encoding: 'utf8',
})
  .split('\n')
  .filter((tag) => tag !== '');

it('a data directory of the last release is taken over: nothing is fetched again, and the tables are right', async ({
  skip,
}) => {
  skip(release === undefined, 'there is no release yet: no tag v*');
  const old = join(testFolder(), 'release');
  await run('git', [
    'clone',
    '--quiet',
    '--branch',
    String(release),
    '--depth',
    '1',
    `file://${project}`,
    old,
  ]);
  await run('npm', ['ci'], { cwd: old });
  const sandbox = await startTown();
  try {
    const pulling = Pulling.into(sandbox);
    const env = { ...process.env, ...pulling.env };
    await run(process.execPath, [join(old, 'dist/main.js'), 'sync'], { env });
    const first = Object.values(pulling.seen()).reduce((sum, count) => sum + count, 0);
    const { code, report, stderr, requests } = await pulling.sync();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(report.left.due).toBe(0);
    // The lists and random checks: no other first pull.
    expect(requests).toBeLessThan(first / 2);
    expect(await pulling.differences()).toEqual([]);
    expect(await pulling.run(['rebuild', '--check', '--json'])).toMatchObject({ code: 0 });
  } finally {
    await sandbox.stop();
  }
});
