import { expect, test } from 'vitest';
import { Pulling, townOfFile } from '../support/pulling.js';
import { read, serve, terminate, until } from '../support/serving.js';

const { sandbox } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 3, people: 3, companies: 1, messages: 10, stories: 1, templates: 1, channels: 1 },
});

test('serve takes over changed settings, of the file and at SIGHUP, and refuses wrong ones as a whole', async () => {
  const yearly = { cron: '0 0 1 1 *', catchUp: false };
  const jobs = (...names: string[]) => ({
    serve: { jobs: names.map((name) => ({ name, run: 'sync', ...yearly })) },
  });
  const pulling = Pulling.into(sandbox, jobs('one'));
  const served = await serve(pulling);
  let log = '';
  served.running.child.stderr?.on('data', (text: string) => {
    log += text;
  });
  const page = () => read(served, '/').catch(() => '');
  expect(await page()).toContain('>one<');

  // Of a wrong file, nothing is taken over.
  pulling.set({ serve: { ...jobs('two').serve, prot: 1 } });
  served.running.child.kill('SIGHUP');
  await until(
    async () => log,
    (text) => text.includes('the settings are not taken over'),
  );
  expect(log).toContain('serve.prot');
  expect(await page()).toContain('>one<');

  pulling.set(jobs('three'));
  await until(page, (text) => text.includes('>three<'));
  expect(await page()).not.toContain('>one<');
  const { code } = await terminate(served);
  expect(code).toBe(0);
});
