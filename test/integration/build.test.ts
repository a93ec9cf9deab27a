import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
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

/** The bytes of V8's space for new objects after some of them lived through a few collections. */
function newSpace(memory: number): number {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { makeRoomForNew, shapeHeap } from ${JSON.stringify(pathToFileURL(join(root, 'dist/base/heap.js')).href)};
    shapeHeap();
    makeRoomForNew(${memory});
    const kept = [];
    for (let round = 0; round < 300; round += 1) {
      kept[round % 100] = Array.from({ length: 2_000 }, (_, n) => ({ n, round }));
      if (round % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    console.log(getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }),
  );
}

it('the space for new objects stays small where memory is scarce, and a pull has a bounded one where there is plenty', () => {
  expect(newSpace(512e6)).toBeLessThan(4e6);
  const plenty = newSpace(16e9);
  expect(plenty).toBeGreaterThan(16e6);
  expect(plenty).toBeLessThan(40e6);
});
