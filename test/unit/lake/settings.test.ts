import { describe, expect, it } from 'vitest';
import {
  isShared,
  type LakeSecrets,
  type LakeSettings,
  lakeProblems,
  namespaceOf,
  secretTexts,
  withLogin,
} from '../../../src/lake/settings.js';

const noSecrets: LakeSecrets = {
  keyId: undefined,
  secretKey: undefined,
  sessionToken: undefined,
  token: undefined,
  clientId: undefined,
  clientSecret: undefined,
  user: undefined,
  password: undefined,
};
const keys = { ...noSecrets, keyId: 'key', secretKey: 'secret' };

const iceberg: LakeSettings = {
  kind: 'iceberg',
  catalog: 'http://catalog.example/iceberg',
  warehouse: 'signals',
  namespace: 'signals_{org}',
  s3: { endpoint: 'https://s3.example', region: 'us-east-1', pathStyle: true },
};
const ducklake: LakeSettings = {
  ...iceberg,
  kind: 'ducklake',
  catalog: 'postgres://worker@db.example:5432/lake',
  warehouse: 's3://bucket/path',
};

const wrong = (settings: Partial<LakeSettings>, secrets: LakeSecrets = keys, from: LakeSettings = iceberg) =>
  lakeProblems({ ...from, ...settings }, secrets).map(({ setting }) => setting);

describe('the settings of the lake', () => {
  it('are complete for either format', () => {
    expect(lakeProblems(iceberg, keys)).toEqual([]);
    expect(lakeProblems(ducklake, keys)).toEqual([]);
  });

  it('name everything that is missing at once', () => {
    const none = { catalog: undefined, warehouse: undefined, namespace: 'signals' };
    expect(wrong(none)).toEqual(['lake.catalog', 'lake.warehouse', 'lake.lockUrl']);
    expect(wrong(none, keys, ducklake)).toEqual(['lake.catalog', 'lake.warehouse', 'lake.lockUrl']);
  });

  it('need a lock for a namespace that organizations share', () => {
    const lockUrl = 'postgres://worker@db.example/locks';
    expect(wrong({ namespace: 'signals' })).toEqual(['lake.lockUrl']);
    expect(wrong({ namespace: 'signals', lockUrl })).toEqual([]);
    expect(wrong({ lockUrl: 'https://db.example' })).toEqual(['lake.lockUrl']);
    expect(isShared({ namespace: 'signals' })).toBe(true);
    expect(isShared(iceberg)).toBe(false);
  });

  it('have addresses of the kind that the format needs', () => {
    expect(wrong({ catalog: 'postgres://db.example/lake' })).toEqual(['lake.catalog']);
    expect(wrong({ catalog: 'https://user:word@catalog.example' })).toEqual(['lake.catalog']);
    expect(wrong({ catalog: 'https://catalog.example' }, keys, ducklake)).toEqual(['lake.catalog']);
    expect(wrong({ warehouse: 'signals' }, keys, ducklake)).toEqual(['lake.warehouse']);
    expect(wrong({ s3: { ...iceberg.s3, endpoint: 's3.example' } })).toEqual(['lake.s3.endpoint']);
  });

  it('send no token over plain http to another machine', () => {
    const token = { ...keys, token: 'secret-token' };
    expect(wrong({}, token)).toEqual(['lake.catalog']);
    expect(wrong({ catalog: 'http://127.0.0.1:19120/iceberg' }, token)).toEqual([]);
    expect(wrong({ catalog: 'https://catalog.example' }, token)).toEqual([]);
  });

  it('need keys where nobody else hands them out, and both of them', () => {
    expect(wrong({}, noSecrets)).toEqual([]);
    expect(wrong({}, noSecrets, ducklake)).toEqual(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']);
    expect(wrong({ warehouse: '/srv/lake' }, noSecrets, ducklake)).toEqual([]);
    expect(wrong({}, { ...keys, secretKey: undefined })).toEqual(['AWS_SECRET_ACCESS_KEY']);
    expect(wrong({}, { ...keys, clientId: 'worker' })).toEqual(['SIGNALHOUSE_LAKE_CLIENT_SECRET']);
  });

  it('give each organization a namespace', () => {
    expect(namespaceOf(iceberg, 'org_1-a')).toBe('signals_org_1-a');
    expect(namespaceOf(iceberg, 'a/b"c')).toBe('signals_a_b_c');
    expect(namespaceOf({ namespace: 'signals' }, 'org_1')).toBe('signals');
  });

  it('take the login from the secrets where the address has none', () => {
    const secrets = { user: 'worker', password: 'p@ss/word' };
    expect(withLogin('postgres://db.example/lake', secrets).href).toBe(
      'postgres://worker:p%40ss%2Fword@db.example/lake',
    );
    expect(withLogin('postgres://me:mine@db.example/lake', secrets).href).toBe(
      'postgres://me:mine@db.example/lake',
    );
  });

  it('say which texts no message may contain', () => {
    const settings = { ...ducklake, catalog: 'postgres://me:p%40ss@db.example/lake' };
    expect(secretTexts(settings, { ...keys, password: 'other' }).sort()).toEqual([
      'other',
      'p%40ss',
      'p@ss',
      'secret',
    ]);
  });
});
