import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.js';
import { type ScheduleMemory, scheduleMemory } from '../../../src/serve/schedule/record.js';
import { fileStore } from '../../../src/serve/store.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalhouse-store-'));
});
afterEach(() => rm(folder, { recursive: true }));

const open = () => fileStore(join(folder, 'schedule.json'), scheduleMemory, silentLog);
const memory = (name: string): ScheduleMemory => ({
  jobs: { [name]: { handledDue: '2026-05-01T03:00:00.000Z', lastSuccessAt: null } },
  history: [],
});

it('gives back what was saved last, and leaves nothing else behind', async () => {
  const store = open();
  expect(await store.load()).toBeNull();
  const names = Array.from({ length: 20 }, (_, index) => `job-${index}`);
  await Promise.all(names.map((name) => store.save(memory(name))));
  expect(await open().load()).toEqual(memory('job-19'));
  expect(await readdir(folder)).toEqual(['schedule.json']);
  expect((await stat(join(folder, 'schedule.json'))).mode & 0o077).toBe(0);
});

it('starts afresh from what it cannot make sense of', async () => {
  for (const text of [
    '{"jobs":',
    '[]',
    '{"jobs":{"a":{"handledDue":"yesterday","lastSuccessAt":null}},"history":[]}',
  ]) {
    await writeFile(join(folder, 'schedule.json'), text);
    expect(await open().load()).toBeNull();
  }
});

it('says what the file system says, keeps the old value, and goes on', async () => {
  const store = open();
  await store.save(memory('kept'));
  await rm(folder, { recursive: true });
  await expect(store.save(memory('lost'))).rejects.toThrow('ENOENT');
  await mkdir(folder);
  await store.save(memory('again'));
  expect(JSON.parse(await readFile(join(folder, 'schedule.json'), 'utf8'))).toEqual(memory('again'));
});
