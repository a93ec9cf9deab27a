import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { endOf } from '../support/signalhouse.js';

// What npm run test:changed has to know: this test loads the built program, which is made of this.
void (() => import('../../src/cli/commands/sandbox.js'));

const commands = fileURLToPath(new URL('../../dist/cli/commands/index.js', import.meta.url));

/** Loads the commands, and fails at what only the sandbox needs once it runs. */
const loadCommands = `
  import { register } from 'node:module';
  const resolve = (name, context, next) => {
    if (/^(@faker-js|fastify)/.test(name)) throw new Error('loads ' + name);
    return next(name, context);
  };
  register('data:text/javascript,export ' + encodeURIComponent('const resolve = ' + resolve));
  await import(process.argv[1]);
`;

it('no command but the sandbox itself waits for the generator and its names, or for the server', async () => {
  const args = ['--input-type=module', '--eval', loadCommands, commands];
  const { code, stderr } = await endOf(spawn(process.execPath, args, { stdio: 'pipe' }));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
