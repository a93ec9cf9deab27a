import type { Problem } from '../base/errors.js';
import { keyAddressProblem } from '../base/loopback.js';
import type { Settings } from '../config/schema.js';
import type { LakeSecrets } from '../config/secrets.js';

type LakeSettings = Settings['lake'];

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

/** The namespace of an organization. What neither an object store nor an engine takes in a name becomes an underscore. */
export function namespaceOf(org: string): string {
  return `signals_${org.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
}

/** Everything that is wrong with the settings of the lake. `named` tells how the user gave a setting. */
export function lakeProblems(
  { catalog, warehouse, s3 }: LakeSettings,
  secrets: LakeSecrets,
  named: (path: string) => string = (path) => path,
): Problem[] {
  const problems: Problem[] = [];
  const say = (setting: string, problem: string | undefined) => {
    if (problem !== undefined) problems.push({ setting, problem });
  };
  say(named('lake.catalog'), catalogProblem(catalog, secrets));
  if (warehouse === undefined)
    say(named('lake.warehouse'), "is required: the catalog's name of the warehouse");
  if (s3.endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/.test(s3.endpoint))
    say(named('lake.s3.endpoint'), 'must be an address such as https://s3.example.com, without a path');
  const { keyId, secretKey, clientId, clientSecret } = secrets;
  const pair = 'is missing: the client id and the client secret belong together';
  if (clientSecret !== undefined && clientId === undefined) say('SIGNALHOUSE_LAKE_CLIENT_ID', pair);
  if (clientId !== undefined && clientSecret === undefined) say('SIGNALHOUSE_LAKE_CLIENT_SECRET', pair);
  const needed = (name: string) => `is required for the object store (or ${name}_FILE, a file that holds it)`;
  if (secretKey !== undefined && keyId === undefined) say('AWS_ACCESS_KEY_ID', needed('AWS_ACCESS_KEY_ID'));
  if (keyId !== undefined && secretKey === undefined)
    say('AWS_SECRET_ACCESS_KEY', needed('AWS_SECRET_ACCESS_KEY'));
  return problems;
}

function catalogProblem(catalog: string | undefined, secrets: LakeSecrets): string | undefined {
  if (catalog === undefined) return 'is required: the address of the Iceberg REST catalog';
  const url = URL.canParse(catalog) ? new URL(catalog) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return 'must be an address such as https://catalog.example.com/iceberg';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  const hasLogin = secrets.token !== undefined || secrets.clientSecret !== undefined;
  return hasLogin ? keyAddressProblem(url) : undefined;
}

/** Texts that no message may contain. */
export function secretTexts({ secretKey, sessionToken, token, clientSecret }: LakeSecrets): string[] {
  return [secretKey, sessionToken, token, clientSecret].filter(
    (text) => text !== undefined && text !== '',
  ) as string[];
}

/** Where tokens for the catalog come from. */
export function tokenServer({ catalog, oauth2Server }: LakePlace): string {
  return oauth2Server ?? `${catalog.replace(/\/+$/, '')}/v1/oauth/tokens`;
}
