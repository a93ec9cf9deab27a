import type { Problem } from '../base/errors.js';
import { keyAddressProblem } from '../base/loopback.js';

/** The settings `lake`, in the shape of the configuration. */
export interface LakeSettings {
  readonly kind: 'iceberg' | 'ducklake';
  readonly catalog?: string | undefined;
  readonly warehouse?: string | undefined;
  readonly namespace: string;
  readonly lockUrl?: string | undefined;
  readonly oauth2Server?: string | undefined;
  readonly oauth2Scope?: string | undefined;
  readonly s3: {
    readonly endpoint?: string | undefined;
    readonly region: string;
    readonly pathStyle: boolean;
  };
}

/** The secrets of the object store, of the catalog and of PostgreSQL, in the shape in which the configuration has them. */
export interface LakeSecrets {
  /** The keys of the object store; without them, the Iceberg catalog hands out its own. */
  readonly keyId: string | undefined;
  readonly secretKey: string | undefined;
  readonly sessionToken: string | undefined;
  /** For the Iceberg catalog: a bearer token, or the client of an OAuth 2 server. */
  readonly token: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** For PostgreSQL (`lake.catalog` of DuckLake, `lake.lockUrl`), where the address has none. */
  readonly user: string | undefined;
  readonly password: string | undefined;
}

/** Where the lake is, with what `lakeProblems` requires. */
export interface LakePlace extends LakeSettings {
  readonly catalog: string;
  readonly warehouse: string;
}

/** The place that the settings name; null when no lake is set. Check the settings with `lakeProblems` before. */
export function lakePlace(settings: LakeSettings): LakePlace | null {
  const { catalog, warehouse } = settings;
  return catalog === undefined || warehouse === undefined ? null : { ...settings, catalog, warehouse };
}

/** Whether several organizations share the namespace. */
export function isShared({ namespace }: Pick<LakeSettings, 'namespace'>): boolean {
  return !namespace.includes('{org}');
}

/** The namespace of an organization. What neither an object store nor an engine takes in a name becomes an underscore. */
export function namespaceOf({ namespace }: Pick<LakeSettings, 'namespace'>, org: string): string {
  return namespace.replaceAll('{org}', org.replaceAll(/[^A-Za-z0-9_-]/g, '_'));
}

/** Everything that is wrong with the settings of the lake. `named` tells how the user gave a setting. */
export function lakeProblems(
  settings: LakeSettings,
  secrets: LakeSecrets,
  named: (path: string) => string = (path) => path,
): Problem[] {
  const { kind, catalog, warehouse, lockUrl, s3 } = settings;
  const problems: Problem[] = [];
  const say = (path: string, problem: string | undefined) => {
    if (problem !== undefined)
      problems.push({ setting: path.startsWith('lake.') ? named(path) : path, problem });
  };
  say('lake.catalog', kind === 'iceberg' ? restProblem(catalog, secrets) : postgresProblem(catalog));
  say('lake.warehouse', warehouseProblem(kind, warehouse));
  if (lockUrl !== undefined) say('lake.lockUrl', postgresProblem(lockUrl));
  else if (isShared(settings)) {
    say(
      'lake.lockUrl',
      'is required for a namespace that organizations share (lake.namespace has no {org}): without a lock, some catalogs lose rows of concurrent publications',
    );
  }
  if (s3.endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/.test(s3.endpoint)) {
    say('lake.s3.endpoint', 'must be an address such as https://s3.example.com, without a path');
  }
  for (const problem of keyProblems(settings, secrets)) say(...problem);
  return problems;
}

function keyProblems({ kind, warehouse }: LakeSettings, secrets: LakeSecrets): [string, string][] {
  const { keyId, secretKey, clientId, clientSecret } = secrets;
  const problems: [string, string][] = [];
  if ((clientId === undefined) !== (clientSecret === undefined)) {
    const missing = clientId === undefined ? 'SIGNALHOUSE_LAKE_CLIENT_ID' : 'SIGNALHOUSE_LAKE_CLIENT_SECRET';
    problems.push([missing, 'is missing: the client id and the client secret belong together']);
  }
  const isNeeded = kind === 'ducklake' && (warehouse ?? '').startsWith('s3://');
  const missing = (name: string) =>
    problems.push([name, `is required for the object store (or ${name}_FILE, a file that holds it)`]);
  if (keyId === undefined && (isNeeded || secretKey !== undefined)) missing('AWS_ACCESS_KEY_ID');
  if (secretKey === undefined && (isNeeded || keyId !== undefined)) missing('AWS_SECRET_ACCESS_KEY');
  return problems;
}

function restProblem(catalog: string | undefined, { token, clientSecret }: LakeSecrets): string | undefined {
  if (catalog === undefined) return 'is required: the address of the Iceberg REST catalog';
  const url = URL.canParse(catalog) ? new URL(catalog) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return 'must be an address such as https://catalog.example.com/iceberg';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return token === undefined && clientSecret === undefined ? undefined : keyAddressProblem(url);
}

function postgresProblem(address: string | undefined): string | undefined {
  if (address === undefined) return 'is required: the PostgreSQL database of the catalog';
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (
    url !== undefined &&
    /^postgres(ql)?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    url.pathname.length > 1
  )
    return undefined;
  return 'must be an address such as postgres://user@host:5432/database';
}

function warehouseProblem(kind: LakeSettings['kind'], warehouse: string | undefined): string | undefined {
  if (warehouse === undefined) {
    return kind === 'iceberg'
      ? "is required: the catalog's name of the warehouse"
      : 'is required: where files are written, such as s3://bucket/path';
  }
  if (kind === 'iceberg' || /^s3:\/\/[^/]+/.test(warehouse) || warehouse.startsWith('/')) return undefined;
  return 'must be s3://bucket/path, or a directory that begins with /';
}

/** An address of PostgreSQL with user and password where it has none. */
export function withLogin(address: string, { user, password }: Pick<LakeSecrets, 'user' | 'password'>): URL {
  const url = new URL(address);
  if (url.username === '' && user !== undefined) url.username = encodeURIComponent(user);
  if (url.password === '' && password !== undefined) url.password = encodeURIComponent(password);
  return url;
}

/** Texts that no message may contain. */
export function secretTexts(settings: LakeSettings, secrets: LakeSecrets): string[] {
  const { keyId: _keyId, user: _user, clientId: _clientId, ...hidden } = secrets;
  const inAddresses = [settings.catalog, settings.lockUrl].flatMap((address) => {
    const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
    return url?.password ? [url.password, decodeURIComponent(url.password)] : [];
  });
  return [...Object.values(hidden), ...inAddresses].filter(
    (text) => text !== undefined && text.length > 0,
  ) as string[];
}
