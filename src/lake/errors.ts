import { firstLine, LakeError, messageOf, SignalhouseError, StorageError } from '../base/errors.js';
import { outOfMemory } from '../warehouse/store/faults.js';
import type { LakePlace } from './settings.js';

/**
 * DuckDB raises plain Errors: no code and no class, only text. This is the only place of the lake that reads that text. What
 * it does not know keeps its text, and the hint says where to look.
 */

/** What a publication does about an error. */
type Recovery = 'retry' | 'unknown' | 'give up';

interface Rule {
  /** What DuckDB says. */
  readonly text: RegExp;
  readonly recovery: Recovery;
  message(place: LakePlace, found: RegExpExecArray): string;
  readonly hint: string | ((place: LakePlace, found: RegExpExecArray) => string);
}

const store = ({ s3, warehouse, kind }: LakePlace) =>
  `the object store${s3.endpoint === undefined ? '' : ` at ${s3.endpoint}`} (${kind === 'iceberg' ? `warehouse ${warehouse}` : warehouse})`;

const catalogOf = ({ catalog }: LakePlace) => `the catalog at ${withoutLogin(catalog)}`;

/** Whether an address that could not be reached is that of the catalog. */
const isCatalog = ({ kind, catalog }: LakePlace, [, first, second]: RegExpExecArray) => {
  const address = (first ?? second ?? '').replace(/^(\w+:\/\/[^/]*).*$/, '$1');
  return kind === 'iceberg' && catalog.startsWith(address);
};

