import { firstLine, LakeError, messageOf, SignalhouseError, StorageError } from '../base/errors.js';
import { outOfMemory } from '../store/faults.js';
import type { LakePlace } from './settings.js';

/**
 * DuckDB raises plain Errors: no code and no class, only text. This is the only place of the lake that reads that text. What
 * it does not know keeps its text, and the hint says where to look.
 */

interface Rule {
  /** What DuckDB says. */
  readonly text: RegExp;
  /** What a publication does about it. */
  readonly recovery: 'retry' | 'unknown' | 'give up';
  message(place: LakePlace): string;
  readonly hint: string;
}

const store = ({ s3, warehouse }: LakePlace) =>
  `the object store${s3.endpoint === undefined ? '' : ` at ${s3.endpoint}`} (warehouse ${warehouse})`;

/** In the order in which they are tried. */
const rules: readonly Rule[] = [
  {
    text: /NoSuchBucket|bucket does not exist/i,
    recovery: 'give up',
    message: (place) => `the bucket does not exist in ${store(place)}`,
    hint: 'Create the bucket, or correct the location of the warehouse in the catalog.',
  },
  {
    text: /transaction conflict|conflict on commit|TransactionContext Error: Failed to commit|CommitFailed|HTTP 409|Conflict_409|requirement failed/i,
    recovery: 'retry',
    message: ({ catalog }) => `another publication changed the lake at ${catalog} at the same time`,
    hint: 'Run the command again.',
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
    hint: 'Check that the bucket exists and that lake.s3 names the store that the catalog uses. Only a backup has a file that was removed: run signalhouse lake drop, then publish again.',
  },
  {
    text: /Could not (?:connect to server|resolve hostname)|(?:Connection|Timeout|Failed to read|Server sent)[^']*error for HTTP \w+ to '/i,
    recovery: 'unknown',
    // Whether the catalog answers is checked before.
    message: (place) => `${store(place)} or the catalog at ${place.catalog} cannot be reached`,
    hint: 'Check lake.s3.endpoint and lake.catalog, and that both are running, then run the command again.',
  },
  {
    text: /HTTP (?:code )?5\d\d|ServiceUnavailable|InternalServerError|SlowDown/i,
    recovery: 'unknown',
    message: ({ catalog }) => `the services of the lake at ${catalog} answer with an error of their own`,
    hint: 'Look into the log of the catalog and of the object store, then run the command again.',
  },
];

/** The error of a statement as a LakeError with a hint, without any of the `secrets`. */
export function lakeFault(error: unknown, place: LakePlace, secrets: readonly string[]): SignalhouseError {
  if (error instanceof LakeError) return error;
  const cause = causeOf(error);
  if (cause instanceof SignalhouseError) return cause;
  const text = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), messageOf(cause));
  const rule = rules.find((one) => one.text.test(text));
  if (rule)
    return new LakeError(rule.message(place), rule.recovery, { hint: rule.hint, cause: new Error(text) });
  return new LakeError(`the lake at ${place.catalog}: ${firstLine(text)}`, 'give up', {
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
