import { describe, expect, it } from 'vitest';
import type { LakeSecrets } from '../../../src/config/secrets.js';
import { type LakePlace, lakeProblems, namespaceOf, secretTexts } from '../../../src/lake/settings.js';

const noSecrets: LakeSecrets = {
  keyId: undefined,
  secretKey: undefined,
  sessionToken: undefined,
  token: undefined,
  clientId: undefined,
  clientSecret: undefined,
};
const keys = { ...noSecrets, keyId: 'key', secretKey: 'secret' };

const settings: LakePlace = {
  catalog: 'http://catalog.example/iceberg',
  warehouse: 'signals',
  s3: { endpoint: 'https://s3.example', region: 'us-east-1', pathStyle: true },
  profile: 'none',
};

const wrong = (changed: Partial<Parameters<typeof lakeProblems>[0]>, secrets: LakeSecrets = keys) =>
  lakeProblems({ ...settings, ...changed }, secrets).map(({ setting }) => setting);

describe('the settings of the lake', () => {
  it('name everything that is missing at once', () => {
    expect(wrong({})).toEqual([]);
    expect(wrong({ catalog: undefined, warehouse: undefined })).toEqual(['lake.catalog', 'lake.warehouse']);
  });

  it('have addresses of web servers', () => {
    expect(wrong({ catalog: 'postgres://db.example/lake' })).toEqual(['lake.catalog']);
    expect(wrong({ catalog: 'https://user:word@catalog.example' })).toEqual(['lake.catalog']);
    expect(wrong({ s3: { ...settings.s3, endpoint: 's3.example' } })).toEqual(['lake.s3.endpoint']);
  });

  it('send no token over plain http to another machine', () => {
    const token = { ...keys, token: 'secret-token' };
    expect(wrong({}, token)).toEqual(['lake.catalog']);
    expect(wrong({ catalog: 'http://127.0.0.1:19120/iceberg' }, token)).toEqual([]);
    expect(wrong({ catalog: 'https://catalog.example' }, token)).toEqual([]);
  });

  it('have both halves of a login, or none', () => {
    expect(wrong({}, noSecrets)).toEqual([]);
    expect(wrong({}, { ...keys, secretKey: undefined })).toEqual(['AWS_SECRET_ACCESS_KEY']);
    expect(wrong({}, { ...keys, keyId: undefined })).toEqual(['AWS_ACCESS_KEY_ID']);
    expect(wrong({}, { ...keys, clientId: 'worker' })).toEqual(['SIGNALHOUSE_LAKE_CLIENT_SECRET']);
    expect(wrong({ catalog: 'https://catalog.example' }, { ...keys, clientSecret: 'word' })).toEqual([
      'SIGNALHOUSE_LAKE_CLIENT_ID',
    ]);
  });

  it('give each organization a namespace that object stores and engines take', () => {
    expect(namespaceOf('org_1-a')).toBe('signals_org_1-a');
    expect(namespaceOf('a/b"c')).toBe('signals_a_b_c');
  });

  it('say which texts no message may contain', () => {
    const secrets = { ...keys, clientId: 'worker', clientSecret: 'word', sessionToken: '' };
    expect(secretTexts(secrets)).toEqual(['secret', 'word']);
  });
});