/** In the order in which they are tried. */
const rules: readonly Rule[] = [
  {
    text: /NoSuchBucket|bucket does not exist/i,
    recovery: 'give up',
    message: (place) => `the bucket does not exist in ${store(place)}`,
    hint: 'Create the bucket, or correct lake.warehouse (ducklake) or the location of the warehouse in the catalog (iceberg).',
  },
  {
    text: /transaction conflict|conflict on commit|TransactionContext Error: Failed to commit|CommitFailed|HTTP 409|Conflict_409|could not serialize access|deadlock detected|another transaction has|failed to commit.*(?:conflict|concurrent)|requirement failed|duplicate key value violates unique constraint|Failed to initialize DuckLake.*already exists/i,
    recovery: 'retry',
    message: ({ catalog }) =>
      `another publication changed the lake at ${withoutLogin(catalog)} at the same time`,
    hint: 'Run the command again. Where several workers share a namespace, set lake.lockUrl.',
  },
  {
    text: /password authentication failed|no password supplied|role "[^"]*" does not exist|pg_hba\.conf|permission denied for/i,
    recovery: 'give up',
    message: (place) => `${catalogOf(place)} refuses the user or the password`,
    hint: 'Check SIGNALHOUSE_LAKE_USER and SIGNALHOUSE_LAKE_PASSWORD (or their files), or the user in lake.catalog.',
  },
  {
    text: /database "([^"]*)" does not exist/i,
    recovery: 'give up',
    message: (place, [, name]) => `${catalogOf(place)} has no database ${name}`,
    hint: 'Create the database, or correct lake.catalog.',
  },
  {
    text: /creating a new DuckLake is explicitly disabled/i,
    recovery: 'give up',
    message: (place) => `there is no lake in ${catalogOf(place)} yet`,
    hint: 'Run signalhouse lake init, or signalhouse lake publish.',
  },
  {
    text: /DATA_PATH parameter "([^"]*)" does not match existing data path in the catalog "([^"]*)"/i,
    recovery: 'give up',
    message: (place, [, given, existing]) =>
      `${catalogOf(place)} keeps its files in ${existing}, and lake.warehouse is ${given}`,
    hint: (_place, [, , existing]) => `Set lake.warehouse to ${existing}, or use another database.`,
  },
  {
    text: /InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|HTTP (?:code )?403|Forbidden|UnsupportedAlgorithm|HTTP (?:code )?401|Unauthorized/i,
    recovery: 'give up',
    message: (place) => `${store(place)} refuses the keys`,
    hint: 'Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or their files), lake.s3.region, and whether the keys may read and write the bucket.',
  },
  {
    text: /(?:HTTP (?:code )?404|Not Found)/i,
    recovery: 'give up',
    message: (place) =>
      `${store(place)} does not have what the catalog names: the bucket or a file is missing`,
    hint: 'Check that the bucket exists and that lake.s3 names the store that the catalog uses. A file that somebody removed is only in a backup: run signalhouse lake drop, then publish again.',
  },
  {
    text: /connection to server at "[^"]*"[^:]*(?:failed)?: (.*)|could not translate host name|Unable to connect to Postgres/i,
    recovery: 'unknown',
    message: (place, [, reason]) =>
      `${catalogOf(place)} cannot be reached${reason === undefined ? '' : `: ${reason}`}`,
    hint: 'Check lake.catalog and that PostgreSQL is running, then run the command again.',
  },
  {
    text: /server closed the connection|SSL connection has been closed|terminating connection|no connection to the server|connection (?:not open|reset)/i,
    recovery: 'unknown',
    message: (place) => `${catalogOf(place)} closed the connection`,
    hint: 'Check that PostgreSQL is running, then run the command again.',
  },
  {
    text: /Could not (?:connect to server|resolve hostname)[^']*'([^']*)'|(?:Connection|Timeout|Failed to read|Server sent)[^']*error for HTTP \w+ to '([^']*)'/i,
    recovery: 'unknown',
    message: (place, found) =>
      `${isCatalog(place, found) ? catalogOf(place) : store(place)} cannot be reached`,
    hint: (place, found) =>
      `Check ${isCatalog(place, found) ? 'lake.catalog' : 'lake.s3.endpoint'} and that it is running, then run the command again.`,
  },
  {
    text: /HTTP (?:code )?5\d\d|ServiceUnavailable|InternalServerError|SlowDown/i,
    recovery: 'unknown',
    message: ({ catalog }) =>
      `the services of the lake at ${withoutLogin(catalog)} answer with an error of their own`,
    hint: 'Look into the log of the catalog and of the object store, then run the command again.',
  },
];

/** The error of a statement as a LakeError with a hint, without any of the `secrets`. */
export function lakeFault(error: unknown, place: LakePlace, secrets: readonly string[]): SignalhouseError {
  if (error instanceof LakeError) return error;
  const cause = causeOf(error);
  if (cause instanceof SignalhouseError) return cause;
  const text = withoutSecrets(messageOf(cause), secrets);
  for (const { text: pattern, recovery, message, hint } of rules) {
    const found = pattern.exec(text);
    if (!found) continue;
    const what = typeof hint === 'string' ? hint : hint(place, found);
    return new LakeError(message(place, found), recovery, { hint: what, cause: new Error(text) });
  }
  return new LakeError(`the lake at ${withoutLogin(place.catalog)}: ${firstLine(text)}`, 'give up', {
    hint: 'The local warehouse is not affected. docs/lake.md says what the catalogs and object stores need.',
    cause: new Error(text),
  });
}

/**
 * What DuckDB said: a session takes what is not reachable for a fault of the disk, and keeps the cause. A full disk and a
 * lack of memory stay what they are.
 */
function causeOf(error: unknown): unknown {
  if (error instanceof StorageError && (outOfMemory(error) || /No space left/.test(messageOf(error.cause))))
    return error;
  return error instanceof StorageError && error.cause instanceof Error ? error.cause : error;
}

/** A text without secrets, and without passwords of PostgreSQL addresses, which DuckDB quotes. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return known.replaceAll(/password=('[^']*'|\S+)/gi, 'password=***');
}

export function withoutLogin(address: string): string {
  return address.replace(/\/\/[^/?#]*@/, '//');
}
