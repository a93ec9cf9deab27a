import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maskExpression, selectList, useSalt } from '../../../src/privacy/masks.js';
import { type Method, type PrivacySettings, policyOf } from '../../../src/privacy/policy.js';

let instance: DuckDBInstance;
let connection: DuckDBConnection;
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  connection = await instance.connect();
  await connection.run(useSalt('00', { profile: 'none' }));
});
afterAll(() => {
  connection.closeSync();
  instance.closeSync();
});

async function rows(sql: string): Promise<unknown[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Each value after the mask. */
async function masked(method: Method, values: readonly string[]): Promise<(string | null)[]> {
  const list = values.map((value) => `(${quoted(value)})`).join(', ');
  const found = await rows(`SELECT ${maskExpression(method, 'v', 'VARCHAR')} FROM (VALUES ${list}) AS t (v)`);
  return found.map(([value]) => value as string | null);
}

/** Text as people have it in names and addresses, in any script. */
const name = fc
  .array(
    fc.oneof(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.constantFrom('Ruth', "O'Hara", 'Jean-Luc', '伍紫林', 'é', 'J.R.'),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((words) => words.join(' ').replaceAll('\0', ''))
  .filter((text) => text !== '');
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 20 });
const addresses = fc.uniqueArray(fc.emailAddress(), { minLength: 1, maxLength: 20 });

describe('a mask', () => {
  test('hash: equal exactly where the values are equal, and nothing of them is left', async () => {
    await fc.assert(
      fc.asyncProperty(names, async (values) => {
        const [once, again] = [await masked('hash', values), await masked('hash', values)];
        expect(once).toEqual(again);
        expect(new Set(once).size).toBe(values.length);
        for (const value of once) expect(value).toMatch(/^[a-p]{32}$/);
      }),
      { numRuns: 20 },
    );
  });

  test('hash: another salt, another hash; none without a salt', async () => {
    const [before] = await masked('hash', ['a']);
    await connection.run(useSalt('11', { profile: 'none' }));
    const [after] = await masked('hash', ['a']);
    await connection.run('RESET VARIABLE signalhouse_salt');
    expect({ isOther: before !== after, without: await masked('hash', ['a']) }).toEqual({
      isOther: true,
      without: [null],
    });
    await connection.run(useSalt('00', { profile: 'none' }));
  });

  test('initials never contain the name', async () => {
    await fc.assert(
      fc.asyncProperty(names, async (values) => {
        const result = await masked('initials', values);
        for (const [index, value] of values.entries())
          expect(result[index]?.includes(value) ?? false).toBe(false);
      }),
      { numRuns: 30 },
    );
    expect(await masked('initials', ['Ruth Walter', "Jean-Luc O'Hara", '伍紫林', 'J.R.', ''])).toEqual([
      'R.W.',
      'J.O.',
      '伍.',
      null,
      null,
    ]);
  });

  test('domain: what stands behind the @, and never the address', async () => {
    await fc.assert(
      fc.asyncProperty(addresses, async (values) => {
        expect(await masked('domain', values)).toEqual(values.map((value) => value.split('@').at(-1)));
      }),
      { numRuns: 20 },
    );
    expect(await masked('domain', ['https://u@x.example/in/ruth', 'Ruth Walter', 'x.example', '@'])).toEqual([
      'x.example',
      null,
      null,
      null,
    ]);
  });

  test('truncate: the first characters', async () => {
    await fc.assert(
      fc.asyncProperty(names, fc.integer({ min: 1, max: 20 }), async (values, length) => {
        expect(await masked(`truncate:${length}`, values)).toEqual(
          values.map((value) => [...value].slice(0, length).join('')),
        );
      }),
      { numRuns: 20 },
    );
  });

  test('redact leaves no address in a text, and the rest as it is', async () => {
    await fc.assert(
      fc.asyncProperty(addresses, async (values) => {
        const texts = values.map((value) => `Write to <mailto:${value}|${value}>, or (${value}).`);
        for (const [index, text] of (await masked('redact', texts)).entries())
          expect(text?.includes(values[index] ?? '')).toBe(false);
      }),
      { numRuns: 20 },
    );
    const texts = [
      'at 5 @bob said: a@b.example!',
      'no address',
      'https://x.example/?to=a%40b.example&n=100%',
    ];
    expect(await masked('redact', texts)).toEqual([
      'at 5 @bob said: [e-mail]',
      'no address',
      'https:[e-mail]',
    ]);
  });

  test('of a list masks each element, and of another type than text nothing is left', async () => {
    const [row] = await rows(
      `SELECT ${maskExpression('truncate:1', 'a', 'VARCHAR[]')}, ${maskExpression('null', 'a', 'VARCHAR[]')},
              ${maskExpression('hash', 'n', 'BIGINT')} FROM (SELECT ['ab', NULL, 'c'] AS a, 5 AS n)`,
    );
    expect(row).toEqual([['a', null, 'c'], null, null]);
  });
});

describe('what to select from a table', () => {
  const none: PrivacySettings = { profile: 'none', exclude: [], mask: {} };
  const people = ['id', 'display_name', 'primary_email', 'created_at', 'added_later'].map((column) => ({
    name: column,
    type: 'VARCHAR',
  }));
  const maskedIn = (settings: PrivacySettings, relation: string, columns = people) =>
    selectList(policyOf(settings), relation, columns)?.flatMap((one) => (one.isMasked ? [one.name] : []));

  test('without a policy, everything', () => {
    expect(maskedIn(none, 'people')).toEqual([]);
    expect(selectList(policyOf(none), 'raw.documents', people)).toHaveLength(5);
  });

  test('with one, raw is left out, and so are unknown tables; an unknown column is masked', () => {
    const policy = { ...none, mask: { 'people.primary_email': 'hash' } };
    expect(selectList(policyOf(policy), 'raw.documents', people)).toBeNull();
    expect(selectList(policyOf(policy), 'ops.invented', people)).toBeNull();
    expect(maskedIn(policy, 'people')).toEqual(['primary_email', 'added_later']);
  });

  test('a mask covers the columns that copy the masked one', () => {
    const policy = { ...none, mask: { 'authors.name': 'initials' } };
    expect(maskedIn(policy, 'people')).toEqual(['display_name', 'added_later']);
    expect(maskedIn(policy, 'company_employees', [{ name: 'name', type: 'VARCHAR' }])).toEqual(['name']);
    expect(maskedIn(policy, 'merges', [{ name: 'source_name', type: 'VARCHAR' }])).toEqual(['source_name']);
    expect(maskedIn(policy, 'messages', [{ name: 'thread', type: 'JSON' }])).toEqual(['thread']);
  });

  test('words that were taken out of texts one by one go with the names and addresses in them', async () => {
    const policy = policyOf({ ...none, mask: { 'people.primary_email': 'domain' } });
    const list = selectList(policy, 'duplicate_pairs', [{ name: 'reasons', type: 'VARCHAR[]' }]) ?? [];
    const pairs = "(VALUES (['rare words: ruth, walter, market', 'same company'])) AS t (reasons)";
    expect(await rows(`SELECT ${list[0]?.expression} FROM ${pairs}`)).toEqual([[null]]);
  });

  test('an account id may be an address, so that a mask of addresses hashes it', () => {
    const policy = { ...none, mask: { 'people.primary_email': 'domain' } };
    expect(maskedIn(policy, 'authors', [{ name: 'source_author_id', type: 'VARCHAR' }])).toEqual([
      'source_author_id',
    ]);
  });

  test('strict leaves no text of a reaction: a workspace names its own after people', () => {
    const strict: PrivacySettings = { ...none, profile: 'strict' };
    const columns = [{ name: 'identifier', type: 'VARCHAR' }];
    expect(maskedIn(strict, 'message_reactions', columns)).toEqual(['identifier']);
  });

  test('ids of several kinds in one column are hashed by row, and JSON keeps only what is allowed', async () => {
    const policy = policyOf({ ...none, mask: { 'people.id': 'hash', 'topics.title': 'truncate:3' } });
    const columns = [
      { name: 'entity_id', type: 'VARCHAR' },
      { name: 'changes', type: 'JSON' },
    ];
    const list = selectList(policy, 'history', columns) ?? [];
    const found = await rows(`
      SELECT ${list.map(({ name: column, expression }) => `${expression} AS ${column}`).join(', ')}
        FROM (VALUES ('topic', 't1', '{"priority":"high","title":"A secret","note":{"x":1},"title":"twice"}'::JSON),
                     ('person', 'p1', '{"isVip":null,"phone":"1"}'), ('other', 'o1', '{"priority":1}'), ('topic', 't2', '[1]'))
          AS t (entity_type, entity_id, changes)`);
    const [hash] = await masked('hash', ['p1']);
    const [other] = await masked('hash', ['o1']);
    expect(found).toEqual([
      ['t1', '{"priority":"high","title":"A s"}'],
      [hash, '{"isVip":null}'],
      [policy.methodOfKind('account_id') === undefined ? 'o1' : other, null],
      ['t2', null],
    ]);
  });
});
