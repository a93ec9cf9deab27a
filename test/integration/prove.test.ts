import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Proving } from '../../src/commands/doctor.js';
import { mutantOf, mutants } from '../support/api-mutants.js';
import { placesOf, stringsOfCompany, stringsOfPerson } from '../support/personal-strings.js';
import { read } from '../support/published.js';
import { Pulling, townOfFile } from '../support/pulling.js';
import type { RawServer, Seen } from '../support/raw-server.js';
import type { Ran } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/doctor.js'));

const { sandbox } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 24, people: 120, companies: 8, messages: 500, stories: 6 },
});

interface Proved extends Ran {
  readonly result: Proving;
  readonly requests: readonly Seen[];
  readonly dataDir: string;
}

/** Proves an API with a data directory that exists. */
async function prove(api: RawServer, dataDir = join(testFolder(), 'data')): Promise<Proved> {
  mkdirSync(dataDir, { recursive: true });
  const pulling = new Pulling({ ...sandbox, baseUrl: api.baseUrl }, dataDir);
  const ran = await pulling.run(['doctor', '--prove', '--json']);
  return { ...ran, result: JSON.parse(ran.stdout), requests: api.requests, dataDir };
}

const contradictedIn = ({ result }: Proved) =>
  result.proof
    .filter(({ verdict }) => verdict === 'contradicted')
    .map(({ id, evidence }) => `${id}: ${evidence}`);
const verdictsOf = ({ result }: Proved) => new Map(result.proof.map(({ id, verdict }) => [id, verdict]));

/** What nobody outside of the organization may see. */
function personalStrings(): string[] {
  const { world } = sandbox;
  const all = [
    ...[...world.people.keys()].flatMap((id) => [...stringsOfPerson(world, id), id]),
    ...[...world.companies.keys()].flatMap((id) => stringsOfCompany(world, id)),
    ...[...world.topics.values()].flatMap(({ id, title }) => [id, title]),
  ];
  return all.filter((one) => one.length > 4);
}

