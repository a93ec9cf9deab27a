import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Problem } from '../base/errors.js';

/** Secrets that are no settings: they come from the environment, or from a file that it names. */

export interface ServeSecrets {
  /** What opens the routes that change something; without it there are none. */
  readonly token: string | undefined;
  /** Where notifications go. */
  readonly webhookUrl: string | undefined;
}

/** The variables of each; `_FILE` names a file that holds the secret, and gives way to the secret itself. */
export const secretVariables = ['SIGNALHOUSE_SERVE_TOKEN', 'SIGNALHOUSE_WEBHOOK_URL'] as const;
export type SecretVariable = (typeof secretVariables)[number];

interface Place {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Reads the secrets of `serve`; what is wrong with them is added to `problems`, which never quote one. */
export function readServeSecrets(place: Place, problems: Problem[]): ServeSecrets {
  return {
    token: readSecret(place, 'SIGNALHOUSE_SERVE_TOKEN', problems, tokenProblem),
    webhookUrl: readSecret(place, 'SIGNALHOUSE_WEBHOOK_URL', problems, () => undefined),
  };
}

const shortestToken = 16;

/** What is wrong with a token, or undefined; never quotes it. */
export function tokenProblem(token: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(token)) return 'the token holds white space or characters that are not ASCII';
  if (token.length >= shortestToken) return undefined;
  return `the token must have at least ${shortestToken} characters (openssl rand -hex 24 makes a good one)`;
}

function readSecret(
  { env, cwd = process.cwd() }: Place,
  name: SecretVariable,
  problems: Problem[],
  fault: (value: string) => string | undefined,
): string | undefined {
  const direct = env[name]?.trim();
  const path = env[`${name}_FILE`]?.trim();
  // An empty variable counts as not given: that is how containers pass what nobody filled in.
  const setting = direct ? name : `${name}_FILE`;
  let value = direct;
  if (!value) {
    if (!path) return undefined;
    try {
      value = readFileSync(resolve(cwd, path), 'utf8').trim();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      problems.push({ setting, problem: `${path} cannot be read: ${code ?? error}` });
      return undefined;
    }
    if (value === '') {
      problems.push({ setting, problem: `${path} is empty` });
      return undefined;
    }
  }
  const problem = fault(value);
  if (problem !== undefined) problems.push({ setting, problem });
  return value;
}
