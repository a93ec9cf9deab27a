import { describe, expect, it } from 'vitest';
import { LakeError, StorageError, UsageError } from '../../../src/base/errors.js';
import { lakeFault } from '../../../src/lake/errors.js';
import type { LakePlace } from '../../../src/lake/settings.js';

const place: LakePlace = {
  kind: 'ducklake',
  catalog: 'postgres://worker:pass@db.example:5432/lake',
  warehouse: 's3://bucket/path',
  namespace: 'signals_{org}',
  s3: { endpoint: 'http://127.0.0.1:9000', region: 'us-east-1', pathStyle: true },
};

// As DuckDB 1.5.5 and its extensions wrote them.
const said: [text: string, recovery: string, message: RegExp][] = [
  [
    'HTTP Error: Unable to connect to URL s3://b/x.parquet: Not Found (HTTP code 404)\n\nNoSuchBucket: The specified bucket does not exist',
    'give up',
    /bucket does not exist/,
  ],
  [
    'IO Error: Failed to attach DuckLake MetaData "m" at path + "postgres:postgres://worker@db.example/lake"Unable to connect to Postgres at "postgres://worker@db.example/lake": connection to server at "db.example", port 5432 failed: FATAL:  password authentication failed for user "worker"',
    'give up',
    /refuses the user or the password/,
  ],
  [
    'IO Error: … connection to server at "127.0.0.1", port 1 failed: Connection refused\n\tIs the server running',
    'unknown',
    /cannot be reached/,
  ],
  ['IO Error: … failed: FATAL:  database "nolake" does not exist', 'give up', /has no database nolake/],
  [
    'Invalid Configuration Error: DATA_PATH parameter "s3://lake/other/" does not match existing data path in the catalog "s3://lake/d1/".',
    'give up',
    /keeps its files in s3:\/\/lake\/d1\//,
  ],
  [
    "IO Error: Could not connect to server error for HTTP PUT to 'http://127.0.0.1:9000/b/x.parquet'",
    'unknown',
    /object store at http:\/\/127\.0\.0\.1:9000 .* cannot be reached$/,
  ],
  [
    'Invalid Input Error: Existing DuckLake at metadata catalog "postgres:dbname=lake" does not exist - and creating a new DuckLake is explicitly disabled',
    'give up',
    /there is no lake/,
  ],
  [
    'TransactionContext Error: Failed to commit: Transaction conflict - attempting to …',
    'retry',
    /at the same time/,
  ],
  // Two workers that create the catalog at the same moment: PostgreSQL says one or the other.
  [
    'Invalid Error: Failed to initialize DuckLake: Failed to execute query "CREATE TABLE "public"."ducklake_metadata"("key" VARCHAR NOT NULL);": ERROR:  relation "ducklake_metadata" already exists',
    'retry',
    /at the same time/,
  ],
  [
    'Invalid Error: Failed to initialize DuckLake: Failed to execute query "CREATE TABLE "public"."ducklake_metadata"("key" VARCHAR NOT NULL);": ERROR:  duplicate key value violates unique constraint "pg_type_typname_nsp_index"',
    'retry',
    /at the same time/,
  ],
  ['HTTP Error: … (HTTP code 403) SignatureDoesNotMatch', 'give up', /refuses the keys/],
];

describe('the error of a lake', () => {
  it.each(said)('%s', (text, recovery, message) => {
    const fault = lakeFault(new Error(text), place, []);
    expect(fault).toBeInstanceOf(LakeError);
    expect(fault).toMatchObject({
      recovery,
      message: expect.stringMatching(message),
      hint: expect.stringMatching(/\.$/),
    });
    expect(fault.message).not.toContain('worker');
  });

  it('has no secret in it, and no password of an address that DuckDB quotes', () => {
    const text = "Something Error: postgres:dbname=x password=hunter2 token abcdef at 's3'";
    const fault = lakeFault(new Error(text), place, ['abcdef']);
    expect(fault.message).not.toMatch(/hunter2|abcdef/);
    expect(String(fault.cause)).not.toMatch(/hunter2|abcdef/);
  });

  it('is what the session kept as its cause', () => {
    const cause = new Error(
      "IO Error: Could not connect to server error for HTTP GET to 'http://127.0.0.1:9000/b'",
    );
    const fault = lakeFault(new StorageError('the warehouse could not be read', { cause }), place, []);
    expect(fault.message).toContain('object store');
  });

  it('stays what it is for a setting, and for memory and disk of this machine', () => {
    const usage = new UsageError('an extension is missing', [], { cause: new Error('IO Error: not found') });
    expect(lakeFault(usage, place, [])).toBe(usage);
    const memory = new StorageError('no memory', {
      cause: new Error('Out of Memory Error: failed to pin block'),
    });
    expect(lakeFault(memory, place, [])).toBe(memory);
  });
});