describe('the documented service', () => {
  let proved: Proved;
  let api: RawServer;
  beforeAll(async () => {
    api = await mutantOf(sandbox);
    proved = await prove(api);
  });
  afterAll(() => api.close());

  it('raises no false alarm, and confirms what it shows', () => {
    expect(contradictedIn(proved)).toEqual([]);
    expect(proved.code).toBe(0);
    const verdicts = [...verdictsOf(proved).values()];
    expect(verdicts.filter((one) => one === 'confirmed').length).toBeGreaterThanOrEqual(40);
    expect(verdicts.length).toBeGreaterThanOrEqual(70);
  });

  it('is asked at most 100 times, and only reads', () => {
    expect(proved.result.requests).toBe(proved.requests.length);
    expect(proved.requests.length).toBeLessThanOrEqual(100);
    expect([...new Set(proved.requests.map(({ method }) => method))]).toEqual(['GET']);
    expect(sandbox.writes()).toEqual([]);
  });

  it('proof.json is private, and holds nothing of anybody', async () => {
    const file = join(proved.dataDir, 'proof.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const strings = personalStrings();
    expect(strings.length).toBeGreaterThan(1000);
    expect(await placesOf(proved.dataDir, strings)).toEqual([]);
  });

  it('the forecast is within 10 % of a first pull', async () => {
    const pulling = Pulling.into(sandbox);
    const { requests, code } = await pulling.sync();
    expect(code).toBe(0);
    const { forecast } = proved.result;
    const off = (expected: number, real: number) => Math.abs(expected / real - 1);
    expect(off(forecast.requests, requests)).toBeLessThan(0.1);
    const rows = await read(pulling.dataDir, async (reader) => {
      const tables = await reader.rows<{ name: string }>(
        "SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT ends_with(table_name, '_versions')",
      );
      const counts = tables.map(({ name }) => `SELECT count(*) AS n FROM "${name}"`).join(' UNION ALL ');
      return (await reader.rows<{ n: number }>(counts)).reduce((sum, { n }) => sum + Number(n), 0);
    });
    expect(off(forecast.rows, rows)).toBeLessThan(0.1);
    const files = ['worker.duckdb', 'signals.duckdb'].map(
      (name) => statSync(join(pulling.dataDir, name)).size,
    );
    expect(off(forecast.megabytes, files.reduce((sum, size) => sum + size, 0) / 1e6)).toBeLessThan(0.1);
  });
});

describe('an API that is otherwise', () => {
  const unnamed: string[] = [];
  let personal: string[];
  beforeAll(() => {
    personal = personalStrings();
  });

  it.each(Object.entries(mutants))('%s', async (name, mutant) => {
    const api = await mutantOf(sandbox, mutant);
    try {
      const proved = await prove(api);
      if (verdictsOf(proved).get(mutant.id) !== 'contradicted') unnamed.push(`${name}: ${mutant.id}`);
      const unhandled = proved.result.proof.some(
        ({ verdict, handled }) => verdict === 'contradicted' && !handled,
      );
      expect(proved.code).toBe(unhandled ? 3 : 0);
      expect(proved.requests.length).toBeLessThanOrEqual(100);
      expect(proved.requests.every(({ method }) => method === 'GET')).toBe(true);
      const stored = readFileSync(join(proved.dataDir, 'proof.json'), 'utf8');
      expect(personal.filter((one) => stored.includes(one))).toEqual([]);
    } finally {
      await api.close();
    }
  });

  it('is named', () => {
    expect(Object.keys(mutants).length).toBeGreaterThanOrEqual(30);
    expect(unnamed).toEqual([]);
  });
});

it('is asked at most 100 times where requests have to be repeated', async () => {
  const nothing = { status: 200, headers: {}, body: undefined };
  const api = await mutantOf(sandbox, { before: ({ count }) => (count % 2 === 1 ? nothing : undefined) });
  const { result, requests } = await prove(api);
  await api.close();
  expect(requests.length).toBe(100);
  expect(result.proof.filter(({ verdict }) => verdict === 'confirmed').length).toBeGreaterThan(10);
});

it('a key that is refused is exit 5, and an API that does not answer exit 1', async () => {
  const refused = {
    status: 401,
    headers: {},
    body: { code: 'UNAUTHORIZED', message: 'm', status: 401, defined: true },
  };
  const api = await mutantOf(sandbox, { before: () => refused });
  const dataDir = join(testFolder(), 'data');
  const pulling = new Pulling({ ...sandbox, baseUrl: api.baseUrl }, dataDir);
  expect(await pulling.run(['doctor', '--prove'])).toMatchObject({ code: 5, stdout: '' });
  expect(api.requests.length).toBe(1);
  await api.close();
  expect(await pulling.run(['doctor', '--prove'])).toMatchObject({ code: 1, stdout: '' });
});

it('a later proof says what the API does otherwise than before', async () => {
  const text = async (mutant = {}) => {
    const api = await mutantOf(sandbox, mutant);
    const pulling = new Pulling({ ...sandbox, baseUrl: api.baseUrl }, dataDir);
    const ran = await pulling.run(['doctor', '--prove']);
    await api.close();
    return ran.stdout;
  };
  const dataDir = join(testFolder(), 'data');
  mkdirSync(dataDir);
  const zero = mutants['pages from 0'];
  expect(await text()).not.toContain('differently');
  const file = join(dataDir, 'proof.json');
  const stored = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...stored, provedAt: '2026-11-23T10:00:00.000Z' }));
  const changed = await text(zero);
  expect(changed).toContain('The API behaves differently since 2026-11-23');
  expect(changed).toContain('page_base: confirmed, now contradicted');
  expect(changed.replaceAll(/\s+/g, ' ')).toContain(
    'Handled: Where it starts at 0, the answer to the first request',
  );
  // What the program handles by itself is told once.
  const again = await text(zero);
  expect(again).not.toContain('differently');
  expect(again).toContain('As before, and handled: page_base');
  for (const line of changed.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});
