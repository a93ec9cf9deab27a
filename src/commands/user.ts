import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';
import { UsageError } from '../base/errors.js';
import { hashPassword, passwordProblem } from '../base/password.js';
import { answerTo } from '../cli/output.js';
import { command, text } from './command.js';

export const add = command({
  usage: '<name>',
  examples: [
    ['signalhouse user add anna --role write', 'Asks for a password twice'],
    ['pass show anna | signalhouse user add anna', 'The password from standard input'],
  ],
  input: {
    name: text.describe('The name to log in with; changes are requested by it'),
    role: z
      .enum(['read', 'write'], 'must be read or write')
      .default('read')
      .describe('read: look and download; write: upload sheets and undo them as well')
      .meta({ choices: ['read', 'write'] }),
  },
  async run({ name, role }) {
    const password = await newPassword();
    const problem = passwordProblem(password);
    if (problem !== undefined)
      throw new UsageError('The password cannot be used.', [{ setting: 'password', problem }]);
    return { name, role, passwordHash: await hashPassword(password) };
  },
  show: ({ name, role, passwordHash }) =>
    `# Add this to the settings file (--config). serve reads it when it starts:
serve:
  users:
    - name: ${JSON.stringify(name)}
      role: ${role}
      passwordHash: '${passwordHash}'`,
});

/** The password: asked for twice at a terminal, else all of standard input without its last line break. */
async function newPassword(): Promise<string> {
  if (process.stdin.isTTY) {
    const first = await answerTo('Password: ', { hidden: true });
    if (first !== '' && (await answerTo('The same again: ', { hidden: true })) !== first)
      throw new UsageError('The two passwords are not the same.', [], { hint: 'Run the command again.' });
    return first;
  }
  return (await textOf(process.stdin)).replace(/\r?\n$/, '');
}
