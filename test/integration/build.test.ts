import { constants } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

async function modules(folder: string, ending: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true });
  return entries
    .filter((name) => name.endsWith(ending) && !name.endsWith('.d.ts'))
    .map((name) => name.slice(0, -ending.length))
    .sort();
}

it('dist holds a module for each of src, at the same depth, and none besides', async () => {
  // What runs in a browser is no TypeScript.
  const written = [...(await modules('src', '.ts')), ...(await modules('src', '.js'))].sort();
  expect(await modules('dist', '.js')).toEqual(written);
});

it('the program can be called by its name', async () => {
  const { bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const program = join(root, bin.signalhouse);
  await expect(access(program, constants.X_OK)).resolves.toBeUndefined();
  expect(await readFile(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});
