import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Problem } from '../base/errors.js';
import { keyAddressProblem } from '../base/loopback.js';

/** Secrets and credentials: they come from the environment, or from a file that it names, and no message quotes them. */

/** The variable of each secret of `serve`. The variable with `_FILE` appended names a file; the secret itself overrides it. */
export const serveVariables = {
  /** For the routes that change something; without it those routes do not exist. */
  token: 'SIGNALHOUSE_SERVE_TOKEN',
  /** Where notifications go. */
  webhookUrl: 'SIGNALHOUSE_WEBHOOK_URL',
  /** The password of the user of serve.notify.email.server. */
  smtpPassword: 'SIGNALHOUSE_SMTP_PASSWORD',
} as const;

/** The variables of the lake's secrets, which have files in the same way. */
export const lakeVariables = {
  /** The keys of the object store; without them, the Iceberg catalog hands out its own. */
  keyId: 'AWS_ACCESS_KEY_ID',
  secretKey: 'AWS_SECRET_ACCESS_KEY',
  sessionToken: 'AWS_SESSION_TOKEN',
  /** For the Iceberg catalog: a bearer token, or the client of an OAuth 2 server. */
  token: 'SIGNALHOUSE_LAKE_TOKEN',
  clientId: 'SIGNALHOUSE_LAKE_CLIENT_ID',
  clientSecret: 'SIGNALHOUSE_LAKE_CLIENT_SECRET',
} as const;

export const secretVariables = [...Object.values(serveVariables), ...Object.values(lakeVariables)];
/** Every variable from which a secret is read. */
export const allSecretVariables = ['SIGNALHOUSE_API_KEY', ...secretVariables].flatMap((name) => [
  name,
  `${name}_FILE`,
]);

type Secrets<V> = Readonly<Record<keyof V, string | undefined>>;
export type ServeSecrets = Secrets<typeof serveVariables>;
export type LakeSecrets = Secrets<typeof lakeVariables>;

/** Where secrets are looked for: the environment, and the folder that paths in it start from. */
export interface Place {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Called with every secret that is read, now or later, so that the log can hide it. */
  readonly onSecret?: ((secret: string) => void) | undefined;
}

/** Reads the secrets of these variables and adds what is wrong with them to `problems`, without quoting one. */
export function secretsIn<V extends Readonly<Record<string, string>>>(
  place: Place,
  variables: V,
  problems: Problem[],
): Secrets<V> {
  const read = Object.entries(variables).map(([name, variable]) => [
    name,
    readSecret(place, variable, problems),
  ]);
  return Object.fromEntries(read);
}

const shortestToken = 16;

/** The problem of a token, or undefined; never quotes it. */
function tokenProblem(token: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(token)) return 'the token contains white space or non-ASCII characters';
  if (token.length >= shortestToken) return undefined;
  return `the token must have at least ${shortestToken} characters (openssl rand -hex 24 makes a good one)`;
}

function readSecret(place: Place, name: string, problems: Problem[]): string | undefined {
  const direct = given(place.env[name]);
  const path = given(place.env[`${name}_FILE`]);
  const setting = direct === undefined ? `${name}_FILE` : name;
  const value = direct ?? (path === undefined ? undefined : textIn(path, setting, place.cwd));
  if (typeof value === 'object') problems.push(value);
  if (typeof value !== 'string') return undefined;
  const fault = name === serveVariables.token ? tokenProblem(value) : undefined;
  const problem = value === '' ? `${path} is empty` : fault;
  if (problem !== undefined) problems.push({ setting, problem });
  place.onSecret?.(value);
  return value;
}

/** The value of a variable. An empty one counts as unset: container tools pass unset variables as empty ones. */
export function given(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}

/** The text of a file that holds a secret; a problem of `setting`, which names the file, when it cannot be read. */
function textIn(path: string, setting: string, cwd = process.cwd()): string | Problem {
  try {
    return readFileSync(resolve(cwd, path), 'utf8').trim();
  } catch (error) {
    return { setting, problem: `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? error}` };
  }
}

/** The problem of the API's address, or undefined. */
export function baseUrlProblem(value: string | undefined): string | undefined {
  if (value === undefined || value.trim() === '') return 'is required: the address of the API, ending in /v1';
  if (!URL.canParse(value.trim())) return 'must be an absolute URL such as https://api.example.com/v1';
  const url = new URL(value.trim());
  return keyAddressProblem(url) ?? (/\/v1\/?$/.test(url.pathname) ? undefined : 'must end in /v1');
}

/** The problem of a key, or undefined; never quotes it. */
export function apiKeyProblem(key: string): string | undefined {
  if (key === '') return 'the key is empty';
  // A header cannot carry anything else; usually it is a pasted line break, or the wrong file.
  return /^[\x21-\x7e]{1,4096}$/.test(key)
    ? undefined
    : 'the key contains characters that a key cannot have (white space or non-ASCII)';
}

/** Reads the API key from its variable, else from the file that `setting` names. Never quotes it. */
export function readApiKey(place: Place, file: string | undefined, setting: string): string | Problem {
  const direct = given(place.env.SIGNALHOUSE_API_KEY);
  if (direct === undefined && file === undefined) {
    const problem = 'is required (or SIGNALHOUSE_API_KEY_FILE, a file that holds the key)';
    return { setting: 'SIGNALHOUSE_API_KEY', problem };
  }
  const key = direct ?? textIn(file ?? '', setting, place.cwd);
  if (typeof key === 'string') place.onSecret?.(key);
  const problem = typeof key === 'string' ? apiKeyProblem(key) : undefined;
  if (problem === undefined) return key;
  if (direct !== undefined) return { setting: 'SIGNALHOUSE_API_KEY', problem };
  return { setting, problem: `${file}: ${problem}` };
}

/** The variable that a secret comes from, or the file that it names; null when it is not set. Never the secret itself. */
export interface SecretSource {
  readonly secret: string;
  readonly source: string | null;
}

/** Where the key and the other secrets come from. `keyFile` is the setting `api.keyFile`. */
export function secretSources({ env }: Place, keyFile: string | undefined): SecretSource[] {
  const sourceOf = (name: string, file: string | undefined) =>
    (given(env[name]) ? name : given(file)) ?? null;
  return [
    { secret: 'SIGNALHOUSE_API_KEY', source: sourceOf('SIGNALHOUSE_API_KEY', keyFile) },
    ...secretVariables.map((name) => ({
      secret: name,
      source: sourceOf(name, env[`${name}_FILE`]),
    })),
  ];
}
