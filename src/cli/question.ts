import { createInterface } from 'node:readline/promises';

/** Asks on the terminal; only yes is yes. Ctrl-C and the end of the input are no. */
export async function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), closed]);
    return /^\s*(y|yes)\s*$/i.test(answer);
  } finally {
    terminal.close();
  }
}
