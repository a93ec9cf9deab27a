import { describe, expect, it } from 'vitest';
import { LakeError, StorageError, UsageError } from '../../../src/base/errors.js';
import { lakeFault } from '../../../src/lake/errors.js';
import type { LakePlace } from '../../../src/lake/settings.js';

const place: LakePlace = {
  catalog: 'https://catalog.example/iceberg',
  warehouse: 'signals',
  s3: { endpoint: 'http://127.0.0.1:9000', region: 'us-east-1', pathStyle: true },
  profile: 'none',
};

// As DuckDB 1.5.5 and its extensions wrote them.
const said: [text: string, recovery: string, message: RegExp][] = [
  [
    'HTTP Error: Unable to connect to URL s3://b/x.parquet: Not Found (HTTP code 404)\n\nNoSuchBucket: The specified bucket does not exist',
    'give up',
    /bucket does not exist/,
  ],
  [
    "IO Error: Could not connect to server error for HTTP PUT to 'http://127.0.0.1:9000/b/x.parquet'",
    'unknown',
    /object store at http:\/\/127\.0\.0\.1:9000 .* cannot be reached$/,
  ],
  [
    'TransactionContext Error: Failed to commit: Transaction conflict - attempting to …',
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
  });

  it('has no secret in it', () => {
    const fault = lakeFault(new Error("Something Error: token abcdef at 's3'"), place, ['abcdef']);
    expect(fault.message).not.toContain('abcdef');
    expect(String(fault.cause)).not.toContain('abcdef');
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
